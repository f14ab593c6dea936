#pragma once

#include "flowplan/base/quantity.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/breakdown.hpp"
#include "flowplan/inference/engine.hpp"
#include "flowplan/scenario/serving.hpp"
#include "serving_fleet.hpp"

namespace flowplan::scenario {

/// Time to the first token of a prompt on an idle instance: its passes, and the engine's own.
[[nodiscard]] Seconds lone_ttft(const inference::Instance& instance, double input_tokens);
/// Time of an output token of one sequence alone at that context, drafts accepted as stated.
[[nodiscard]] Seconds lone_tpot(const inference::Instance& instance, double context_tokens);

/// What the mean decode pass of a run works on, on its fullest lane.
struct DecodePass {
  double sequences = 1.0;
  double tokens_a_sequence = 1.0;  ///< 1 + draft tokens
  double context = 1.0;            ///< mean tokens of a sequence
  [[nodiscard]] double tokens() const { return sequences * tokens_a_sequence; }
};
/// `answer` has pools.
[[nodiscard]] DecodePass mean_decode_pass(const ServingFleet& fleet, const ServingAnswer& answer);

/// A decode pass at the mean batch and the mean context of the run, taken apart.
[[nodiscard]] Breakdown pass_breakdown(const catalog::Catalog& catalog, const ServingFleet& fleet,
                                       const ServingAnswer& answer);

}  // namespace flowplan::scenario
