#include "flowplan/export/cluster_definition.hpp"

#include <functional>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "example_plan.hpp"

namespace flowplan::exporting::cluster_definition_test {

namespace {

std::string with_storage() {
  std::string text = three_pods();
  text.insert(text.rfind('}'), R"(, "storage": {"checkpoint": {"store": {
    "service": "fsx-persistent2-250", "capacity": "19200GiB"}}})");
  return text;
}

}  // namespace

TEST_CASE("ParallelCluster gets queue, EFA, placement and file system") {
  const auto files = parallelcluster_files(plan_from(with_storage())).value();
  const YAML::Node cluster = YAML::Load(text_of(files, "cluster.yaml"));
  CHECK(cluster["Region"].as<std::string>() == "us-east-1");
  CHECK(cluster["Scheduling"]["Scheduler"].as<std::string>() == "slurm");
  const YAML::Node queue = cluster["Scheduling"]["SlurmQueues"][0];
  CHECK(queue["CapacityType"].as<std::string>() == "ONDEMAND");
  CHECK(queue["Networking"]["PlacementGroup"]["Enabled"].as<bool>());
  const YAML::Node resource = queue["ComputeResources"][0];
  CHECK(resource["InstanceType"].as<std::string>() == "p5.48xlarge");
  CHECK(resource["MinCount"].as<int>() == 22);
  CHECK(resource["MaxCount"].as<int>() == 22);
  CHECK(resource["Efa"]["Enabled"].as<bool>());
  const YAML::Node lustre = cluster["SharedStorage"][0]["FsxLustreSettings"];
  CHECK(lustre["StorageCapacity"].as<int>() == 19200);
  CHECK(lustre["DeploymentType"].as<std::string>() == "PERSISTENT_2");
  CHECK(lustre["PerUnitStorageThroughput"].as<int>() == 250);
}

TEST_CASE("UltraServers are reserved, never placed in a group") {
  const Plan plan = plan_from(two_ultraservers());
  const YAML::Node cluster =
      YAML::Load(text_of(parallelcluster_files(plan).value(), "cluster.yaml"));
  const YAML::Node queue = cluster["Scheduling"]["SlurmQueues"][0];
  CHECK(queue["CapacityType"].as<std::string>() == "CAPACITY_BLOCK");
  CHECK_FALSE(queue["Networking"]["PlacementGroup"]);
  CHECK(queue["ComputeResources"][0]["InstanceType"].as<std::string>() == "p6e-gb200.36xlarge");
  CHECK(queue["ComputeResources"][0]["MaxCount"].as<int>() == 36);
}

TEST_CASE("PCS is a template whose references all exist") {
  const YAML::Node stack =
      YAML::Load(text_of(pcs_files(plan_from(three_pods())).value(), "pcs.yaml"));
  const YAML::Node resources = stack["Resources"];
  CHECK(resources["Cluster"]["Properties"]["Size"].as<std::string>() == "SMALL");
  const YAML::Node group = resources["Nodes"]["Properties"];
  CHECK(group["ScalingConfiguration"]["MaxInstanceCount"].as<int>() == 22);
  CHECK(group["InstanceConfigs"][0]["InstanceType"].as<std::string>() == "p5.48xlarge");
  const YAML::Node interfaces =
      resources["LaunchTemplate"]["Properties"]["LaunchTemplateData"]["NetworkInterfaces"];
  CHECK(interfaces.size() == 32);
  CHECK(interfaces[0]["InterfaceType"].as<std::string>() == "efa");
  CHECK(interfaces[31]["NetworkCardIndex"].as<int>() == 31);

  int references = 0;
  const std::function<void(const YAML::Node&)> visit = [&](const YAML::Node& node) {
    if (node.IsMap()) {
      for (const auto& one : node) {
        const std::string key = one.first.as<std::string>();
        std::string name;
        if (key == "Ref") name = one.second.as<std::string>();
        if (key == "Fn::GetAtt") name = one.second[0].as<std::string>();
        if (!name.empty()) {
          ++references;
          CHECK((stack["Parameters"][name] || resources[name]));
        }
        visit(one.second);
      }
    } else if (node.IsSequence()) {
      for (const YAML::Node& one : node)
        visit(one);
    }
  };
  visit(resources);
  CHECK(references > 10);
}

TEST_CASE("HyperPod's request names the group and its type") {
  const auto files = hyperpod_files(plan_from(two_ultraservers())).value();
  const auto cluster = nlohmann::json::parse(text_of(files, "cluster.json"));
  CHECK(cluster["InstanceGroups"][1]["InstanceType"] == "ml.p6e-gb200.36xlarge");
  CHECK(cluster["InstanceGroups"][1]["InstanceCount"] == 36);
  CHECK(cluster["InstanceGroups"][1].contains("TrainingPlanArn"));
  const auto parameters = nlohmann::json::parse(text_of(files, "provisioning_parameters.json"));
  CHECK(parameters["worker_groups"][0]["instance_group_name"] ==
        cluster["InstanceGroups"][1]["InstanceGroupName"]);
}

TEST_CASE("a reference system cannot be ordered") {
  Plan plan = plan_from(three_pods());
  plan.node_type = *shipped_catalog().instance("dgx-h100");
  for (const auto& files : {parallelcluster_files(plan), pcs_files(plan), hyperpod_files(plan)}) {
    REQUIRE_FALSE(files);
    CHECK(files.error().front().code == Code::unsupported_feature);
  }
}

}  // namespace flowplan::exporting::cluster_definition_test
