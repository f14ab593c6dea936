#include "switch_tree.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace flowplan::topology {
namespace {

constexpr std::size_t no_parent = static_cast<std::size_t>(-1);

Diagnostic contradiction(const Place& place, std::string message, std::string hint = {}) {
  return error(Code::bad_cluster, place, std::move(message), std::move(hint));
}

std::string stands_at(const Place& place) {
  return place.line > 0 ? fmt::format("first in line {}", place.line) : std::string{};
}

/// Switches with their parents.
class SwitchTree {
 public:
  SwitchTree(const std::vector<ListedSwitch>& switches, Diagnostics& faults)
      : switches_(switches), parent_(switches.size(), no_parent), faults_(faults) {
    for (std::size_t i = 0; i < switches.size(); ++i) {
      const auto [other, fresh] = by_name_.emplace(switches[i].name, i);
      if (!fresh)
        refuse(i, fmt::format("switch {} is named twice", switches[i].name),
               stands_at(switches[other->second].place));
      names_.push_back(switches[i].name);
    }
    for (std::size_t i = 0; i < switches.size(); ++i)
      adopt(i);
    for (std::size_t i = 0; i < switches.size() && !circle_; ++i)
      find_circle(i);
  }

  /// From the top down to this switch.
  [[nodiscard]] std::vector<std::string> path(std::size_t of) const {
    std::vector<std::string> names;
    for (std::size_t at = of; at != no_parent; at = parent_[at])
      names.push_back(switches_[at].name);
    return {names.rbegin(), names.rend()};
  }

 private:
  void refuse(std::size_t at, std::string message, std::string hint = {}) {
    faults_.push_back(contradiction(switches_[at].place, std::move(message), std::move(hint)));
  }

  void adopt(std::size_t parent) {
    const ListedSwitch& entry = switches_[parent];
    if (entry.children.empty() == entry.nodes.empty())
      refuse(parent, fmt::format("switch {} has {}", entry.name,
                                 entry.nodes.empty() ? "nothing below it"
                                                     : "both nodes and switches below it"));
    for (const std::string& name : entry.children) {
      const auto child = by_name_.find(name);
      if (child == by_name_.end()) {
        refuse(parent, fmt::format("switch {} is not described", name), suggest(name, names_));
      } else if (parent_[child->second] != no_parent && parent_[child->second] != parent) {
        refuse(parent, fmt::format("switch {} is below both {} and {}", name,
                                   switches_[parent_[child->second]].name, entry.name));
      } else {
        parent_[child->second] = parent;
      }
    }
  }

  /// Going up must end.
  void find_circle(std::size_t from) {
    std::size_t at = from;
    for (std::size_t steps = 0; at != no_parent; ++steps, at = parent_[at])
      if (steps > switches_.size()) {
        circle_ = true;
        return refuse(at, fmt::format("switch {} is below itself", switches_[at].name));
      }
  }

  const std::vector<ListedSwitch>& switches_;
  std::vector<std::size_t> parent_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<std::string> names_;
  Diagnostics& faults_;
  bool circle_ = false;
};

/// Each node once.
class NodeList {
 public:
  explicit NodeList(Diagnostics& faults) : faults_(faults) {}

  ImportedNode* add(const std::string& name, const ListedSwitch& below) {
    const auto [other, fresh] = where_.emplace(name, &below);
    if (!fresh) {
      faults_.push_back(
          contradiction(below.place, other->second == &below
                                         ? fmt::format("{} lists node {} twice", below.name, name)
                                         : fmt::format("node {} is below both {} and {}", name,
                                                       other->second->name, below.name)));
      return nullptr;
    }
    ImportedNode node;
    node.name = name;
    node.place = below.place;
    nodes_.push_back(std::move(node));
    return &nodes_.back();
  }
  [[nodiscard]] std::vector<ImportedNode> take() { return std::move(nodes_); }

 private:
  std::map<std::string, const ListedSwitch*, std::less<>> where_;
  std::vector<ImportedNode> nodes_;
  Diagnostics& faults_;
};

}  // namespace

Result<std::vector<ImportedNode>> nodes_of_tree(const std::vector<ListedSwitch>& switches) {
  Diagnostics faults;
  const SwitchTree tree(switches, faults);
  if (!faults.empty()) return fail(std::move(faults));
  NodeList nodes(faults);
  for (std::size_t i = 0; i < switches.size(); ++i) {
    const std::vector<std::string> path = tree.path(i);
    for (const std::string& name : switches[i].nodes)
      if (ImportedNode* node = nodes.add(name, switches[i])) node->switches = path;
  }
  if (!faults.empty()) return fail(std::move(faults));
  return nodes.take();
}

Result<std::vector<ImportedNode>> nodes_of_blocks(const std::vector<ListedSwitch>& blocks) {
  Diagnostics faults;
  std::map<std::string, const ListedSwitch*, std::less<>> seen;
  NodeList nodes(faults);
  for (const ListedSwitch& block : blocks) {
    const auto [other, fresh] = seen.emplace(block.name, &block);
    if (!fresh)
      faults.push_back(contradiction(block.place,
                                     fmt::format("block {} is named twice", block.name),
                                     stands_at(other->second->place)));
    if (block.nodes.empty())
      faults.push_back(
          contradiction(block.place, fmt::format("block {} has no nodes", block.name)));
    for (const std::string& name : block.nodes)
      if (ImportedNode* node = nodes.add(name, block)) node->domain = block.name;
  }
  if (!faults.empty()) return fail(std::move(faults));
  return nodes.take();
}

}  // namespace flowplan::topology
