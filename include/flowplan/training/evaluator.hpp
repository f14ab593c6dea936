#pragma once

#include <memory>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/training/iteration.hpp"
#include "flowplan/training/timeline.hpp"

namespace flowplan::training {

/// What a search wants to know of a layout.
struct Evaluation {
  Seconds step{};
  double tokens_per_second = 0.0;
  Bytes memory{};  ///< of the fullest rank
  int stage = 0;   ///< which stage that rank is of
  bool fits = false;
};

/// Estimates many jobs of one model, sequence length, framework, GPU count and placement on one
/// cluster; layout, batch, precision, recomputation, sharding and schedule may differ. Remembers
/// what layers and collectives take by their shapes, so that a job whose shapes were seen costs
/// microseconds. The same model as `estimate`, which is made of it. Not for several threads at
/// once: give each its own; catalog and cluster outlive it.
class Evaluator {
 public:
  /// Errors FP030, FP032 and FP061 as `check` and placement have them. `like` names model, sequence
  /// length, framework, GPUs and placement.
  [[nodiscard]] static Result<Evaluator> on(const catalog::Catalog& catalog,
                                            const topology::Cluster& cluster, const Job& like);
  Evaluator(Evaluator&&) noexcept;
  Evaluator& operator=(Evaluator&&) noexcept;
  ~Evaluator();

  /// Whether a job can be evaluated: what `check` says, without words and much faster.
  [[nodiscard]] bool valid(const Job& job) const;
  /// Time and memory of a valid job. Errors: those of collectives.
  [[nodiscard]] Result<Evaluation> evaluate(const Job& job);
  /// Memory alone, in less time; no collectives are asked for.
  [[nodiscard]] Evaluation memory(const Job& job) const;
  /// The step time of a valid job without its communication: `evaluate` never says less, whatever
  /// the sharding and the kind of context parallelism. No collectives are asked for.
  [[nodiscard]] Seconds at_least(const Job& job);
  /// The step time of a valid job without what moves keys and values: `evaluate` never says less,
  /// whatever the kind of context parallelism. Errors show in the next `evaluate`.
  [[nodiscard]] Seconds at_least_by_any_context(const Job& job);
  /// The step of a valid job with its pipeline played through as a task graph of passes instead of
  /// by the closed form; they agree within 1 % where stages are equal. Schedule 1F1B, interleaved
  /// or not. Errors: those of collectives.
  [[nodiscard]] Result<Seconds> simulate(const Job& job);
  /// What `forward_pass` says, of a valid job. Errors: those of collectives.
  [[nodiscard]] Result<ForwardPass> forward(const Job& job);
  /// The same with every pass; see `step_timeline`.
  [[nodiscard]] Result<StepTimeline> timeline(const Job& job);
  /// Everything `estimate` says.
  [[nodiscard]] Result<Iteration> explain(const Job& job);

 private:
  struct State;
  explicit Evaluator(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Time and memory of a valid job.
[[nodiscard]] inline Result<Evaluation> evaluate(Evaluator& context, const Job& job) {
  return context.evaluate(job);
}

}  // namespace flowplan::training
