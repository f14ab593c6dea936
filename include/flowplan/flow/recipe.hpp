#pragma once

#include <string_view>

#include "flowplan/base/result.hpp"
#include "flowplan/flow/generate.hpp"

namespace flowplan::flow {

/// Reads "fat-tree:64", "fat-tree:down=4x4x4,up=1x4x4", "clos:leaves=8,hosts=16,spines=4,
/// oversubscription=2", "torus:4x4x4", "dragonfly:groups=9,routers=4,hosts=2"; each takes
/// `gbytes_per_s`, a dragonfly `local_gbytes_per_s` and `global_gbytes_per_s` too. Error FP053.
[[nodiscard]] Result<Topology> parse_topology(std::string_view text);

/// The pattern or kind of sizes that is spelt so ("all-to-all", "random"). Error FP053.
[[nodiscard]] Result<Pattern> parse_pattern(std::string_view text);
[[nodiscard]] Result<Sizes> parse_sizes(std::string_view text);

}  // namespace flowplan::flow
