// From the nodes of a file to a cluster of one instance type.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/topology/import.hpp"

namespace flowplan::topology {
namespace {

Diagnostic bad_import(const Imported& imported, std::string message, std::string hint = {}) {
  return error(Code::bad_cluster, in_file(imported.file), std::move(message), std::move(hint));
}

/// "p5.48xlarge (16), p6-b200.48xlarge (4)" of the file.
std::string types_of(const Imported& imported) {
  std::map<std::string, int> count;
  for (const ImportedNode& node : imported.nodes)
    if (!node.instance_type.empty()) ++count[node.instance_type];
  std::string text;
  for (const auto& [type, nodes] : count)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", type, nodes);
  return text;
}

/// Of the first node whose type the catalog does not have, where it stands in the file.
Diagnostic unknown_type(const catalog::Catalog& catalog, const Imported& imported) {
  const auto first =
      std::find_if(imported.nodes.begin(), imported.nodes.end(), [&](const ImportedNode& node) {
        return !node.instance_type.empty() && !catalog.instance(node.instance_type);
      });
  Diagnostic fault = catalog.instance(first->instance_type).error().front();
  return error(Code::value_not_allowed, first->place, std::move(fault.message),
               std::move(fault.hint));
}

/// The instance type to take from the file: the one asked for, or the only one that the catalog
/// has.
Result<const catalog::Instance*> type_to_take(const catalog::Catalog& catalog,
                                              const Imported& imported, const std::string& wanted) {
  if (!wanted.empty()) {
    auto instance = catalog.instance(wanted);
    if (!instance || (*instance)->instances == 1) return instance;
    return catalog.instance((*instance)->member);
  }
  std::set<std::string> known, all;
  for (const ImportedNode& node : imported.nodes) {
    if (node.instance_type.empty()) continue;
    all.insert(node.instance_type);
    if (catalog.instance(node.instance_type)) known.insert(node.instance_type);
  }
  if (all.empty())
    return fail(bad_import(imported, "the file does not say of which type the nodes are",
                           "give --instance, for example p5.48xlarge"));
  if (known.empty()) return fail(unknown_type(catalog, imported));
  if (known.size() > 1)
    return fail(bad_import(imported, fmt::format("nodes of several types: {}", types_of(imported)),
                           "choose one with --instance"));
  return catalog.instance(*known.begin());
}

/// Nodes of an NVLink domain: 1, or those of the UltraServer that holds what the file lists.
Result<std::uint32_t> domain_size(const catalog::Catalog& catalog, const Imported& imported,
                                  const catalog::Instance& instance, const std::string& wanted,
                                  std::uint32_t listed) {
  if (instance.nvlink_domain_gpus <= instance.gpus) return 1u;
  std::vector<std::uint32_t> sizes;
  if (const auto unit = catalog.instance(wanted.empty() ? instance.id : wanted);
      unit && (*unit)->instances > 1) {
    sizes.push_back(static_cast<std::uint32_t>((*unit)->instances));
  } else {
    for (const std::string& id : instance.only_in)
      if (const auto of = catalog.instance(id))
        sizes.push_back(static_cast<std::uint32_t>((*of)->instances));
  }
  if (sizes.empty())
    sizes.push_back(static_cast<std::uint32_t>(instance.nvlink_domain_gpus / instance.gpus));
  std::sort(sizes.begin(), sizes.end());
  const auto fits = std::lower_bound(sizes.begin(), sizes.end(), listed);
  if (fits != sizes.end()) return *fits;
  return fail(bad_import(imported, fmt::format("an UltraServer lists {} nodes of {}, which has {}",
                                               listed, instance.id, sizes.back())));
}

/// Builds the wiring of the nodes of one type.
class Wirer {
 public:
  Wirer(const catalog::Catalog& catalog, const Imported& imported,
        const catalog::Instance& instance)
      : catalog_(catalog), imported_(imported), instance_(instance) {
    for (const ImportedNode& node : imported.nodes)
      if (takes(node)) nodes_.push_back(&node);
  }

  Result<Wiring> wire(const std::string& wanted) {
    if (nodes_.empty())
      return fail(bad_import(imported_, fmt::format("no node of type {}", instance_.id),
                             "the file has " + types_of(imported_)));
    if (nodes_.size() < imported_.nodes.size())
      notes_.push_back(fmt::format("Of {} nodes, the {} of type {} are taken.",
                                   imported_.nodes.size(), nodes_.size(), instance_.id));
    if (auto checked = check_depths(); !checked) return fail(checked.error());
    spans_nodes_ = instance_.nvlink_domain_gpus > instance_.gpus;
    if (auto known = check_domains(); !known) return fail(known.error());
    find_domains();
    std::uint32_t most = 1;
    for (const auto& [name, members] : domains_)
      most = std::max(most, static_cast<std::uint32_t>(members.size()));
    const auto size = domain_size(catalog_, imported_, instance_, wanted, most);
    if (!size) return fail(size.error());
    wiring_.nodes_per_domain = *size;
    if (auto parents = find_parents(); !parents) return fail(parents.error());
    order_domains();
    for (const std::size_t domain : order_)
      add_domain(domains_[domain]);
    for (const ImportedNode* node : nodes_)
      if (node->trouble.empty()) wiring_.listed.push_back(position_.at(node));
    note_what_is_assumed();
    if (wiring_.listed.empty())
      return fail(bad_import(imported_, "no node takes ranks",
                             fmt::format("the first one is {}", nodes_.front()->trouble)));
    wiring_.notes = imported_.notes;
    wiring_.notes.insert(wiring_.notes.end(), notes_.begin(), notes_.end());
    return std::move(wiring_);
  }

 private:
  using Domain = std::pair<std::string, std::vector<const ImportedNode*>>;

  bool takes(const ImportedNode& node) const {
    if (node.instance_type.empty() || node.instance_type == instance_.id) return true;
    const auto same = catalog_.instance(node.instance_type);
    return same && *same == &instance_;
  }

  /// All nodes name equally many switches.
  Result<void> check_depths() {
    Diagnostics faults;
    depth_ = nodes_.front()->switches.size();
    for (const ImportedNode* node : nodes_)
      if (node->switches.size() != depth_)
        faults.push_back(error(Code::bad_cluster, node->place,
                               fmt::format("{} names {} switches above it, {} names {}", node->name,
                                           node->switches.size(), nodes_.front()->name, depth_),
                               "nodes of one type stand below equally many layers"));
    if (!faults.empty()) return fail(std::move(faults));
    if (depth_ == 0 && imported_.format != ImportFormat::slurm_conf &&
        imported_.format != ImportFormat::slurm_yaml)
      return fail(error(Code::bad_cluster, nodes_.front()->place,
                        fmt::format("{} names no switch above it", nodes_.front()->name),
                        "topology.k8s.aws/network-node-layer-N labels are needed"));
    return {};
  }

  /// Which nodes share an UltraServer has to be in the file: a guess decides what is NVLink.
  Result<void> check_domains() {
    if (!spans_nodes_) return {};
    std::size_t bare = 0;
    const ImportedNode* first = nullptr;
    for (const ImportedNode* node : nodes_) {
      if (!node->domain.empty()) continue;
      if (first == nullptr) first = node;
      ++bare;
    }
    if (first == nullptr) return {};
    return fail(error(
        Code::bad_cluster, first->place,
        fmt::format(
            "which nodes share an NVLink domain is not said: {} is a part of an UltraServer, "
            "and {} of {} nodes name none, {} the first",
            instance_.id, bare, nodes_.size(), first->name),
        "Slurm's blocks (BlockName=), CapacityBlockId of EC2's answer or the NVLink domain labels "
        "of Kubernetes do"));
  }

  void find_domains() {
    std::map<std::string, std::size_t> by_name;
    for (const ImportedNode* node : nodes_) {
      if (!spans_nodes_ || node->domain.empty()) {
        domains_.push_back({node->name, {node}});
        continue;
      }
      const auto [at, fresh] = by_name.emplace(node->domain, domains_.size());
      if (fresh) domains_.push_back({node->domain, {}});
      domains_[at->second].second.push_back(node);
    }
  }

  /// Blocks of single servers stand for leaves: they are all that is known.
  [[nodiscard]] std::string leaf_of(const ImportedNode& node) const {
    if (depth_ > 0) return node.switches.back();
    return node.domain.empty() ? "leaf" : node.domain;
  }
  [[nodiscard]] std::string pod_of(const ImportedNode& node) const {
    return depth_ > 1 ? node.switches[depth_ - 2] : std::string("spine0");
  }

  /// A switch hangs below one other.
  Result<void> find_parents() {
    std::map<std::string, const ImportedNode*> first;
    Diagnostics faults;
    for (const ImportedNode* node : nodes_) {
      const auto [at, fresh] = first.emplace(leaf_of(*node), node);
      if (!fresh && pod_of(*at->second) != pod_of(*node))
        faults.push_back(
            error(Code::bad_cluster, node->place,
                  fmt::format("{} is below {} for {} and below {} for {}", leaf_of(*node),
                              pod_of(*at->second), at->second->name, pod_of(*node), node->name)));
    }
    if (!faults.empty()) return fail(std::move(faults));
    return {};
  }

  static std::uint32_t number(std::map<std::string, std::uint32_t>& of, const std::string& name) {
    return of.emplace(name, static_cast<std::uint32_t>(of.size())).first->second;
  }

  /// By pod, then leaf, both in the order in which the file names them.
  void order_domains() {
    std::map<std::string, std::uint32_t> pods, leaves;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> key;
    for (const Domain& domain : domains_) {
      const std::uint32_t pod = number(pods, pod_of(*domain.second.front()));
      key.emplace_back(pod, number(leaves, leaf_of(*domain.second.front())));
    }
    order_.resize(domains_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return key[a] < key[b]; });
  }

  void add_node(const std::string& name, const ImportedNode& like, bool idle) {
    const std::string leaf = leaf_of(like), pod = pod_of(like);
    const std::uint32_t its_leaf = number(leaf_number_, leaf);
    if (its_leaf == wiring_.leaf_name.size()) {
      const std::uint32_t its_pod = number(pod_number_, pod);
      if (its_pod == wiring_.pod_name.size()) wiring_.pod_name.push_back(pod);
      wiring_.leaf_name.push_back(leaf);
      wiring_.pod.push_back(its_pod);
    }
    wiring_.node.push_back(name);
    wiring_.leaf.push_back(its_leaf);
    wiring_.idle.push_back(idle);
  }

  void add_domain(const Domain& domain) {
    for (const ImportedNode* node : domain.second) {
      position_[node] = static_cast<std::uint32_t>(wiring_.node.size());
      add_node(node->name, *node, !node->trouble.empty());
      if (!node->trouble.empty()) ++idle_[node->trouble];
    }
    const std::size_t missing = wiring_.nodes_per_domain - domain.second.size();
    for (std::size_t i = 0; i < missing; ++i)
      add_node(fmt::format("{}.unlisted{}", domain.first, i), *domain.second.front(), true);
    unlisted_ += missing;
  }

  void note_what_is_assumed() {
    for (const auto& [why, count] : idle_)
      notes_.push_back(
          fmt::format("{} node{} no ranks: {}.", count, count == 1 ? " takes" : "s take", why));
    if (unlisted_ > 0)
      notes_.push_back(
          fmt::format("{} nodes of UltraServers are not in the file; they are built, but "
                      "take no ranks.",
                      unlisted_));
    if (depth_ == 0)
      notes_.push_back(
          spans_nodes_ || nodes_.front()->domain.empty()
              ? "The switches above the nodes are not known: each block is taken to be "
                "below a leaf of its own, all leaves in one pod."
              : "Each block is taken for a leaf, all leaves in one pod.");
    if (depth_ <= 2) return;
    std::set<std::string> tops;
    for (const ImportedNode* node : nodes_)
      tops.insert(node->switches.front());
    const std::size_t above = depth_ - 2;
    if (above > 1)
      notes_.push_back(fmt::format("{} layers of switches: the {} above the pods act as one core.",
                                   depth_, above));
    if (tops.size() > 1)
      notes_.push_back(fmt::format(
          "The nodes are below {} top switches; what joins these is taken to be one core.",
          tops.size()));
  }

  const catalog::Catalog& catalog_;
  const Imported& imported_;
  const catalog::Instance& instance_;
  std::vector<std::string> notes_;
  std::vector<const ImportedNode*> nodes_;  ///< those taken, in the order of the file
  std::size_t depth_ = 0;
  bool spans_nodes_ = false;  ///< an NVLink domain does
  std::vector<Domain> domains_;
  std::vector<std::size_t> order_;
  std::map<std::string, std::uint32_t> leaf_number_, pod_number_;
  std::map<const ImportedNode*, std::uint32_t> position_;
  std::map<std::string, int> idle_;
  std::size_t unlisted_ = 0;
  Wiring wiring_;
};

}  // namespace

Result<ClusterSpec> wire(const catalog::Catalog& catalog, const Imported& imported,
                         const std::string& instance) {
  const auto type = type_to_take(catalog, imported, instance);
  if (!type) return fail(type.error());
  auto wiring = Wirer(catalog, imported, **type).wire(instance);
  if (!wiring) return fail(std::move(wiring.error()));
  ClusterSpec spec;
  spec.instance = *type;
  spec.count = static_cast<int>(wiring->node.size());
  spec.wiring = std::make_shared<const Wiring>(std::move(*wiring));
  return spec;
}

}  // namespace flowplan::topology
