#include "flowplan/inference/load.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "arrival_times.hpp"
#include "random.hpp"
#include "range_error.hpp"
#include "task_shapes.hpp"

namespace flowplan::inference {

namespace {

class LoadCheck {
 public:
  void count(std::string_view what, const TokenCount& tokens) {
    if (!(tokens.mean >= 1.0 && tokens.mean <= 4294967295.0))
      add(fmt::format("the mean of {} is {}, it must be between 1 and 2^32 - 1", what,
                      tokens.mean));
    if (!(tokens.spread >= 0.0))
      add(fmt::format("the spread of {} is {}, it must not be negative", what, tokens.spread));
    if (!(tokens.most >= 1.0))
      add(fmt::format("the most of {} is {}, it must be at least 1", what, tokens.most));
  }
  void add(std::string message) {
    found_.push_back(out_of_range("/workload/load", std::move(message)));
  }
  [[nodiscard]] Diagnostics take() { return std::move(found_); }

 private:
  Diagnostics found_;
};

void check_arrivals(const Arrivals& arrivals, LoadCheck& check) {
  if (arrivals.kind == Arrivals::Kind::closed_loop) {
    if (arrivals.concurrency < 1) check.add("a closed loop needs at least one task in progress");
    return;
  }
  double area = 0.0, before_s = 0.0, rate_before = 0.0;
  bool rising = true;
  for (const RatePoint& point : arrivals.rate) {
    if (!(point.per_s >= 0.0)) check.add("a request rate must not be negative");
    rising = rising && (&point == arrivals.rate.data() ? point.at_s >= 0.0 : point.at_s > before_s);
    area += (point.at_s - before_s) * (point.per_s + rate_before) / 2.0;
    before_s = point.at_s;
    rate_before = point.per_s;
  }
  if (!rising) check.add("the times of a rate profile must rise from 0 on");
  if (arrivals.rate.empty()) check.add("an open loop needs a request rate");
  // Tasks must come to an end: by the last rate, or by a profile that repeats.
  const bool ends = arrivals.repeat && arrivals.rate.size() > 1 ? area > 0.0 : rate_before > 0.0;
  if (!arrivals.rate.empty() && !ends)
    check.add("the request rate must end above 0, or the load would never be sent");
  if (arrivals.kind == Arrivals::Kind::gamma && !(arrivals.cv > 0.0))
    check.add("the coefficient of variation of the gaps must be above 0");
}

/// Requests of a task where its shape says how many; else one at least.
double requests_of_task(const Load& load) {
  if (const auto* samples = std::get_if<Samples>(&load.shape))
    return static_cast<double>(samples->count) * (samples->verify ? 2.0 : 1.0);
  if (const auto* tree = std::get_if<TreeSearch>(&load.shape))
    return static_cast<double>(tree->depth) * tree->width * tree->branch;
  return 1.0;
}

std::string too_many_requests() {
  return fmt::format("the load has more than {} requests", most_requests);
}

Diagnostics check_load(const Load& load) {
  LoadCheck check;
  if (load.tasks * requests_of_task(load) > static_cast<double>(most_requests))
    check.add(too_many_requests());
  if (load.tasks < 1) check.add("a load needs at least one task");
  check_arrivals(load.arrivals, check);
  if (load.pairs.empty()) {
    check.count("input tokens", load.input);
    check.count("output tokens", load.output);
  }
  if (std::any_of(load.pairs.begin(), load.pairs.end(),
                  [](const auto& pair) { return pair.first == 0 || pair.second == 0; }))
    check.add("a pair of lengths has no input or no output tokens");
  if (load.shared_texts < 1) check.add("there must be at least one shared text");
  if (const auto* sessions = std::get_if<Sessions>(&load.shape)) {
    check.count("turns", sessions->turns);
    check.count("new tokens of a turn", sessions->new_tokens);
  } else if (const auto* samples = std::get_if<Samples>(&load.shape)) {
    if (samples->count < 1) check.add("a prompt needs at least one sample");
  } else if (const auto* tree = std::get_if<TreeSearch>(&load.shape)) {
    if (tree->depth < 1 || tree->width < 1 || tree->branch < 1)
      check.add("depth, width and branch of a search must be at least 1");
    check.count("tokens of a step", tree->step_tokens);
  } else if (const auto* agent = std::get_if<AgentLoop>(&load.shape)) {
    check.count("calls", agent->calls);
    check.count("tool tokens", agent->tool_tokens);
    check.count("tool milliseconds", agent->tool_ms);
  }
  return check.take();
}

}  // namespace

std::uint32_t draw(const TokenCount& tokens, Draws& draws) {
  double value = tokens.mean;
  switch (tokens.kind) {
    case TokenCount::Kind::fixed:
      break;
    case TokenCount::Kind::uniform:
      value *= 1.0 + tokens.spread * (2.0 * draws.unit() - 1.0);
      break;
    case TokenCount::Kind::below:
      value *= 1.0 - tokens.spread * draws.unit();
      break;
    case TokenCount::Kind::lognormal: {
      const double variance = std::log1p(tokens.spread * tokens.spread);
      value *= std::exp(std::sqrt(variance) * draws.normal() - variance / 2.0);
      break;
    }
    case TokenCount::Kind::exponential:
      value *= draws.exponential();
      break;
  }
  return static_cast<std::uint32_t>(
      std::clamp(std::round(value), 1.0, std::min(tokens.most, 4294967295.0)));
}

Result<Workload> generate(const Load& load) {
  Diagnostics found = check_load(load);
  if (!found.empty()) return fail(std::move(found));
  TaskWriter writer(load);
  ArrivalTimes arrivals(load.arrivals, load.seed);
  for (std::uint32_t task = 0; task < load.tasks; ++task) {
    writer.write(task, arrivals.next());
    if (!writer.fits()) return fail(out_of_range("/workload/load", too_many_requests()));
  }
  Workload workload = writer.take();
  if (load.arrivals.kind == Arrivals::Kind::closed_loop)
    workload.concurrency = load.arrivals.concurrency;
  return workload;
}

}  // namespace flowplan::inference
