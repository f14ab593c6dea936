#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "flowplan/export/launch.hpp"
#include "flowplan/export/plan.hpp"

namespace flowplan::exporting {

inline constexpr const char* instance_type_label = "node.kubernetes.io/instance-type";
inline constexpr const char* ultraserver_label = "topology.k8s.aws/ultraserver-id";
inline constexpr const char* hostname_label = "kubernetes.io/hostname";

/// {"apiVersion", "kind", "metadata": {"name"}} to go on from.
[[nodiscard]] nlohmann::ordered_json object_of(const std::string& api, const std::string& kind,
                                               const std::string& name);
/// The GPUs and EFA devices of one node, as limits.
[[nodiscard]] nlohmann::ordered_json node_limits(const Plan& plan);
/// The container of one node's ranks; `master` is the host of rank 0, `node_rank` the variable that
/// numbers the nodes.
[[nodiscard]] nlohmann::ordered_json container_of(const Plan& plan, const Launch& launch,
                                                  const std::string& master,
                                                  const std::string& node_rank);
/// The ConfigMap of the files that a launch reads, to mount at /flowplan; null when it has none.
[[nodiscard]] nlohmann::ordered_json files_of(const Plan& plan, const Launch& launch);
/// The pod of one node, with that container.
[[nodiscard]] nlohmann::ordered_json pod_spec(const Plan& plan, const Launch& launch,
                                              const std::string& master,
                                              const std::string& node_rank);

}  // namespace flowplan::exporting
