#pragma once

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/inference/step_model.hpp"

namespace flowplan::inference {

/// What one GPU sends in a pass, all layers together, the mean over an instance's GPUs.
struct PassTraffic {
  Bytes nvlink{};   ///< out of its port
  Bytes network{};  ///< out of its share of the NICs
};

/// Traffic of the collectives that `StepModel` prices for `tokens` of a lane, > 0, of which
/// `sequences` need logits: tensor-parallel all-reduces (one-shot: the vector to each other rank;
/// two-shot: 2 (n - 1) / n of it; NCCL: the flows of its schedule), the gather of logits, sends
/// between stages, dispatch and combine of experts. Errors: those of the collectives.
[[nodiscard]] Result<PassTraffic> pass_traffic(const catalog::Catalog& catalog,
                                               const StepSetup& setup, double tokens,
                                               double sequences);

}  // namespace flowplan::inference
