#include "certificate.hpp"

#include <algorithm>

#include "flowplan/flow/max_min.hpp"
#include "tolerances.hpp"

namespace flowplan::flow {
namespace {

/// Relative to the capacity of a link and the rate of a flow: more than the rounding of a solve,
/// and less than the error that folding may bring.
constexpr double certified = 1e-11;

/// Each instant costs half a round of refinement.
constexpr std::size_t most_instants = 8;

/// The instants at which a flow of more than 0 bytes starts or ends, in order.
std::vector<double> instants(const FlowSet& flows, const std::vector<double>& end_s) {
  std::vector<double> times;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    if (flows.bytes[f] == 0.0) continue;
    times.push_back(flows.start_s[f]);
    times.push_back(end_s[f]);
  }
  std::sort(times.begin(), times.end());
  const auto same = [](double a, double b) { return b <= end_of_instant(a); };
  times.erase(std::unique(times.begin(), times.end(), same), times.end());
  return times;
}

/// The flows that run from `time` on, and which they are among all.
struct Running {
  FlowSet flows;
  std::vector<std::uint32_t> id;
};

Running running_from(double time, const FlowSet& flows, const std::vector<double>& end_s) {
  Running running;
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    if (flows.bytes[f] == 0.0 || flows.start_s[f] > end_of_instant(time)) continue;
    if (end_s[f] <= end_of_instant(time)) continue;
    running.flows.add(flows.uses(f), flows.spec(f));
    running.id.push_back(f);
  }
  return running;
}

}  // namespace

bool Certificate::passes(const std::vector<double>& rate) {
  look_at(rate);
  for (std::uint32_t f = 0; f < flows_.size(); ++f) {
    const bool needs_link = level_[partition_.flow_class[f]] > 0.0;
    if (needs_link && held_by(f) == no_link) return false;
  }
  return true;
}

LinkId Certificate::held_by(std::uint32_t f) const {
  const double level = level_[partition_.flow_class[f]];
  for (std::uint32_t u = flows_.first_use[f]; u < flows_.first_use[f + 1]; ++u) {
    if (level >= least_held_[partition_.link_class[index(flows_.link[u])]]) return flows_.link[u];
  }
  return no_link;
}

void Certificate::look_at(const std::vector<double>& rate) {
  const FlowSet& classes = quotient_.flows;
  const Network& network = quotient_.network;
  level_.assign(classes.size(), 0.0);
  least_held_.assign(network.size(), 0.0);
  std::vector<double> load(network.size(), 0.0);
  for (std::uint32_t c = 0; c < classes.size(); ++c) {
    const double level = rate[c] / classes.weight[c];
    for (std::uint32_t u = classes.first_use[c]; u < classes.first_use[c + 1]; ++u) {
      const std::size_t l = index(classes.link[u]);
      load[l] += classes.coefficient[u] * rate[c];
      least_held_[l] = std::max(least_held_[l], level * (1.0 - certified));
    }
    const bool by_cap = rate[c] >= classes.cap_per_s[c] * (1.0 - certified);
    if (!by_cap) level_[c] = level;
  }
  for (std::size_t l = 0; l < network.size(); ++l) {
    if (load[l] < network.capacity[l] * (1.0 - certified)) least_held_[l] = unlimited;
  }
}

bool passes_over_time(const FlowSet& flows, const Partition& partition, const Quotient& quotient,
                      const Completion& classes) {
  const std::vector<double> times = instants(quotient.flows, classes.end_s);
  if (times.size() > most_instants) return false;
  Certificate check(flows, partition, quotient);
  std::vector<double> rate;
  for (const double time : times) {
    const Running running = running_from(time, quotient.flows, classes.end_s);
    if (running.id.empty()) continue;
    const Allocation allocation = solve(quotient.network, running.flows);
    rate.assign(quotient.flows.size(), 0.0);
    for (std::size_t i = 0; i < running.id.size(); ++i)
      rate[running.id[i]] = allocation.rate[i];
    if (!check.passes(rate)) return false;
  }
  return true;
}

}  // namespace flowplan::flow
