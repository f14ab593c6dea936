// Volcano: HyperNodes of topology.volcano.sh/v1alpha1, the job of batch.volcano.sh/v1alpha1.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/export/kubernetes.hpp"
#include "pods.hpp"
#include "switches.hpp"
#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* task_index = "metadata.annotations['volcano.sh/task-index']";

Json hyper_node(const std::string& name, int tier, const char* type,
                const std::vector<std::string>& members) {
  Json node = object_of("topology.volcano.sh/v1alpha1", "HyperNode", name);
  node["spec"]["tier"] = tier;
  node["spec"]["members"] = Json::array();
  for (const std::string& member : members)
    node["spec"]["members"].push_back(
        {{"type", type}, {"selector", {{"exactMatch", {{"name", member}}}}}});
  return node;
}

/// What the nodes of the nearest tier are, for who reads the HyperNodes back.
Json nearest_tier(const Plan& plan, const SwitchGroup& group) {
  Json node = hyper_node(group.name, 1, "Node", names_of_nodes(plan, group.member));
  node["metadata"]["labels"][instance_type_label] = plan.node_type->id;
  if (plan.domains_span_nodes()) node["metadata"]["labels"][ultraserver_label] = group.name;
  return node;
}

/// Domains below their leaves where they span nodes, leaves below pods; returns the top tier.
int add_hyper_nodes(const Plan& plan, std::vector<Json>& documents) {
  const SwitchLayers layers = switch_layers(plan);
  int tier = 1;
  for (const SwitchGroup& nearest : layers.domain.empty() ? layers.leaf : layers.domain)
    documents.push_back(nearest_tier(plan, nearest));
  if (!layers.domain.empty()) {
    ++tier;
    for (const SwitchGroup& leaf : layers.leaf) {
      std::vector<std::string> members;
      for (const SwitchGroup& domain : layers.domain)
        if (layers.leaf_of(domain.member.front()) ==
            static_cast<std::uint32_t>(&leaf - layers.leaf.data()))
          members.push_back(domain.name);
      documents.push_back(hyper_node(leaf.name, tier, "HyperNode", members));
    }
  }
  if (layers.pod.empty()) return tier;
  ++tier;
  std::vector<std::string> pods;
  for (const SwitchGroup& pod : layers.pod) {
    std::vector<std::string> members;
    for (const std::uint32_t leaf : pod.member)
      members.push_back(layers.leaf[leaf].name);
    documents.push_back(hyper_node(pod.name, tier, "HyperNode", members));
    pods.push_back(pod.name);
  }
  if (!layers.core) return tier;
  ++tier;
  documents.push_back(hyper_node("core", tier, "HyperNode", pods));
  return tier;
}

Json task_of(const std::string& name, std::uint32_t pods, Json pod) {
  Json task;
  task["name"] = name;
  task["replicas"] = pods;
  task["template"]["spec"] = std::move(pod);
  return task;
}

Json volcano_job(const Plan& plan, std::uint32_t pods, Json tasks, int top_tier) {
  Json job = object_of("batch.volcano.sh/v1alpha1", "Job", plan.slug);
  job["spec"]["schedulerName"] = "volcano";
  job["spec"]["minAvailable"] = pods;
  job["spec"]["networkTopology"] = {{"mode", "hard"}, {"highestTierAllowed", top_tier}};
  job["spec"]["plugins"] = {{"svc", Json::array()}, {"env", Json::array()}};
  job["spec"]["tasks"] = std::move(tasks);
  return job;
}

/// A task for every replica of several nodes: its pods' numbers are the nodes'. Others share one.
Json serving_tasks(const Plan& plan, const ServingJob& serving) {
  Json tasks = Json::array();
  for (const ServerGroup& group : serving.groups) {
    if (!group.spans_nodes()) {
      tasks.push_back(task_of(group.name, static_cast<std::uint32_t>(group.replicas),
                              server_pod(plan, group, Json::array())));
      continue;
    }
    for (int replica = 0; replica < group.replicas; ++replica) {
      const std::string name = fmt::format("{}-{}", group.name, replica);
      Json environment = Json::array();
      environment.push_back(field_variable("NODE_RANK", task_index));
      environment.push_back(
          variable_of("MASTER_ADDR", fmt::format("{0}-{1}-0.{0}", plan.slug, name)));
      tasks.push_back(task_of(name, static_cast<std::uint32_t>(group.nodes()),
                              server_pod(plan, group, std::move(environment))));
    }
  }
  return tasks;
}

std::string volcano_documents(const Plan& plan, const std::vector<WrittenFile>& files,
                              std::uint32_t pods, Json tasks) {
  std::vector<Json> documents;
  const int top_tier = add_hyper_nodes(plan, documents);
  if (Json map = files_of(plan, files); !map.is_null()) documents.push_back(std::move(map));
  documents.push_back(volcano_job(plan, pods, std::move(tasks), top_tier));
  return yaml_documents(fmt::format("{}\nVolcano. Put your image and volumes in.", plan.title),
                        documents);
}

}  // namespace

Result<std::string> volcano_manifests(const Plan& plan) {
  const auto launch = launch_of(plan);
  if (!launch) return fail(launch.error());
  Json pod = pod_spec(plan, *launch, fmt::format("{0}-workers-0.{0}", plan.slug), task_index);
  return volcano_documents(plan, launch->files, plan.job_nodes,
                           Json::array({task_of("workers", plan.job_nodes, std::move(pod))}));
}

Result<std::string> volcano_manifests(const Plan& plan, const ServingJob& serving) {
  if (const auto able = needs_no_mpi(serving); !able) return fail(able.error());
  std::uint32_t pods = 0;
  for (const ServerGroup& group : serving.groups)
    pods += static_cast<std::uint32_t>(group.replicas * group.nodes());
  return volcano_documents(plan, server_files(plan, serving), pods, serving_tasks(plan, serving));
}

}  // namespace flowplan::exporting
