#pragma once

#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/export/launch.hpp"
#include "flowplan/export/plan.hpp"
#include "flowplan/export/serving_job.hpp"

namespace flowplan::exporting {

/// The nodes with the labels that EC2's node agents put on them, as `kubectl get nodes -o yaml`
/// shows: for KWOK, or to compare with the real ones. `topology::read_topology` reads them back.
[[nodiscard]] std::string kubernetes_nodes(const Plan& plan);

/// Kueue (v1beta2): Topology, ResourceFlavor, ClusterQueue and LocalQueue of the cluster, and the
/// job as a JobSet (v1alpha2) that asks for the placement that was predicted.
[[nodiscard]] Result<std::string> kueue_manifests(const Plan& plan);
/// The same of servers, a Job of the set for every replica. Error FP073 for TensorRT-LLM's
/// replicas of several nodes, which MPI starts.
[[nodiscard]] Result<std::string> kueue_manifests(const Plan& plan, const ServingJob& serving);

/// Volcano: a HyperNode (topology.volcano.sh/v1alpha1) for every NVLink domain of several nodes,
/// leaf and pod, tier 1 the nearest, and the job (batch.volcano.sh/v1alpha1).
[[nodiscard]] Result<std::string> volcano_manifests(const Plan& plan);
/// The same of servers, a task for every replica of several nodes. Errors as above.
[[nodiscard]] Result<std::string> volcano_manifests(const Plan& plan, const ServingJob& serving);

/// The labels of the network layers above a node, top first:
/// "topology.k8s.aws/network-node-layer-1".
[[nodiscard]] std::vector<std::string> network_labels(const Plan& plan);

}  // namespace flowplan::exporting
