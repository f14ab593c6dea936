#include "flowplan/training/schedule.hpp"

#include <algorithm>

#include "flowplan/base/assert.hpp"

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

PipelineTime pipeline_time(std::span<const StagePass> stage, std::int64_t micro_batches, int vp,
                           Schedule schedule) {
  FLOWPLAN_ASSERT(!stage.empty() && micro_batches >= 1 && vp >= 1);
  // `<=`: of equal stages the last one is named, as the one that ends the flush.
  std::size_t slowest = 0;
  StagePass sum;
  for (std::size_t i = 0; i < stage.size(); ++i) {
    if (stage[slowest].total() <= stage[i].total()) slowest = i;
    sum.forward += stage[i].forward;
    sum.backward += stage[i].backward;
    sum.weight += stage[i].weight;
  }
  const StagePass& most = stage[slowest];
  PipelineTime result;
  result.slowest = slowest;
  result.steady = most.total() * static_cast<double>(micro_batches);
  const Seconds others = sum.total() - most.total();
  const auto stages = static_cast<double>(stage.size());
  switch (schedule) {
    case Schedule::one_forward_one_backward:
      result.bubble = others / static_cast<double>(vp);
      break;
    case Schedule::zero_bubble_1:
      result.bubble = others - (sum.weight - most.weight) * 2.0;
      break;
    case Schedule::dual_pipe:
      // Each rank works on the two stages that it holds: together two of the mean.
      result.bubble = (sum.forward + sum.backward * 2.0 - sum.weight * 3.0) *
                      (std::max(0.0, stages / 2.0 - 1.0) / stages);
      break;
  }
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
