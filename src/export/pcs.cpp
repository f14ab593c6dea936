// AWS PCS by CloudFormation.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "ec2_only.hpp"
#include "flowplan/export/cluster_definition.hpp"
#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

Json ref(const char* name) {
  return {{"Ref", name}};
}

Json attribute(const char* resource, const char* name) {
  return {{"Fn::GetAtt", {resource, name}}};
}

Result<std::string> size_of(const Plan& plan) {
  const double nodes = plan.nodes();
  for (const auto& [figure, size] : {std::pair{"pcs.small_nodes", "SMALL"},
                                     {"pcs.medium_nodes", "MEDIUM"},
                                     {"pcs.large_nodes", "LARGE"}})
    if (nodes <= plan.defaults->at(figure)) return std::string(size);
  return fail(error(Code::unsupported_feature,
                    fmt::format("AWS PCS has no cluster of {} nodes", plan.nodes()),
                    fmt::format("at most {:.0f}", plan.defaults->at("pcs.large_nodes"))));
}

Json parameters_of(const Plan& plan) {
  const auto parameter = [](const char* type, const char* about) -> Json {
    return {{"Type", type}, {"Description", about}};
  };
  Json parameters;
  parameters["Subnet"] = parameter("AWS::EC2::Subnet::Id", "Of all nodes");
  parameters["SecurityGroup"] =
      parameter("AWS::EC2::SecurityGroup::Id", "Lets its members talk to each other, EFA included");
  parameters["InstanceProfileArn"] = parameter("String", "Named AWSPCS-..., as PCS requires");
  parameters["Image"] = parameter("AWS::EC2::Image::Id", "With the PCS agent, Slurm, driver, EFA");
  if (is_reserved(plan))
    parameters["CapacityReservation"] = parameter("String", "Of the Capacity Block");
  return parameters;
}

/// One interface on every network card; the first also carries IP.
Json interfaces_of(const Plan& plan) {
  Json interfaces = Json::array();
  const int count =
      plan.node_type->efa_version > 0 ? static_cast<int>(plan.node_type->efa_interfaces.value) : 0;
  for (int card = 0; card < std::max(1, count); ++card) {
    Json one{{"NetworkCardIndex", card}, {"DeviceIndex", card == 0 ? 0 : 1}};
    if (count > 0) one["InterfaceType"] = card == 0 ? "efa" : "efa-only";
    one["Groups"] = Json::array({ref("SecurityGroup")});
    interfaces.push_back(std::move(one));
  }
  return interfaces;
}

Json cluster_of(const Plan& plan, const std::string& size) {
  Json cluster;
  cluster["Name"] = plan.slug;
  cluster["Size"] = size;
  cluster["Scheduler"] = {{"Type", "SLURM"}, {"Version", "25.05"}};
  cluster["Networking"] = {{"SubnetIds", Json::array({ref("Subnet")})},
                           {"SecurityGroupIds", Json::array({ref("SecurityGroup")})}};
  return cluster;
}

Json launch_template_of(const Plan& plan) {
  Json data;
  data["NetworkInterfaces"] = interfaces_of(plan);
  if (is_reserved(plan)) {
    data["InstanceMarketOptions"] = {{"MarketType", "capacity-block"}};
    data["CapacityReservationSpecification"]["CapacityReservationTarget"] = {
        {"CapacityReservationId", ref("CapacityReservation")}};
  } else {
    data["Placement"] = {{"GroupName", ref("PlacementGroup")}};
  }
  return {{"LaunchTemplateData", std::move(data)}};
}

Json node_group_of(const Plan& plan) {
  Json group;
  group["Name"] = slug_of(plan.node_type->family);
  group["ClusterId"] = attribute("Cluster", "Id");
  group["AmiId"] = ref("Image");
  group["IamInstanceProfileArn"] = ref("InstanceProfileArn");
  group["SubnetIds"] = Json::array({ref("Subnet")});
  group["InstanceConfigs"] = Json::array({{{"InstanceType", plan.node_type->id}}});
  group["ScalingConfiguration"] = {{"MinInstanceCount", plan.nodes()},
                                   {"MaxInstanceCount", plan.nodes()}};
  group["PurchaseOption"] = is_reserved(plan)         ? "CAPACITY_BLOCK"
                            : plan.purchase == "spot" ? "SPOT"
                                                      : "ONDEMAND";
  group["CustomLaunchTemplate"] = {{"TemplateId", ref("LaunchTemplate")},
                                   {"Version", attribute("LaunchTemplate", "LatestVersionNumber")}};
  return group;
}

Json queue_of_group() {
  Json queue;
  queue["Name"] = "train";
  queue["ClusterId"] = attribute("Cluster", "Id");
  queue["ComputeNodeGroupConfigurations"] =
      Json::array({{{"ComputeNodeGroupId", attribute("Nodes", "Id")}}});
  return queue;
}

Json resources_of(const Plan& plan, const std::string& size) {
  Json resources;
  const auto add = [&](const char* name, const char* type, Json properties) {
    resources[name] = {{"Type", type}, {"Properties", std::move(properties)}};
  };
  add("Cluster", "AWS::PCS::Cluster", cluster_of(plan, size));
  if (!is_reserved(plan))
    add("PlacementGroup", "AWS::EC2::PlacementGroup", {{"Strategy", "cluster"}});
  add("LaunchTemplate", "AWS::EC2::LaunchTemplate", launch_template_of(plan));
  add("Nodes", "AWS::PCS::ComputeNodeGroup", node_group_of(plan));
  add("Queue", "AWS::PCS::Queue", queue_of_group());
  return resources;
}

}  // namespace

Result<std::vector<WrittenFile>> pcs_files(const Plan& plan) {
  if (const auto able = needs_ec2(plan); !able) return fail(able.error());
  const auto size = size_of(plan);
  if (!size) return fail(size.error());
  Json stack;
  stack["AWSTemplateFormatVersion"] = "2010-09-09";
  stack["Description"] = plan.title;
  stack["Parameters"] = parameters_of(plan);
  stack["Resources"] = resources_of(plan, *size);
  return std::vector<WrittenFile>{
      {"pcs.yaml",
       commented(fmt::format("{}\nAWS PCS by CloudFormation.", plan.title)) + yaml_text(stack)}};
}

}  // namespace flowplan::exporting
