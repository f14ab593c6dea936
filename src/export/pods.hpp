#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "flowplan/base/result.hpp"
#include "flowplan/export/launch.hpp"
#include "flowplan/export/plan.hpp"
#include "flowplan/export/serving_job.hpp"

namespace flowplan::exporting {

inline constexpr const char* instance_type_label = "node.kubernetes.io/instance-type";
inline constexpr const char* ultraserver_label = "topology.k8s.aws/ultraserver-id";
inline constexpr const char* hostname_label = "kubernetes.io/hostname";

/// {"apiVersion", "kind", "metadata": {"name"}} to go on from.
[[nodiscard]] nlohmann::ordered_json object_of(const std::string& api, const std::string& kind,
                                               const std::string& name);
/// The GPUs and EFA devices of one node, as limits.
[[nodiscard]] nlohmann::ordered_json node_limits(const Plan& plan);
/// The container of one node's ranks; `master` is the host of rank 0, `node_rank` the path of the
/// pod's own field that numbers the nodes. (References to variables that a controller adds stay
/// unexpanded: it adds them behind ours.)
[[nodiscard]] nlohmann::ordered_json container_of(const Plan& plan, const Launch& launch,
                                                  const std::string& master,
                                                  const std::string& node_rank);
/// The ConfigMap of files, to mount at /flowplan; null when there are none.
[[nodiscard]] nlohmann::ordered_json files_of(const Plan& plan,
                                              const std::vector<WrittenFile>& files);
/// The pod of one node, with that container.
[[nodiscard]] nlohmann::ordered_json pod_spec(const Plan& plan, const Launch& launch,
                                              const std::string& master,
                                              const std::string& node_rank);
/// The pod of one node of a server; `environment`: which node of which replica it is.
[[nodiscard]] nlohmann::ordered_json server_pod(const Plan& plan, const ServerGroup& group,
                                                nlohmann::ordered_json environment);
/// Error FP073 for a replica of several nodes that MPI has to start: a pod cannot.
[[nodiscard]] Result<void> needs_no_mpi(const ServingJob& serving);
/// {"name", "value"} of a container's environment.
[[nodiscard]] nlohmann::ordered_json variable_of(const std::string& name, const std::string& value);
/// The same, from a field of the pod.
[[nodiscard]] nlohmann::ordered_json field_variable(const std::string& name,
                                                    const std::string& path);

}  // namespace flowplan::exporting
