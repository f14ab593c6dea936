#include "flowplan/operations/failures.hpp"

#include <algorithm>

#include "figures.hpp"
#include "flowplan/base/assert.hpp"

namespace flowplan::operations {

namespace {

constexpr double hours_a_day = 24.0;
constexpr std::string_view cause_prefix = "cause.";

FailureRate read_rate(FigureReader& read, std::string_view name) {
  const auto values = read.values(name, 3);
  return {values[0], values[1], values[2], read.one("rate.accelerators_per_node"),
          read.source(name)};
}

std::vector<FailureCause> read_causes(const catalog::Constants& set) {
  std::vector<FailureCause> causes;
  double sum = 0.0;
  for (const catalog::Constants::Entry& entry : set.entries()) {
    if (!entry.name.starts_with(cause_prefix)) continue;
    causes.push_back({entry.name.substr(cause_prefix.size()), entry.values.front(), 0.0});
    sum += entry.values.front();
  }
  for (FailureCause& cause : causes)
    cause.share = sum > 0.0 ? cause.count / sum : 0.0;
  std::stable_sort(causes.begin(), causes.end(),
                   [](const FailureCause& a, const FailureCause& b) { return a.count > b.count; });
  return causes;
}

}  // namespace

FailureRate FailureRate::of_node(double node_accelerators) const {
  const double factor = node_accelerators / accelerators;
  return {low * factor, centre * factor, high * factor, node_accelerators, source};
}

const FailureRate& FailureFacts::of(catalog::GpuGeneration generation) const {
  switch (generation) {
    case catalog::GpuGeneration::ampere:
      return ampere;
    case catalog::GpuGeneration::hopper:
      return hopper;
    case catalog::GpuGeneration::blackwell:
      break;
  }
  return blackwell;
}

Result<FailureFacts> failure_facts(const catalog::Catalog& catalog) {
  const auto set = catalog.constants("failures");
  if (!set) return fail(set.error());
  FigureReader read(**set);
  FailureFacts facts;
  facts.ampere = read_rate(read, "rate.ampere.per_node_day");
  facts.hopper = read_rate(read, "rate.hopper.per_node_day");
  facts.blackwell = read_rate(read, "rate.blackwell.per_node_day");
  const double fresh = read.one("rate.new_fleet.per_node_day");
  facts.new_fleet = {fresh, fresh, fresh, facts.ampere.accelerators,
                     read.source("rate.new_fleet.per_node_day")};
  facts.job_per_hour = read.one("job.failures_per_hour");
  facts.job_below_accelerators = read.one("job.below_accelerators");
  facts.lemon_share = read.one("lemon.node_share");
  facts.lemon_multiplier = read.one("lemon.multiplier");
  facts.causes = read_causes(**set);
  Diagnostics missing = read.missing();
  if (!missing.empty()) return fail(std::move(missing));
  return facts;
}

double Failures::node_failures_per_day() const {
  return nodes * per_node_day * (1.0 + lemon_share * (lemon_multiplier - 1.0));
}

double Failures::per_day() const {
  return node_failures_per_day() + job_per_hour * hours_a_day;
}

std::optional<Seconds> Failures::mttf() const {
  FLOWPLAN_ASSERT(nodes > 0.0 && per_node_day >= 0.0 && job_per_hour >= 0.0);
  if (per_day() <= 0.0) return std::nullopt;
  return days(1.0) / per_day();
}

double Failures::node_share() const {
  return per_day() > 0.0 ? node_failures_per_day() / per_day() : 0.0;
}

}  // namespace flowplan::operations
