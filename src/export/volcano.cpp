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

/// Domains below their leaves where they span nodes, leaves below pods; returns the top tier.
int add_hyper_nodes(const Plan& plan, std::vector<Json>& documents) {
  const SwitchLayers layers = switch_layers(plan);
  int tier = 1;
  for (const SwitchGroup& domain : layers.domain)
    documents.push_back(hyper_node(domain.name, tier, "Node", names_of_nodes(plan, domain.member)));
  if (!layers.domain.empty()) ++tier;
  for (const SwitchGroup& leaf : layers.leaf) {
    std::vector<std::string> members;
    if (layers.domain.empty()) {
      members = names_of_nodes(plan, leaf.member);
    } else {
      for (const SwitchGroup& domain : layers.domain)
        if (layers.leaf_of(domain.member.front()) ==
            static_cast<std::uint32_t>(&leaf - layers.leaf.data()))
          members.push_back(domain.name);
    }
    documents.push_back(
        hyper_node(leaf.name, tier, layers.domain.empty() ? "Node" : "HyperNode", members));
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

Json volcano_job(const Plan& plan, const Launch& launch, int top_tier) {
  Json job = object_of("batch.volcano.sh/v1alpha1", "Job", plan.slug);
  job["spec"]["schedulerName"] = "volcano";
  job["spec"]["minAvailable"] = plan.job_nodes;
  job["spec"]["networkTopology"] = {{"mode", "hard"}, {"highestTierAllowed", top_tier}};
  job["spec"]["plugins"] = {{"svc", Json::array()}, {"env", Json::array()}};
  Json task;
  task["name"] = "workers";
  task["replicas"] = plan.job_nodes;
  task["template"]["spec"] =
      pod_spec(plan, launch, fmt::format("{0}-workers-0.{0}", plan.slug), "$(VC_TASK_INDEX)");
  job["spec"]["tasks"] = Json::array({task});
  return job;
}

}  // namespace

Result<std::string> volcano_manifests(const Plan& plan) {
  const auto launch = launch_of(plan);
  if (!launch) return fail(launch.error());
  std::vector<Json> documents;
  const int top_tier = add_hyper_nodes(plan, documents);
  if (Json files = files_of(plan, *launch); !files.is_null()) documents.push_back(std::move(files));
  documents.push_back(volcano_job(plan, *launch, top_tier));
  return yaml_documents(fmt::format("{}\nVolcano. Put your image and volumes in.", plan.title),
                        documents);
}

}  // namespace flowplan::exporting
