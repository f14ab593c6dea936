#include "recurrence.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "flowplan/base/assert.hpp"
#include "flowplan/training/programs.hpp"

namespace flowplan::training {
namespace {

/// Ends of the passes of both directions.
class DualPipeFlush {
 public:
  DualPipeFlush(std::span<const StagePass> stage, std::int64_t micro_batches)
      : stage_(stage),
        each_(static_cast<std::size_t>(micro_batches)),
        ends_(4 * stage.size() * each_, unknown) {}

  Seconds play() {
    const auto p = stage_.size();
    std::vector<std::vector<Pass>> programs;
    for (std::size_t rank = 0; rank < p; ++rank)
      programs.push_back(dual_pipe_program(static_cast<int>(rank), static_cast<int>(p),
                                           static_cast<std::int64_t>(each_)));
    std::vector<std::size_t> next(p, 0);
    std::vector<double> free(p, 0.0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t rank = 0; rank < p; ++rank) {
        const std::span<const Pass> passes = programs[rank];
        while (next[rank] < passes.size()) {
          const std::size_t count = passes[next[rank]].with_next ? 2 : 1;
          if (!run(rank, passes.subspan(next[rank], count), free[rank])) break;
          next[rank] += count;
          moved = true;
        }
      }
    }
    for (std::size_t rank = 0; rank < p; ++rank)
      FLOWPLAN_ASSERT(next[rank] == programs[rank].size());
    return Seconds(*std::max_element(free.begin(), free.end()));
  }

 private:
  static constexpr double unknown = -1.0;

  [[nodiscard]] std::size_t stage_of(std::size_t rank, const Pass& pass) const {
    return pass.direction == 0 ? rank : stage_.size() - 1 - rank;
  }

  /// When a pass of a stage ends.
  double& end(std::size_t stage, const Pass& pass, bool forward) {
    const std::size_t way = static_cast<std::size_t>(pass.direction) * 2 + (forward ? 0 : 1);
    return ends_[(way * stage_.size() + stage) * each_ +
                 static_cast<std::size_t>(pass.micro_batch)];
  }

  [[nodiscard]] double duration(std::size_t stage, PassPart part) const {
    const StagePass& of = stage_[stage];
    if (part == PassPart::forward) return of.forward.value();
    if (part == PassPart::weight) return of.weight.value();
    return of.backward.value() - (part == PassPart::input ? of.weight.value() : 0.0);
  }

  /// When what a pass needs is there; `unknown`: not yet told.
  double ready(std::size_t stage, const Pass& pass) {
    if (pass.part == PassPart::weight) return 0.0;
    if (pass.part == PassPart::forward) return stage == 0 ? 0.0 : end(stage - 1, pass, true);
    return stage + 1 == stage_.size() ? end(stage, pass, true) : end(stage + 1, pass, false);
  }

  bool run(std::size_t rank, std::span<const Pass> passes, double& free) {
    double from = free, time = 0.0;
    for (const Pass& pass : passes) {
      const std::size_t stage = stage_of(rank, pass);
      const double when = ready(stage, pass);
      if (when == unknown) return false;
      from = std::max(from, when);
      time += duration(stage, pass.part);
    }
    free = from + time;
    for (const Pass& pass : passes) {
      if (pass.part != PassPart::weight)
        end(stage_of(rank, pass), pass, pass.part == PassPart::forward) = free;
    }
    return true;
  }

  std::span<const StagePass> stage_;
  std::size_t each_;
  std::vector<double> ends_;
};

}  // namespace

Seconds dual_pipe_flush(std::span<const StagePass> stage, std::int64_t micro_batches) {
  return DualPipeFlush(stage, micro_batches).play();
}

}  // namespace flowplan::training
