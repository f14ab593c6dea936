#include "flowplan/posttraining/rollout.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include <fmt/format.h>

#include "busy.hpp"

namespace flowplan::posttraining {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// When the `wanted`-th prompt has all its samples; those later are dropped.
double enough_at(const std::vector<double>& finish_s, std::uint32_t group, std::uint32_t wanted) {
  std::vector<double> groups;
  for (std::size_t i = 0; i < finish_s.size(); i += group)
    groups.push_back(*std::max_element(finish_s.begin() + static_cast<std::ptrdiff_t>(i),
                                       finish_s.begin() + static_cast<std::ptrdiff_t>(i + group)));
  std::sort(groups.begin(), groups.end());
  return groups[wanted - 1];
}

}  // namespace

std::vector<double> scored(const std::vector<double>& finish_s, const Verifier& verifier) {
  std::vector<double> result(finish_s.size());
  if (verifier.workers <= 0) {
    std::transform(finish_s.begin(), finish_s.end(), result.begin(),
                   [&](double at) { return at + verifier.latency.value(); });
    return result;
  }
  std::vector<std::size_t> order(finish_s.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return finish_s[a] < finish_s[b]; });
  std::priority_queue<double, std::vector<double>, std::greater<>> free_at;
  for (const std::size_t i : order) {
    double start = finish_s[i];
    if (free_at.size() >= static_cast<std::size_t>(verifier.workers)) {
      start = std::max(start, free_at.top());
      free_at.pop();
    }
    result[i] = start + verifier.latency.value();
    free_at.push(result[i]);
  }
  return result;
}

Result<std::vector<double>> task_ends(const inference::Workload& workload,
                                      const inference::ServeRun& run) {
  std::vector<double> ends(workload.tasks(), 0.0);
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const inference::Outcome outcome = run.requests.outcome[i];
    if (outcome == inference::Outcome::refused_context ||
        outcome == inference::Outcome::refused_memory) {
      return fail(error(
          Code::value_out_of_range,
          fmt::format("a sample of {} tokens is longer than the engine takes",
                      workload.requests[i].input_tokens + workload.requests[i].output_tokens)));
    }
    const std::size_t task = workload.task.empty() ? i : workload.task[i];
    ends[task] = std::max(ends[task], run.requests.finish_s[i]);
  }
  return ends;
}

double busy_time(const inference::RequestRecords& records, std::uint32_t replicas, double from_s,
                 double to_s) {
  std::vector<std::vector<std::pair<double, double>>> work(replicas);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const double begin = std::max(from_s, records.sent_s[i]);
    const double end = std::min(to_s, records.finish_s[i] < 0.0 ? to_s : records.finish_s[i]);
    if (records.sent_s[i] >= 0.0 && end > begin && records.replica[i] < replicas)
      work[records.replica[i]].emplace_back(begin, end);
  }
  double busy = 0.0;
  for (auto& spans : work) {
    std::sort(spans.begin(), spans.end());
    double covered = from_s;
    for (const auto& [begin, end] : spans) {
      busy += std::max(0.0, end - std::max(begin, covered));
      covered = std::max(covered, end);
    }
  }
  return busy;
}

Result<Rollout> run_rollout(const inference::Fleet& fleet, const RolloutLoad& load,
                            const RolloutEnd& end, const Verifier& verifier) {
  const auto workload = rollout_requests(load);
  if (!workload) return fail(workload.error());
  const auto run = inference::serve(fleet, *workload);
  if (!run) return fail(run.error());
  auto ends = task_ends(*workload, *run);
  if (!ends) return fail(ends.error());
  Rollout result;
  result.finish_s = std::move(*ends);
  result.samples = samples_of(*workload);
  for (const Sample& sample : result.samples)
    result.generated_tokens += sample.response;
  result.preemptions = run->pools[0].preemptions;

  const std::vector<double> rewarded = scored(result.finish_s, verifier);
  const std::uint32_t wanted =
      end.prompts == 0 ? load.prompts : std::min(end.prompts, load.prompts);
  const double last = end.stop_early ? enough_at(rewarded, load.group, wanted) : never;
  for (std::uint32_t prompt = 0; prompt < load.prompts; ++prompt) {
    const auto first = rewarded.begin() + std::ptrdiff_t{prompt} * load.group;
    const double done = *std::max_element(first, first + load.group);
    if (result.kept.size() >= static_cast<std::size_t>(wanted) * load.group) break;
    if (end.stop_early && done > last) continue;
    for (std::uint32_t i = 0; i < load.group; ++i)
      result.kept.push_back(prompt * load.group + i);
  }
  for (std::size_t i = 0; i < rewarded.size(); ++i) {
    if (rewarded[i] <= last) {
      result.end_s = std::max(result.end_s, result.finish_s[i]);
      result.scored_s = std::max(result.scored_s, rewarded[i]);
    } else {
      result.finish_s[i] = never;
    }
  }
  std::vector<double> rising = result.finish_s;
  std::sort(rising.begin(), rising.end());
  result.peak_batch = std::min(static_cast<double>(rising.size()),
                               static_cast<double>(run->pools[0].peak_batch) * fleet.replicas);
  const auto half = static_cast<std::size_t>(std::ceil(result.peak_batch / 2.0));
  const std::size_t thin = rising.size() - std::min(rising.size(), half);
  if (thin > 0)
    result.tail_s = std::max(0.0, result.end_s - std::min(result.end_s, rising[thin - 1]));
  if (rising.size() <= 1) result.tail_s = 0.0;
  result.busy_share = result.end_s > 0.0
                          ? busy_time(run->requests, fleet.replicas, 0.0, result.end_s) /
                                (fleet.replicas * result.end_s)
                          : 0.0;
  return result;
}

}  // namespace flowplan::posttraining
