// AWS ParallelCluster 3.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ec2_only.hpp"
#include "flowplan/export/cluster_definition.hpp"
#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

Json queue_of(const Plan& plan) {
  const bool block = is_reserved(plan);
  Json queue;
  queue["Name"] = "train";
  queue["CapacityType"] = block ? "CAPACITY_BLOCK" : plan.purchase == "spot" ? "SPOT" : "ONDEMAND";
  queue["Networking"]["SubnetIds"] = Json::array({"subnet-REPLACE"});
  // The instances of a Capacity Block are placed together as it is.
  if (!block) queue["Networking"]["PlacementGroup"] = {{"Enabled", true}};
  Json resource;
  resource["Name"] = slug_of(plan.node_type->family);
  resource["InstanceType"] = plan.node_type->id;
  resource["MinCount"] = plan.nodes();
  resource["MaxCount"] = plan.nodes();
  if (plan.node_type->efa_version > 0) resource["Efa"] = {{"Enabled", true}};
  if (block) resource["CapacityReservationTarget"] = {{"CapacityReservationId", "cr-REPLACE"}};
  queue["ComputeResources"] = Json::array({resource});
  return queue;
}

}  // namespace

Result<std::vector<WrittenFile>> parallelcluster_files(const Plan& plan) {
  if (const auto able = needs_ec2(plan); !able) return fail(able.error());
  Json cluster;
  cluster["Region"] = plan.region.empty() ? "REPLACE" : plan.region;
  cluster["Image"] = {{"Os", "alinux2023"}};
  cluster["HeadNode"]["InstanceType"] = "m6i.4xlarge";
  cluster["HeadNode"]["Networking"] = {{"SubnetId", "subnet-REPLACE"}};
  cluster["HeadNode"]["LocalStorage"]["RootVolume"] = {
      {"Size", static_cast<int>(plan.defaults->at("head_node.volume_gib"))}};
  cluster["Scheduling"]["Scheduler"] = "slurm";
  cluster["Scheduling"]["SlurmQueues"] = Json::array({queue_of(plan)});
  if (plan.shared) {
    Json lustre{{"StorageCapacity", plan.shared->gib},
                {"DeploymentType", plan.shared->deployment},
                {"PerUnitStorageThroughput", plan.shared->mbytes_per_s_tib}};
    cluster["SharedStorage"] = Json::array({{{"Name", "fsx"},
                                             {"MountDir", "/fsx"},
                                             {"StorageType", "FsxLustre"},
                                             {"FsxLustreSettings", lustre}}});
  }
  return std::vector<WrittenFile>{
      {"cluster.yaml",
       commented(fmt::format("{}\nAWS ParallelCluster 3. Replace what says REPLACE.", plan.title)) +
           yaml_text(cluster)}};
}

}  // namespace flowplan::exporting
