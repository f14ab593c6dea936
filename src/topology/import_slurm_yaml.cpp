// Slurm's topology.yaml: a list of topologies, each a tree of switches or blocks of nodes.
#include <fmt/format.h>

#include "flowplan/topology/hostlist.hpp"
#include "import_readers.hpp"
#include "switch_tree.hpp"
#include "yaml_reader.hpp"

namespace flowplan::topology {
namespace {

class SlurmYamlReader : YamlReader {
 public:
  SlurmYamlReader(const std::string& text, const std::string& file) : YamlReader(text, file) {
    imported_.format = ImportFormat::slurm_yaml;
    imported_.file = file;
    const std::vector<YAML::Node> documents = load(text);
    if (!faults_.empty()) return;
    if (documents.size() != 1 || !documents[0].IsSequence() || documents[0].size() == 0) {
      faults_.push_back(error(Code::bad_cluster, places_.at(1),
                              "a topology.yaml is one list of topologies",
                              "- topology: NAME, then tree: or block:"));
      return;
    }
    choose(documents[0]);
  }

  Result<Imported> take() {
    if (!faults_.empty()) return fail(std::move(faults_));
    auto nodes = tree_ ? nodes_of_tree(entries_) : nodes_of_blocks(entries_);
    if (!nodes) return fail(std::move(nodes.error()));
    imported_.nodes = std::move(*nodes);
    return std::move(imported_);
  }

 private:
  /// The cluster's default, else the only one.
  void choose(const YAML::Node& list) {
    std::size_t chosen = 0, defaults = 0;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const std::string pointer = fmt::format("/{}", i);
      if (!list[i].IsMap())
        return refuse(Code::wrong_type, list[i], pointer, "a topology must have keys");
      names.push_back(scalar(list[i], pointer, "topology"));
      if (names.back().empty())
        refuse(Code::missing_key, list[i], pointer, "topology: NAME is missing");
      if (scalar(list[i], pointer, "cluster_default") != "true") continue;
      if (defaults++ == 0) chosen = i;
    }
    if (!faults_.empty()) return;
    if (defaults != 1 && list.size() > 1)
      return refuse(
          Code::bad_cluster, list, "",
          fmt::format("{} of {} topologies are the cluster's default", defaults, list.size()),
          "one needs cluster_default: true");
    for (std::size_t i = 0; i < names.size(); ++i)
      if (i != chosen)
        imported_.notes.push_back(fmt::format(
            "Topology {} is left out: {} is the cluster's default.", names[i], names[chosen]));
    read_topology(list[chosen], fmt::format("/{}", chosen), names[chosen]);
  }

  void read_topology(const YAML::Node& entry, const std::string& pointer, const std::string& name) {
    check_keys(entry, pointer,
               {"topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d"});
    const YAML::Node tree = child(entry, pointer, "tree"), block = child(entry, pointer, "block");
    for (const char* kind : {"flat", "ring", "torus3d"})
      if (child(entry, pointer, kind).IsDefined())
        return refuse(Code::unsupported_feature, entry, pointer + "/" + kind,
                      fmt::format("topology {} is of kind {}, which is not modelled", name, kind),
                      "trees and blocks are");
    if (tree.IsDefined() == block.IsDefined())
      return refuse(Code::missing_key, entry, pointer,
                    fmt::format("topology {} needs tree: or block:", name));
    tree_ = tree.IsDefined();
    if (tree_) return read_list(tree, pointer + "/tree", "switches", "switch", {"switches"});
    read_list(block, pointer + "/block", "blocks", "block", {"blocks", "block_sizes"});
    imported_.notes.push_back("Blocks say nothing of the switches above them.");
  }

  void read_list(const YAML::Node& section, const std::string& pointer, const std::string& list_key,
                 const std::string& name_key, const std::vector<std::string>& keys) {
    if (section.IsMap()) check_keys(section, pointer, keys);
    const YAML::Node list = child(section, pointer, list_key);
    if (!list.IsDefined() || !list.IsSequence() || list.size() == 0)
      return refuse(Code::missing_key, section, pointer,
                    fmt::format("{} must be a list of at least one {}", list_key, name_key));
    for (std::size_t i = 0; i < list.size(); ++i)
      read_entry(list[i], fmt::format("{}/{}/{}", pointer, list_key, i), name_key);
  }

  void read_entry(const YAML::Node& entry, const std::string& pointer,
                  const std::string& name_key) {
    if (!entry.IsMap())
      return refuse(Code::wrong_type, entry, pointer, fmt::format("a {} must have keys", name_key));
    check_keys(entry, pointer,
               tree_ ? std::vector<std::string>{"switch", "children", "nodes"}
                     : std::vector<std::string>{"block", "nodes"});
    ListedSwitch one;
    one.name = scalar(entry, pointer, name_key);
    one.place = place(entry, pointer);
    if (one.name.empty())
      return refuse(Code::missing_key, entry, pointer, fmt::format("{} is missing", name_key));
    one.nodes = hosts(entry, pointer, "nodes");
    one.children = hosts(entry, pointer, "children");
    entries_.push_back(std::move(one));
  }

  std::vector<std::string> hosts(const YAML::Node& entry, const std::string& pointer,
                                 const std::string& key) {
    const std::string text = scalar(entry, pointer, key);
    if (text.empty()) return {};
    auto names = expand_hostlist(text);
    if (names) return std::move(*names);
    for (const Diagnostic& fault : names.error())
      refuse(fault.code, child(entry, pointer, key), pointer + "/" + key, fault.message,
             fault.hint);
    return {};
  }

  Imported imported_;
  std::vector<ListedSwitch> entries_;
  bool tree_ = false;
};

}  // namespace

Result<Imported> read_slurm_yaml(const std::string& text, const std::string& file) {
  return SlurmYamlReader(text, file).take();
}

}  // namespace flowplan::topology
