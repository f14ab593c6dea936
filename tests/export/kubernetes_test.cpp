#include "flowplan/export/kubernetes.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <catch2/catch.hpp>

#include "example_plan.hpp"
#include "flowplan/export/sharded_sweep.hpp"
#include "flowplan/topology/import.hpp"

namespace flowplan::exporting::kubernetes_test {

namespace {

/// Names of GPUs and EFA devices that a container asks for.
YAML::Node limits_of(const YAML::Node& pod) {
  return pod["containers"][0]["resources"]["limits"];
}

std::string word_with(const YAML::Node& command, const std::string& begin) {
  for (const YAML::Node& word : command)
    if (word.as<std::string>().rfind(begin, 0) == 0) return word.as<std::string>();
  return {};
}

}  // namespace

TEST_CASE("nodes with labels are read back as the cluster that they were written from") {
  const Plan plan = plan_from(three_pods());
  const auto imported = topology::read_topology(kubernetes_nodes(plan), "nodes.yaml");
  REQUIRE(imported);
  REQUIRE(imported->nodes.size() == 22);
  CHECK(imported->nodes[9].switches == std::vector<std::string>{"core0", "pod1", "leaf2"});
  const auto spec = topology::wire(shipped_catalog(), *imported, "");
  REQUIRE(spec);
  CHECK(spec->instance->id == "p5.48xlarge");
  for (std::uint32_t node = 0; node < 22; ++node) {
    CHECK(spec->wiring->leaf[node] == node / 4);
    CHECK(spec->wiring->pod[spec->wiring->leaf[node]] == node / 8);
  }
}

TEST_CASE("nodes that were read back are written as before") {
  const Plan plan = plan_from(three_pods());
  const std::string text = kubernetes_nodes(plan);
  const auto imported = topology::read_topology(text, "nodes.yaml");
  REQUIRE(imported);
  const auto spec = topology::wire(shipped_catalog(), *imported, "");
  REQUIRE(spec);
  Plan again = plan;
  again.cluster = topology::Cluster::build(shipped_catalog(), *spec).value();
  CHECK(kubernetes_nodes(again) == text);
}

TEST_CASE("UltraServers are labels too") {
  const auto imported =
      topology::read_topology(kubernetes_nodes(plan_from(two_ultraservers())), "nodes.yaml");
  REQUIRE(imported);
  CHECK(imported->nodes[17].domain == "nvlink0");
  CHECK(imported->nodes[18].domain == "nvlink1");
  const auto spec = topology::wire(shipped_catalog(), *imported, "u-p6e-gb200x72");
  REQUIRE(spec);
  CHECK(spec->wiring->nodes_per_domain == 18);
}

TEST_CASE("Kueue's objects carry the keys of v1beta2 and fit together") {
  const Plan plan = plan_from(three_pods());
  const auto documents = yaml_of(kueue_manifests(plan).value());
  const YAML::Node topology = find_kind(documents, "Topology");
  CHECK(topology["apiVersion"].as<std::string>() == "kueue.x-k8s.io/v1beta2");
  const YAML::Node levels = topology["spec"]["levels"];
  REQUIRE(levels.size() == 4);
  CHECK(levels[0]["nodeLabel"].as<std::string>() == "topology.k8s.aws/network-node-layer-1");
  CHECK(levels[3]["nodeLabel"].as<std::string>() == "kubernetes.io/hostname");

  const YAML::Node flavor = find_kind(documents, "ResourceFlavor");
  CHECK(flavor["spec"]["topologyName"].as<std::string>() ==
        topology["metadata"]["name"].as<std::string>());
  CHECK(flavor["spec"]["nodeLabels"]["node.kubernetes.io/instance-type"].as<std::string>() ==
        "p5.48xlarge");

  const YAML::Node queue = find_kind(documents, "ClusterQueue");
  const YAML::Node group = queue["spec"]["resourceGroups"][0];
  const YAML::Node quota = group["flavors"][0];
  CHECK(quota["name"].as<std::string>() == flavor["metadata"]["name"].as<std::string>());
  REQUIRE(group["coveredResources"].size() == quota["resources"].size());
  for (std::size_t i = 0; i < quota["resources"].size(); ++i)
    CHECK(quota["resources"][i]["name"].as<std::string>() ==
          group["coveredResources"][i].as<std::string>());
  CHECK(quota["resources"][0]["nominalQuota"].as<std::string>() == "176");  // 22 x 8
  CHECK(quota["resources"][1]["nominalQuota"].as<std::string>() == "704");  // 22 x 32

  const YAML::Node local = find_kind(documents, "LocalQueue");
  CHECK(local["spec"]["clusterQueue"].as<std::string>() ==
        queue["metadata"]["name"].as<std::string>());

  const YAML::Node set = find_kind(documents, "JobSet");
  CHECK(set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"].as<std::string>() ==
        local["metadata"]["name"].as<std::string>());
  const YAML::Node job = set["spec"]["replicatedJobs"][0]["template"]["spec"];
  CHECK(job["parallelism"].as<int>() == 22);
  CHECK(job["completions"].as<int>() == 22);
  const YAML::Node pod = job["template"]["spec"];
  CHECK(limits_of(pod)["nvidia.com/gpu"].as<std::string>() == "8");
  CHECK(limits_of(pod)["vpc.amazonaws.com/efa"].as<std::string>() == "32");
  CHECK(word_with(pod["containers"][0]["command"], "--nnodes=") == "--nnodes=22");
  CHECK(word_with(pod["containers"][0]["command"], "$(DATA_PATH)") == "$(DATA_PATH)");
  std::set<std::string> levels_named;
  for (const YAML::Node& level : levels)
    levels_named.insert(level["nodeLabel"].as<std::string>());
  for (const auto& one : job["template"]["metadata"]["annotations"])
    CHECK(levels_named.count(one.second.as<std::string>()) == 1);
}

TEST_CASE("a job on UltraServers asks for its slices of them") {
  const auto documents = yaml_of(kueue_manifests(plan_from(two_ultraservers())).value());
  const YAML::Node notes =
      find_kind(documents, "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
                                    ["metadata"]["annotations"];
  CHECK(notes["kueue.x-k8s.io/podset-slice-required-topology"].as<std::string>() ==
        "topology.k8s.aws/ultraserver-id");
  CHECK(notes["kueue.x-k8s.io/podset-slice-size"].as<std::string>() == "16");
}

TEST_CASE("files that a launch reads come in a ConfigMap") {
  Plan plan = plan_from(three_pods());
  plan.job.framework = "torchtitan";
  plan.job.sharding = training::Sharding::fsdp;
  const auto documents = yaml_of(kueue_manifests(plan).value());
  const YAML::Node files = find_kind(documents, "ConfigMap");
  CHECK(files["data"]["torchtitan.toml"].as<std::string>().find("tensor_parallel_degree = 2") !=
        std::string::npos);
  const YAML::Node pod = find_kind(
      documents, "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"];
  CHECK(word_with(pod["containers"][0]["command"], "/flowplan/") == "/flowplan/torchtitan.toml");
  CHECK(pod["volumes"][1]["configMap"]["name"].as<std::string>() ==
        files["metadata"]["name"].as<std::string>());
}

TEST_CASE("a pod learns its node's number from a field of its own") {
  // A variable that a controller adds comes behind ours, where $(NAME) is not expanded yet.
  Plan plan = plan_from(three_pods());
  plan.job.framework = "maxtext";
  const auto set = find_kind(yaml_of(kueue_manifests(plan).value()), "JobSet");
  const auto job = find_kind(yaml_of(volcano_manifests(plan).value()), "Job");
  for (const auto& [pod, field] :
       {std::pair{set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"],
                  "metadata.annotations['batch.kubernetes.io/job-completion-index']"},
        {job["spec"]["tasks"][0]["template"]["spec"],
         "metadata.annotations['volcano.sh/task-index']"}}) {
    int named = 0;
    for (const YAML::Node& one : pod["containers"][0]["env"])
      if (one["name"].as<std::string>() == "NODE_RANK" && ++named == 1)
        CHECK(one["valueFrom"]["fieldRef"]["fieldPath"].as<std::string>() == field);
    CHECK(named == 1);
  }
}

TEST_CASE("Volcano's HyperNodes are the switches, every node below one of tier 1") {
  for (const auto& [scenario, nodes, tiers] :
       {std::tuple{three_pods(), 22, 3}, {two_ultraservers(), 36, 2}}) {
    const auto documents = yaml_of(volcano_manifests(plan_from(scenario)).value());
    std::map<std::string, int> tier;
    std::set<std::string> below;
    int top = 0;
    for (const YAML::Node& one : documents) {
      if (one["kind"].as<std::string>() != "HyperNode") continue;
      const int own = one["spec"]["tier"].as<int>();
      tier[one["metadata"]["name"].as<std::string>()] = own;
      top = std::max(top, own);
      for (const YAML::Node& member : one["spec"]["members"]) {
        const std::string name = member["selector"]["exactMatch"]["name"].as<std::string>();
        CHECK(below.insert(name).second);  // below one only
        const bool leaf = member["type"].as<std::string>() == "Node";
        CHECK(leaf == (own == 1));
        if (!leaf) CHECK(tier.at(name) == own - 1);  // written before
      }
    }
    CHECK(top >= tiers);
    for (int node = 0; node < nodes; ++node)
      CHECK(below.count("node" + std::to_string(node)) == 1);
    const YAML::Node job = find_kind(documents, "Job");
    CHECK(job["spec"]["networkTopology"]["highestTierAllowed"].as<int>() == top);
    CHECK(job["spec"]["minAvailable"].as<int>() == job["spec"]["tasks"][0]["replicas"].as<int>());
  }
}

TEST_CASE("HyperNodes are read back as the cluster that they were written from") {
  for (const auto& [scenario, instance] :
       {std::pair{three_pods(), "p5.48xlarge"}, {two_ultraservers(), "p6e-gb200.36xlarge"}}) {
    const Plan plan = plan_from(scenario);
    const std::string text = volcano_manifests(plan).value();
    const auto imported = topology::read_topology(text, "volcano.yaml");
    if (!imported) FAIL(render(imported.error()));
    CHECK(imported->format == topology::ImportFormat::volcano);
    REQUIRE(imported->nodes.size() == plan.nodes());
    CHECK(imported->nodes.front().instance_type == instance);
    // The cluster that is built of it is the one that wrote it, the names too.
    const auto spec =
        topology::wire(shipped_catalog(), *imported, plan.cluster.spec().instance->id);
    if (!spec) FAIL(render(spec.error()));
    Plan again = plan;
    again.cluster = topology::Cluster::build(shipped_catalog(), *spec).value();
    CHECK(again.nodes() == plan.nodes());
    CHECK(again.nodes_per_domain() == plan.nodes_per_domain());
    const std::string second = volcano_manifests(again).value();
    CHECK(second == text);
  }
  const auto three =
      topology::read_topology(volcano_manifests(plan_from(three_pods())).value(), "v");
  CHECK(three.value().nodes[9].switches == std::vector<std::string>{"core", "pod1", "leaf2"});
  const auto two =
      topology::read_topology(volcano_manifests(plan_from(two_ultraservers())).value(), "v");
  CHECK(two.value().nodes[17].domain == "nvlink0");
  CHECK(two.value().nodes[18].domain == "nvlink1");
}

TEST_CASE("a sweep's shards learn which they are from the scheduler") {
  const ShardedSweep sweep{"scenario.json", "a-sweep", 4, {"--vary", "name=it's"}};
  const std::string script = slurm_array(sweep);
  CHECK(script.find("#SBATCH --array=0-3\n") != script.npos);
  // What was typed reaches the shards as one word each, whatever is in it.
  CHECK(script.find(R"(sweep "scenario.json" '--vary' 'name=it'\''s' -o)") != script.npos);
  const auto documents = yaml_of(indexed_job(sweep, "{\"a\": \"b\"}\n"));
  const YAML::Node job = find_kind(documents, "Job");
  CHECK(job["spec"]["completions"].as<int>() == 4);
  CHECK(job["spec"]["completionMode"].as<std::string>() == "Indexed");
  const YAML::Node variable = job["spec"]["template"]["spec"]["containers"][0]["env"][0];
  CHECK(variable["name"].as<std::string>() == "JOB_COMPLETION_COUNT");
  CHECK(variable["value"].as<std::string>() == "4");
  CHECK(find_kind(documents, "ConfigMap")["data"]["scenario.json"].as<std::string>() ==
        "{\"a\": \"b\"}\n");
}

}  // namespace flowplan::exporting::kubernetes_test
