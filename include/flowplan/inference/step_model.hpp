#pragma once

#include <memory>
#include <optional>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/inference/engine_profile.hpp"
#include "flowplan/inference/layout.hpp"
#include "flowplan/inference/number_formats.hpp"
#include "flowplan/inference/step_table.hpp"

namespace flowplan::inference {

/// What low-rank adapters on every projection cost, applied without merging them.
struct AdapterCost {
  Seconds per_pass{};     ///< launches
  Seconds per_adapter{};  ///< each different one in the pass: its weights are read
  Seconds per_token{};    ///< of the fullest lane
  Bytes adapter{};        ///< one adapter on one rank
};

/// What the time of a pass depends on. Pointers outlive the model made of it.
struct StepSetup {
  const catalog::Instance* instance = nullptr;
  const model::Transformer* model = nullptr;
  Layout layout;
  NumberFormats formats;
  EngineProfile engine;
  /// Tokens that are proposed for each sequence and verified in a pass; 0: no speculation.
  int draft_tokens = 0;
};

/// Parts of a pass on the fullest rank, all layers and pipeline stages together.
struct DenseParts {
  Seconds products{};      ///< matrix products outside routed experts, quantising included
  Seconds all_reduce{};    ///< of tensor parallelism
  Seconds element_wise{};  ///< norms, rotary embeddings, activations, cache writes
  Seconds launches{};      ///< small kernels, launches
  Seconds stages{};        ///< sends between pipeline stages
  [[nodiscard]] Seconds total() const;
};
struct ExpertParts {
  Seconds experts{};   ///< routed: products, permutation
  Seconds exchange{};  ///< dispatch and combine that nothing hides
  Seconds waiting{};   ///< launches; lockstep of attention-DP ranks
  [[nodiscard]] Seconds total() const;
};
struct HeadParts {
  Seconds product{}, gather{}, sampling{};
  [[nodiscard]] Seconds total() const;
};

/// What one GPU sends in a dispatch and a combine.
struct ExchangeTraffic {
  Bytes nvlink{}, network{};
};

/// How long the parts of a pass take: kernel tables of the GPU (never above its peaks), the
/// engine's own factors on them, collectives of the layout. docs/models/serving-step.md has the
/// formulas. Cheap to copy.
class StepModel {
 public:
  /// Errors: those of check_layout, KernelTable::on and the collectives; FP073 where the GPU has no
  /// kernels of a format.
  [[nodiscard]] static Result<StepModel> on(const catalog::Catalog& catalog,
                                            const StepSetup& setup);

  /// `tokens` of a lane, > 0.
  [[nodiscard]] DenseParts dense(double tokens) const;
  /// `tokens` of all attention ranks, > 0; nothing for a dense model.
  [[nodiscard]] ExpertParts experts(double tokens) const;
  /// What an exchange of one layer sends for `tokens` of all attention ranks, > 0; nothing where
  /// the layout has none, or where an all-reduce of all ranks is faster and stands for it. Errors:
  /// those of `expert_parallel`.
  [[nodiscard]] Result<std::optional<ExchangeTraffic>> exchange_traffic(
      const catalog::Catalog& catalog, double tokens) const;
  /// `sequences` whose logits are needed, > 0.
  [[nodiscard]] HeadParts head(double sequences) const;
  /// `sequences` of a lane at a mean context, `draft_tokens` + 1 queries each.
  [[nodiscard]] Seconds decode_attention(double sequences, double context) const;
  /// One token drafted for each of `sequences` of a lane: a layer of the model and the head.
  [[nodiscard]] Seconds draft(double sequences) const;
  /// Adapters of `rank` >= 1.
  [[nodiscard]] AdapterCost adapters(double rank) const;
  /// A whole prompt of `tokens`, as one of several in a pass.
  [[nodiscard]] Seconds prefill_attention(double tokens) const;

  /// All of it on grids up to `most_tokens` of a lane, `most_sequences` of a lane and
  /// `most_context` tokens of a sequence, with the engine's graph sizes and overheads.
  [[nodiscard]] StepTable table(double most_tokens, double most_sequences,
                                double most_context) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace flowplan::inference
