#pragma once

#include <vector>

#include "command.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::cli {

/// --instance, --nodes, and what is assumed about the switches.
[[nodiscard]] std::vector<Option> cluster_options();

/// The cluster that these options describe; `catalog` outlives it. Errors FP090 and those of
/// Cluster::build.
[[nodiscard]] Result<topology::Cluster> cluster_from(const Arguments& arguments,
                                                     const catalog::Catalog& catalog);

}  // namespace flowplan::cli
