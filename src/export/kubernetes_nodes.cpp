#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/export/kubernetes.hpp"
#include "pods.hpp"
#include "switches.hpp"
#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

/// Network layers of an instance type that does not say how many EC2 reports.
constexpr int usual_layers = 3;

}  // namespace

std::vector<std::string> network_labels(const Plan& plan) {
  const catalog::Figure& figure = plan.node_type->network_nodes;
  const int layers = figure ? static_cast<int>(figure.value) : usual_layers;
  std::vector<std::string> labels;
  for (int layer = 1; layer <= layers; ++layer)
    labels.push_back(fmt::format("topology.k8s.aws/network-node-layer-{}", layer));
  return labels;
}

std::string kubernetes_nodes(const Plan& plan) {
  using Json = nlohmann::ordered_json;
  const SwitchLayers layers = switch_layers(plan);
  const std::vector<std::string> labels = network_labels(plan);
  Json list{{"apiVersion", "v1"}, {"kind", "List"}, {"items", Json::array()}};
  for (std::uint32_t node = 0; node < plan.nodes(); ++node) {
    Json one = object_of("v1", "Node", plan.node[node]);
    Json& names = one["metadata"]["labels"];
    names[hostname_label] = plan.node[node];
    names[instance_type_label] = plan.node_type->id;
    // The last layer is the nearest: the leaf; above the pod there is one core.
    for (std::size_t layer = 0; layer < labels.size(); ++layer) {
      const std::size_t above = labels.size() - 1 - layer;
      names[labels[layer]] =
          above == 0 ? layers.leaf[layers.leaf_of(node)].name
          : above == 1 && !layers.pod.empty()
              ? layers.pod[layers.pod_of(node)].name
              : std::string(above == 1 ? "pod0" : fmt::format("core{}", above - 2));
    }
    if (!layers.domain.empty())
      names[ultraserver_label] = layers.domain[node / plan.nodes_per_domain()].name;
    one["status"]["allocatable"] = node_limits(plan);
    if (!plan.cluster.takes_ranks(node)) one["spec"]["unschedulable"] = true;
    list["items"].push_back(std::move(one));
  }
  return yaml_text(list);
}

}  // namespace flowplan::exporting
