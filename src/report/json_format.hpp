#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

#include "flowplan/estimate/breakdown.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::report {

using Json = nlohmann::ordered_json;

/// Of every JSON result; goes up when a key changes its meaning or goes away.
inline constexpr int result_format_version = 1;

/// A cluster's network as it stands in several results.
[[nodiscard]] nlohmann::ordered_json network_json(const topology::Summary& summary,
                                                  std::string_view nic_kind);
/// A breakdown tree as it stands in several results.
[[nodiscard]] Json breakdown_json(const Breakdown& node);

}  // namespace flowplan::report
