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
Json topology_request(const Plan& plan) {
  Json annotations;
  annotations["kueue.x-k8s.io/podset-preferred-topology"] = network_labels(plan).back();
  if (plan.domains_span_nodes() && plan.job_nodes % plan.job_nodes_per_domain == 0) {
    annotations["kueue.x-k8s.io/podset-slice-required-topology"] = ultraserver_label;
    annotations["kueue.x-k8s.io/podset-slice-size"] = std::to_string(plan.job_nodes_per_domain);
  }
  return annotations;
}

Json job_set(const Plan& plan, const Launch& launch) {
  Json set = object_of("jobset.x-k8s.io/v1alpha2", "JobSet", plan.slug);
  set["metadata"]["namespace"] = "default";
  set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = queue_name;
  set["spec"]["failurePolicy"] = {{"maxRestarts", 10}, {"restartStrategy", "Recreate"}};
  Json job;
  job["name"] = "workers";
  job["replicas"] = 1;
  Json& spec = job["template"]["spec"];
  spec["parallelism"] = plan.job_nodes;
  spec["completions"] = plan.job_nodes;
  spec["completionMode"] = "Indexed";
  spec["backoffLimit"] = 0;
  spec["template"]["metadata"]["annotations"] = topology_request(plan);
  spec["template"]["spec"] = pod_spec(plan, launch, fmt::format("{0}-workers-0-0.{0}", plan.slug),
                                      "$(JOB_COMPLETION_INDEX)");
  set["spec"]["replicatedJobs"] = Json::array({job});
  return set;
}

}  // namespace

Result<std::string> kueue_manifests(const Plan& plan) {
  const auto launch = launch_of(plan);
  if (!launch) return fail(launch.error());
  const std::string flavor = slug_of(plan.node_type->id);
  std::vector<Json> documents{topology_levels(plan), flavor_of(plan, flavor),
                              cluster_queue(plan, flavor), local_queue(plan)};
  if (Json files = files_of(plan, *launch); !files.is_null()) documents.push_back(std::move(files));
  documents.push_back(job_set(plan, *launch));
  return yaml_documents(
      fmt::format("{}\nKueue v1beta2 and JobSet v1alpha2. Put your image and volumes in.",
                  plan.title),
      documents);
}

}  // namespace flowplan::exporting
