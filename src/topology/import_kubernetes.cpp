// Kubernetes nodes by their labels: kubectl get nodes -o yaml, or -o json, which YAML contains.
#include <set>

#include <fmt/format.h>

#include "import_readers.hpp"
#include "yaml_reader.hpp"

namespace flowplan::topology {
namespace {

constexpr int most_layers = 8;
constexpr const char* clique_label = "nvidia.com/gpu.clique";
constexpr const char* health_label = "sagemaker.amazonaws.com/node-health-status";

std::string layer_label(int layer) {
  return fmt::format("topology.k8s.aws/network-node-layer-{}", layer);
}

class KubernetesReader : YamlReader {
 public:
  KubernetesReader(const std::string& text, const std::string& file) : YamlReader(text, file) {
    imported_.format = ImportFormat::kubernetes;
    imported_.file = file;
    const std::vector<YAML::Node> documents = load(text);
    for (std::size_t i = 0; i < documents.size(); ++i)
      read_document(documents[i], documents.size() > 1 ? fmt::format("/{}", i) : std::string{});
    if (faults_.empty() && imported_.nodes.empty())
      faults_.push_back(error(Code::bad_cluster, places_.at(1), "no node is listed",
                              "the answer of `kubectl get nodes -o yaml` or `-o json`"));
  }

  Result<Imported> take() {
    if (!faults_.empty()) return fail(std::move(faults_));
    return std::move(imported_);
  }

 private:
  void read_document(const YAML::Node& document, const std::string& pointer) {
    if (!document.IsDefined() || document.IsNull()) return;
    if (!document.IsMap())
      return refuse(Code::wrong_type, document, pointer, "a Kubernetes object must have keys");
    const std::string kind = scalar(document, pointer, "kind");
    if (kind == "Node") return read_node(document, pointer);
    if (kind != "List" && kind != "NodeList")
      return refuse(Code::value_not_allowed, document, pointer,
                    fmt::format("an object of kind `{}`", kind), "Node, NodeList or List of nodes");
    const YAML::Node items = child(document, pointer, "items");
    if (!items.IsDefined() || !items.IsSequence())
      return refuse(Code::missing_key, document, pointer, "items must be a list of nodes");
    for (std::size_t i = 0; i < items.size(); ++i)
      read_item(items[i], kind, fmt::format("{}/items/{}", pointer, i));
  }

  void read_item(const YAML::Node& item, const std::string& list, const std::string& pointer) {
    if (!item.IsMap()) return refuse(Code::wrong_type, item, pointer, "a node must have keys");
    const std::string kind = scalar(item, pointer, "kind");
    if (kind != "Node" && !(kind.empty() && list == "NodeList"))
      return refuse(Code::value_not_allowed, item, pointer,
                    fmt::format("an object of kind `{}`", kind), "only nodes are read");
    read_node(item, pointer);
  }

  void read_node(const YAML::Node& object, const std::string& pointer) {
    const YAML::Node metadata = child(object, pointer, "metadata");
    ImportedNode node;
    if (metadata.IsDefined()) node.name = scalar(metadata, pointer + "/metadata", "name");
    if (node.name.empty())
      return refuse(Code::missing_key, object, pointer, "metadata.name is missing");
    node.place = place(object, pointer);
    if (!seen_.insert(node.name).second)
      refuse(Code::bad_cluster, object, pointer, fmt::format("node {} is listed twice", node.name));
    const YAML::Node labels = child(metadata, pointer + "/metadata", "labels");
    if (labels.IsDefined() && labels.IsMap())
      read_labels(labels, pointer + "/metadata/labels", node);
    if (scalar_of(object, pointer, "spec", "unschedulable") == "true") node.trouble = "cordoned";
    read_readiness(object, pointer, node);
    imported_.nodes.push_back(std::move(node));
  }

  std::string scalar_of(const YAML::Node& object, const std::string& pointer,
                        const std::string& section, const std::string& key) {
    const YAML::Node part = child(object, pointer, section);
    return part.IsDefined() && part.IsMap() ? scalar(part, pointer + "/" + section, key)
                                            : std::string{};
  }

  void read_labels(const YAML::Node& labels, const std::string& pointer, ImportedNode& node) {
    node.instance_type = scalar(labels, pointer, instance_type_label);
    node.domain = scalar(labels, pointer, ultraserver_label);
    if (node.domain.empty()) node.domain = scalar(labels, pointer, clique_label);
    const std::string health = scalar(labels, pointer, health_label);
    if (!health.empty() && health != "Schedulable") node.trouble = health;
    int missing = 0;
    for (int layer = 1; layer <= most_layers; ++layer) {
      const std::string value = scalar(labels, pointer, layer_label(layer));
      if (value.empty()) {
        if (missing == 0) missing = layer;
        continue;
      }
      if (missing > 0)
        return refuse(Code::missing_key, labels, pointer,
                      fmt::format("{} has the label of layer {} but not of layer {}", node.name,
                                  layer, missing));
      node.switches.push_back(value);
    }
  }

  void read_readiness(const YAML::Node& object, const std::string& pointer, ImportedNode& node) {
    const YAML::Node status = child(object, pointer, "status");
    if (!status.IsDefined() || !status.IsMap()) return;
    const YAML::Node conditions = child(status, pointer + "/status", "conditions");
    if (!conditions.IsDefined() || !conditions.IsSequence()) return;
    for (std::size_t i = 0; i < conditions.size(); ++i) {
      const std::string at = fmt::format("{}/status/conditions/{}", pointer, i);
      if (conditions[i].IsMap() && scalar(conditions[i], at, "type") == "Ready" &&
          scalar(conditions[i], at, "status") != "True")
        node.trouble = "not ready";
    }
  }

  Imported imported_;
  std::set<std::string> seen_;
};

}  // namespace

Result<Imported> read_kubernetes(const std::string& text, const std::string& file) {
  return KubernetesReader(text, file).take();
}

}  // namespace flowplan::topology
