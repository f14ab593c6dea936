#include "flowplan/training/schedule.hpp"

#include <algorithm>

#include "flowplan/base/assert.hpp"
#include "recurrence.hpp"

namespace flowplan::training {

std::string_view name(Schedule schedule) {
  switch (schedule) {
    case Schedule::one_forward_one_backward:
      return "1f1b";
    case Schedule::zero_bubble_1:
      return "zb_h1";
    case Schedule::dual_pipe:
      break;
  }
  return "dual_pipe";
}

std::optional<std::vector<std::int64_t>> stage_layers(std::int64_t layers, int pp, int vp) {
  const std::int64_t chunks = static_cast<std::int64_t>(pp) * vp;
  if (layers >= chunks && layers % chunks == 0) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(pp), layers / pp);
  }
  constexpr std::int64_t ends = 2;  // embedding and output head
  if (pp < 2 || (layers + ends) % chunks != 0) return std::nullopt;
  const std::int64_t places = (layers + ends) / pp;
  if (places < 2) return std::nullopt;
  std::vector<std::int64_t> result(static_cast<std::size_t>(pp), places);
  --result.front();
  --result.back();
  return result;
}

std::optional<std::vector<std::int64_t>> uneven_stage_layers(std::int64_t layers, int pp, int vp,
                                                             std::int64_t prediction_modules) {
  const std::int64_t chunks = static_cast<std::int64_t>(pp) * vp;
  if (pp == 1) return std::vector<std::int64_t>{layers};
  const std::int64_t at_end = 1 + prediction_modules;
  const std::int64_t places = layers + 1 + at_end;
  if (places < 2 * chunks && layers < chunks) return std::nullopt;
  const std::int64_t each = places / chunks, left = places % chunks;
  std::vector<std::int64_t> result(static_cast<std::size_t>(pp), 0);
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    // The longer chunks are in the middle.
    const std::int64_t from = (chunks - left) / 2;
    std::int64_t count = each + (chunk >= from && chunk < from + left ? 1 : 0);
    if (chunk == 0) --count;
    if (chunk + 1 == chunks) count -= at_end;
    if (count < 0) return std::nullopt;
    result[static_cast<std::size_t>(chunk % pp)] += count;
  }
  if (*std::min_element(result.begin(), result.end()) < 1) return std::nullopt;
  return result;
}

namespace {

/// `<=`: of equal ones the last is named, as the one that ends the flush.
std::size_t slowest_of(std::span<const StagePass> passes) {
  std::size_t slowest = 0;
  for (std::size_t i = 1; i < passes.size(); ++i) {
    if (passes[slowest].total() <= passes[i].total()) slowest = i;
  }
  return slowest;
}

/// Longer than two micro-batches a stage DualPipe takes what its slowest rank does for the rest.
PipelineTime dual_pipe_time(std::span<const StagePass> stage, std::int64_t micro_batches) {
  std::vector<StagePass> ranks;  // the mean of both of its stages, each with half of the work
  for (std::size_t i = 0; i < stage.size(); ++i) {
    const StagePass &own = stage[i], &other = stage[stage.size() - 1 - i];
    ranks.push_back({(own.forward + other.forward) / 2.0, (own.backward + other.backward) / 2.0,
                     (own.weight + other.weight) / 2.0});
  }
  PipelineTime result;
  result.slowest = slowest_of(ranks);
  const Seconds each = ranks[result.slowest].total();
  result.steady = each * static_cast<double>(micro_batches);
  const auto fewest = static_cast<std::int64_t>(2 * stage.size());
  if (stage.size() > 1)
    result.bubble =
        std::max(Seconds(0), dual_pipe_flush(stage, fewest) - each * static_cast<double>(fewest));
  return result;
}

}  // namespace

PipelineTime pipeline_time(std::span<const StagePass> stage, std::int64_t micro_batches, int vp,
                           Schedule schedule) {
  FLOWPLAN_ASSERT(!stage.empty() && micro_batches >= 1 && vp >= 1);
  if (schedule == Schedule::dual_pipe) return dual_pipe_time(stage, micro_batches);
  StagePass sum;
  for (const StagePass& one : stage) {
    sum.forward += one.forward;
    sum.backward += one.backward;
    sum.weight += one.weight;
  }
  PipelineTime result;
  result.slowest = slowest_of(stage);
  const StagePass& most = stage[result.slowest];
  result.steady = most.total() * static_cast<double>(micro_batches);
  const Seconds others = sum.total() - most.total();
  result.bubble = schedule == Schedule::zero_bubble_1 ? others - (sum.weight - most.weight) * 2.0
                                                      : others / static_cast<double>(vp);
  result.bubble = std::max(result.bubble, Seconds(0));
  return result;
}

PipelineTime pipeline_time(std::span<const Seconds> stage, std::int64_t micro_batches, int vp) {
  std::vector<StagePass> passes;
  passes.reserve(stage.size());
  for (const Seconds time : stage)
    passes.push_back({time, {}, {}});
  return pipeline_time(passes, micro_batches, vp);
}

}  // namespace flowplan::training
