// Kueue v1beta2 and JobSet v1alpha2.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/export/kubernetes.hpp"
#include "pods.hpp"
#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kueue_api = "kueue.x-k8s.io/v1beta2";
constexpr const char* queue_name = "train";
constexpr const char* topology_name = "aws-efa";
constexpr const char* pod_index =
    "metadata.annotations['batch.kubernetes.io/job-completion-index']";
constexpr const char* job_index = "metadata.labels['jobset.sigs.k8s.io/job-index']";

Json topology_levels(const Plan& plan) {
  Json levels = Json::array();
  for (const std::string& label : network_labels(plan))
    levels.push_back({{"nodeLabel", label}});
  if (plan.domains_span_nodes()) levels.push_back({{"nodeLabel", ultraserver_label}});
  levels.push_back({{"nodeLabel", hostname_label}});
  Json topology = object_of(kueue_api, "Topology", topology_name);
  topology["spec"]["levels"] = levels;
  return topology;
}

Json flavor_of(const Plan& plan, const std::string& name) {
  Json flavor = object_of(kueue_api, "ResourceFlavor", name);
  flavor["spec"]["nodeLabels"][instance_type_label] = plan.node_type->id;
  flavor["spec"]["topologyName"] = topology_name;
  return flavor;
}

/// All of the cluster's GPUs and EFA devices.
Json cluster_queue(const Plan& plan, const std::string& flavor) {
  Json queue = object_of(kueue_api, "ClusterQueue", plan.slug);
  queue["spec"]["namespaceSelector"] = Json::object();
  queue["spec"]["queueingStrategy"] = "BestEffortFIFO";
  queue["spec"]["preemption"] = {{"withinClusterQueue", "LowerPriority"}};
  Json covered = Json::array();
  Json resources = Json::array();
  const Json limits = node_limits(plan);  // items() keeps a reference
  for (const auto& [name, amount] : limits.items()) {
    covered.push_back(name);
    resources.push_back(
        {{"name", name},
         {"nominalQuota", std::to_string(std::stoll(amount.get<std::string>()) * plan.nodes())}});
  }
  queue["spec"]["resourceGroups"] =
      Json::array({{{"coveredResources", covered},
                    {"flavors", Json::array({{{"name", flavor}, {"resources", resources}}})}}});
  return queue;
}

Json local_queue(const Plan& plan) {
  Json queue = object_of(kueue_api, "LocalQueue", queue_name);
  queue["metadata"]["namespace"] = "default";
  queue["spec"]["clusterQueue"] = plan.slug;
  return queue;
}

/// The nearest layer first: Kueue takes the lowest that the job fits below.
Json preferred_topology(const Plan& plan) {
  return {{"kueue.x-k8s.io/podset-preferred-topology", network_labels(plan).back()}};
}

void require_slices(Json& annotations, const std::string& label, std::uint32_t nodes) {
  annotations["kueue.x-k8s.io/podset-slice-required-topology"] = label;
  annotations["kueue.x-k8s.io/podset-slice-size"] = std::to_string(nodes);
}

Json topology_request(const Plan& plan) {
  Json annotations = preferred_topology(plan);
  if (plan.domains_span_nodes() && plan.job_nodes % plan.job_nodes_per_domain == 0)
    require_slices(annotations, ultraserver_label, plan.job_nodes_per_domain);
  return annotations;
}

/// A replica of several nodes stays in one UltraServer where it fits.
Json topology_request(const Plan& plan, const ServerGroup& group) {
  Json annotations = preferred_topology(plan);
  const auto nodes = static_cast<std::uint32_t>(group.nodes());
  if (group.spans_nodes() && nodes <= plan.nodes_per_domain())
    require_slices(annotations, ultraserver_label, nodes);
  return annotations;
}

/// A Job of `nodes` pods, numbered, of which there are `replicas`.
Json replicated_job(const std::string& name, int replicas, std::uint32_t nodes, Json annotations,
                    Json pod) {
  Json job;
  job["name"] = name;
  job["replicas"] = replicas;
  Json& spec = job["template"]["spec"];
  spec["parallelism"] = nodes;
  spec["completions"] = nodes;
  spec["completionMode"] = "Indexed";
  spec["backoffLimit"] = 0;
  spec["template"]["metadata"]["annotations"] = std::move(annotations);
  spec["template"]["spec"] = std::move(pod);
  return job;
}

Json job_set_of(const Plan& plan, Json jobs) {
  Json set = object_of("jobset.x-k8s.io/v1alpha2", "JobSet", plan.slug);
  set["metadata"]["namespace"] = "default";
  set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue_name;
  set["spec"]["failurePolicy"] = {{"maxRestarts", 10}, {"restartStrategy", "Recreate"}};
  set["spec"]["replicatedJobs"] = std::move(jobs);
  return set;
}

Json job_set(const Plan& plan, const Launch& launch) {
  return job_set_of(
      plan,
      Json::array({replicated_job(
          "workers", 1, plan.job_nodes, topology_request(plan),
          pod_spec(plan, launch, fmt::format("{0}-workers-0-0.{0}", plan.slug), pod_index))}));
}

/// A job for every replica: its index is the replica's, that of its pod the node's.
Json serving_set(const Plan& plan, const ServingJob& serving) {
  Json jobs = Json::array();
  for (const ServerGroup& group : serving.groups) {
    Json environment = Json::array();
    if (group.spans_nodes()) {
      environment.push_back(field_variable("REPLICA", job_index));
      environment.push_back(field_variable("NODE_RANK", pod_index));
      environment.push_back(variable_of(
          "MASTER_ADDR", fmt::format("{0}-{1}-$(REPLICA)-0.{0}", plan.slug, group.name)));
    }
    jobs.push_back(replicated_job(
        group.name, group.replicas, static_cast<std::uint32_t>(group.nodes()),
        topology_request(plan, group), server_pod(plan, group, std::move(environment))));
  }
  return job_set_of(plan, std::move(jobs));
}

std::string manifests(const Plan& plan, const std::vector<WrittenFile>& files, Json set) {
  const std::string flavor = slug_of(plan.node_type->id);
  std::vector<Json> documents{topology_levels(plan), flavor_of(plan, flavor),
                              cluster_queue(plan, flavor), local_queue(plan)};
  if (Json map = files_of(plan, files); !map.is_null()) documents.push_back(std::move(map));
  documents.push_back(std::move(set));
  return yaml_documents(
      fmt::format("{}\nKueue v1beta2 and JobSet v1alpha2. Put your image and volumes in.",
                  plan.title),
      documents);
}

}  // namespace

Result<std::string> kueue_manifests(const Plan& plan) {
  const auto launch = launch_of(plan);
  if (!launch) return fail(launch.error());
  return manifests(plan, launch->files, job_set(plan, *launch));
}

Result<std::string> kueue_manifests(const Plan& plan, const ServingJob& serving) {
  if (const auto able = needs_no_mpi(serving); !able) return fail(able.error());
  return manifests(plan, server_files(plan, serving), serving_set(plan, serving));
}

}  // namespace flowplan::exporting
