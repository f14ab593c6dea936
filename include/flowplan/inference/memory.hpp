#pragma once

#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/catalog/hardware.hpp"
#include "flowplan/inference/engine_profile.hpp"
#include "flowplan/inference/layout.hpp"
#include "flowplan/inference/number_formats.hpp"
#include "flowplan/inference/step_table.hpp"

namespace flowplan::inference {

/// Weights on the fullest GPU by class, scales and replicas included.
struct WeightBytes {
  Bytes attention{};  ///< projections
  Bytes ffn{};        ///< dense MLPs, shared experts, routers
  Bytes experts{};    ///< routed ones, redundant copies included
  Bytes embedding{};  ///< input embedding and output matrix
  [[nodiscard]] Bytes total() const { return attention + ffn + experts + embedding; }
};
/// A stage has ceil(layers / pp) of the layers; embedding and output are counted on every stage
/// that has either.
[[nodiscard]] WeightBytes weight_bytes(const model::Transformer& model, const Layout& layout,
                                       const NumberFormats& formats);

/// What a token and a sequence take of one rank's KV cache, in blocks of the engine, room for none.
[[nodiscard]] KvGeometry kv_geometry(const model::Transformer& model, const Layout& layout,
                                     const NumberFormats& formats, std::int64_t block_tokens);

/// What has to fit beside the weights.
struct KvDemand {
  double sequences = 1.0;  ///< at once on one attention rank
  double tokens = 1.0;     ///< of each: prompt and output
};

/// A change that makes it fit: "tp 8", "kv cache fp8", "31 sequences instead of 64".
struct ServingRemedy {
  std::string change;
  Bytes kv_room{};  ///< for the KV cache with it
};

struct ServingMemory {
  Bytes hbm{};      ///< of a GPU, as its driver reports it
  Bytes allowed{};  ///< that the engine may use
  WeightBytes weights;
  Bytes other{};    ///< activations, graphs, communication buffers, context
  Bytes kv_room{};  ///< for the KV cache; 0 where weights leave none
  Bytes kv_needed{};
  KvGeometry kv;  ///< with its capacity in blocks
  bool fits = false;
  std::string binding;  ///< "weights" when they leave no room, "kv cache"; empty when it fits
  /// The smallest changes that make it fit, one of each kind; empty when it fits.
  std::vector<ServingRemedy> remedies;

  /// Sequences of so many tokens that one attention rank has room for at once.
  [[nodiscard]] double sequences_of(double tokens) const;
};

/// Memory of one GPU of the fullest stage: the engine's share of what the driver reports, less
/// weights and what else it keeps, is left to the KV cache. The layout must be one that
/// check_layout accepts.
[[nodiscard]] ServingMemory serving_memory(const catalog::Instance& instance,
                                           const model::Transformer& model, const Layout& layout,
                                           const NumberFormats& formats,
                                           const EngineProfile& engine, const KvDemand& demand);

}  // namespace flowplan::inference
