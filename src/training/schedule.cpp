#include "flowplan/training/schedule.hpp"

#include <algorithm>
#include <numeric>

#include "flowplan/base/assert.hpp"

namespace flowplan::training {

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

PipelineTime pipeline_time(std::span<const Seconds> stage, std::int64_t micro_batches, int vp) {
  FLOWPLAN_ASSERT(!stage.empty() && micro_batches >= 1 && vp >= 1);
  // `<=`: of equal stages the last one is named, as the one that ends the flush.
  std::size_t slowest = 0;
  for (std::size_t i = 1; i < stage.size(); ++i) {
    if (stage[slowest] <= stage[i]) slowest = i;
  }
  const Seconds total = std::accumulate(stage.begin(), stage.end(), Seconds(0));
  return {slowest, stage[slowest] * static_cast<double>(micro_batches),
          (total - stage[slowest]) / static_cast<double>(vp)};
}

}  // namespace flowplan::training
