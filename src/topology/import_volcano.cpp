// Volcano's HyperNodes (topology.volcano.sh/v1alpha1): a tree of switches, and of UltraServers
// where a HyperNode has their label. Other objects of the file are not looked at.
#include <map>

#include <fmt/format.h>

#include "import_readers.hpp"
#include "switch_tree.hpp"
#include "yaml_reader.hpp"

namespace flowplan::topology {
namespace {

/// A HyperNode's labels that say what its nodes are.
struct HyperNodeLabels {
  std::string instance_type, ultraserver;
};

class VolcanoReader : YamlReader {
 public:
  VolcanoReader(const std::string& text, const std::string& file) : YamlReader(text, file) {
    imported_.format = ImportFormat::volcano;
    imported_.file = file;
    const std::vector<YAML::Node> documents = load(text);
    for (std::size_t i = 0; i < documents.size(); ++i)
      read_object(documents[i], documents.size() > 1 ? fmt::format("/{}", i) : std::string{});
    if (faults_.empty() && switches_.empty())
      faults_.push_back(error(Code::bad_cluster, places_.at(1), "no HyperNode is listed",
                              "the answer of `kubectl get hypernodes -o yaml` or `-o json`"));
  }

  Result<Imported> take() {
    if (!faults_.empty()) return fail(std::move(faults_));
    auto nodes = nodes_of_tree(switches_);
    if (!nodes) return fail(std::move(nodes.error()));
    imported_.nodes = std::move(*nodes);
    for (ImportedNode& node : imported_.nodes)
      name_machine(node);
    return std::move(imported_);
  }

 private:
  void read_object(const YAML::Node& object, const std::string& pointer) {
    if (!object.IsDefined() || object.IsNull()) return;
    if (!object.IsMap())
      return refuse(Code::wrong_type, object, pointer, "a Kubernetes object must have keys");
    const std::string kind = scalar(object, pointer, "kind");
    if (kind == "HyperNode") return read_hyper_node(object, pointer);
    if (kind != "List" && kind != "HyperNodeList") return;
    const YAML::Node items = child(object, pointer, "items");
    if (!items.IsDefined() || !items.IsSequence())
      return refuse(Code::missing_key, object, pointer, "items must be a list of HyperNodes");
    for (std::size_t i = 0; i < items.size(); ++i)
      read_object(items[i], fmt::format("{}/items/{}", pointer, i));
  }

  void read_hyper_node(const YAML::Node& object, const std::string& pointer) {
    const YAML::Node metadata = child(object, pointer, "metadata");
    ListedSwitch one;
    one.place = place(object, pointer);
    if (metadata.IsDefined()) one.name = scalar(metadata, pointer + "/metadata", "name");
    if (one.name.empty())
      return refuse(Code::missing_key, object, pointer, "metadata.name is missing");
    const YAML::Node labels = child(metadata, pointer + "/metadata", "labels");
    HyperNodeLabels said;
    if (labels.IsDefined() && labels.IsMap()) {
      said.instance_type = scalar(labels, pointer + "/metadata/labels", instance_type_label);
      said.ultraserver = scalar(labels, pointer + "/metadata/labels", ultraserver_label);
    }
    labels_.emplace(one.name, std::move(said));
    const YAML::Node spec = child(object, pointer, "spec");
    const YAML::Node members = child(spec, pointer + "/spec", "members");
    if (!members.IsDefined() || !members.IsSequence() || members.size() == 0)
      return refuse(Code::missing_key, object, pointer,
                    fmt::format("spec.members of {} must be a list of at least one", one.name));
    for (std::size_t i = 0; i < members.size(); ++i)
      read_member(members[i], fmt::format("{}/spec/members/{}", pointer, i), one);
    switches_.push_back(std::move(one));
  }

  void read_member(const YAML::Node& member, const std::string& pointer, ListedSwitch& of) {
    if (!member.IsMap())
      return refuse(Code::wrong_type, member, pointer, "a member must have keys");
    const std::string type = scalar(member, pointer, "type");
    if (type != "Node" && type != "HyperNode")
      return refuse(Code::value_not_allowed, member, pointer,
                    fmt::format("a member of type `{}`", type), "Node or HyperNode");
    const YAML::Node selector = child(member, pointer, "selector");
    const YAML::Node exact = child(selector, pointer + "/selector", "exactMatch");
    std::string name;
    if (exact.IsDefined()) name = scalar(exact, pointer + "/selector/exactMatch", "name");
    if (name.empty())
      return refuse(Code::unsupported_feature, member, pointer,
                    fmt::format("a member of {} is not named: which nodes a pattern or a label "
                                "matches, the cluster knows",
                                of.name),
                    "selector.exactMatch.name");
    (type == "Node" ? of.nodes : of.children).push_back(std::move(name));
  }

  /// The nearest HyperNode says the type, and whether it is an UltraServer and no switch.
  void name_machine(ImportedNode& node) const {
    const HyperNodeLabels& said = labels_.at(node.switches.back());
    node.instance_type = said.instance_type;
    if (said.ultraserver.empty()) return;
    node.domain = said.ultraserver;
    node.switches.pop_back();
  }

  Imported imported_;
  std::vector<ListedSwitch> switches_;
  std::map<std::string, HyperNodeLabels, std::less<>> labels_;
};

}  // namespace

Result<Imported> read_volcano(const std::string& text, const std::string& file) {
  return VolcanoReader(text, file).take();
}

}  // namespace flowplan::topology
