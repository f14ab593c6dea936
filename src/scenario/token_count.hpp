#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "flowplan/inference/load.hpp"
#include "placed_faults.hpp"

namespace flowplan::scenario {

/// What stands at `key` of `json`, a number or a distribution; `otherwise` where nothing does.
/// `pointer` is that of `json`. A mean above `most` is a fault (FP024).
[[nodiscard]] inference::TokenCount token_count(const nlohmann::ordered_json& json, const char* key,
                                                double otherwise, const std::string& pointer,
                                                PlacedFaults& faults);

}  // namespace flowplan::scenario
