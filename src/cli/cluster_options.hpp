#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/topology/placement.hpp"

namespace flowplan::cli {

/// --instance, --nodes, --import, and what is assumed about the switches.
[[nodiscard]] std::vector<Option> cluster_options();

/// The cluster that these options describe; `catalog` outlives it. Errors FP090 and those of
/// Cluster::build, topology::read_topology and topology::wire.
[[nodiscard]] Result<topology::Cluster> cluster_from(const Arguments& arguments,
                                                     const catalog::Catalog& catalog);
/// The same from the text of the file that --import names.
[[nodiscard]] Result<topology::Cluster> imported_cluster(const Arguments& arguments,
                                                         const catalog::Catalog& catalog,
                                                         std::string text);

/// --degrade, and a cluster as built with all of them taken from it.
[[nodiscard]] Option degrade_option();
[[nodiscard]] Result<topology::Cluster> degraded(const Arguments& arguments,
                                                 const topology::Cluster& cluster);

/// What to say of --degrade next to a prediction: each as given, then which GPUs leave by the NICs
/// of others.
[[nodiscard]] std::vector<std::string> degradation_conditions(const Arguments& arguments,
                                                              const topology::Cluster& cluster);

/// --gpus, --placement, --seed and --per-domain.
[[nodiscard]] std::vector<Option> placement_options();

struct Placed {
  topology::Placement placement;
  /// "nodes scattered, seed 3", "1 failed GPU without rank"; empty for the first GPUs in order.
  std::string condition;
};
/// The ranks' GPUs: all that take ranks where --gpus is not given. Errors FP090, FP061.
[[nodiscard]] Result<Placed> placement_from(const Arguments& arguments,
                                            const topology::Cluster& cluster);

}  // namespace flowplan::cli
