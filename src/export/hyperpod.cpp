// SageMaker HyperPod: the request of CreateCluster.
#include <nlohmann/json.hpp>

#include "ec2_only.hpp"
#include "flowplan/export/cluster_definition.hpp"

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

Json instance_group(const Plan& plan, const std::string& name, const std::string& type,
                    std::uint32_t count) {
  Json group;
  group["InstanceGroupName"] = name;
  group["InstanceType"] = type;
  group["InstanceCount"] = count;
  group["LifeCycleConfig"] = {{"SourceS3Uri", "s3://REPLACE/lifecycle/"},
                              {"OnCreate", "on_create.sh"}};
  group["ExecutionRole"] = "arn:aws:iam::REPLACE:role/REPLACE";
  group["ThreadsPerCore"] = 1;
  group["InstanceStorageConfigs"] = {
      {{"EbsVolumeConfig",
        {{"VolumeSizeInGB", static_cast<int>(plan.defaults->at("hyperpod.volume_gib"))}}}}};
  return group;
}

}  // namespace

Result<std::vector<WrittenFile>> hyperpod_files(const Plan& plan) {
  if (const auto able = needs_ec2(plan); !able) return fail(able.error());
  Json workers = instance_group(plan, "workers", "ml." + plan.node_type->id, plan.nodes());
  if (is_reserved(plan))
    workers["TrainingPlanArn"] = "arn:aws:sagemaker:REPLACE:training-plan/REPLACE";
  Json cluster;
  cluster["ClusterName"] = plan.slug;
  cluster["InstanceGroups"] = {instance_group(plan, "controller", "ml.m5.4xlarge", 1), workers};
  cluster["VpcConfig"] = {{"SecurityGroupIds", Json::array({"sg-REPLACE"})},
                          {"Subnets", Json::array({"subnet-REPLACE"})}};
  cluster["NodeRecovery"] = "Automatic";

  Json parameters;
  parameters["version"] = "1.0.0";
  parameters["workload_manager"] = "slurm";
  parameters["controller_group"] = "controller";
  parameters["worker_groups"] =
      Json::array({{{"instance_group_name", "workers"}, {"partition_name", "train"}}});
  if (plan.shared) {
    parameters["fsx_dns_name"] = "REPLACE";
    parameters["fsx_mountname"] = "REPLACE";
  }
  return std::vector<WrittenFile>{{"cluster.json", cluster.dump(2) + "\n"},
                                  {"provisioning_parameters.json", parameters.dump(2) + "\n"}};
}

}  // namespace flowplan::exporting
