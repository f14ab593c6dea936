#include "flowplan/collective/shape.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

namespace flowplan::collective {
namespace {

Diagnostic bad_group(std::string message, std::string hint = {}) {
  return error(Code::bad_placement, std::move(message), std::move(hint));
}

}  // namespace

Members members_of(const Group& group, const topology::Cluster& cluster) {
  Members members;
  std::unordered_map<std::uint32_t, std::size_t> node_of;  // domain -> index into `members`
  for (const topology::GpuId gpu : group) {
    const auto [entry, fresh] = node_of.try_emplace(cluster.domain_of(gpu), members.size());
    if (fresh) members.emplace_back();
    members[entry->second].push_back(gpu);
  }
  return members;
}

Shape shape_of(const Members& members) {
  Shape shape;
  shape.nodes = static_cast<int>(members.size());
  for (const Group& node : members) {
    shape.ranks += static_cast<int>(node.size());
    shape.per_node = std::max(shape.per_node, static_cast<int>(node.size()));
  }
  return shape;
}

Result<void> check_groups(const std::vector<Group>& groups, const topology::Cluster& cluster) {
  if (groups.empty()) return fail(bad_group("a collective needs a group of ranks"));
  Diagnostics faults;
  std::vector<bool> taken(cluster.gpus());
  for (const Group& group : groups) {
    if (group.size() < 2) {
      faults.push_back(bad_group("a collective needs at least two ranks"));
    } else if (group.size() != groups.front().size()) {
      faults.push_back(bad_group(fmt::format("groups differ in size: {} and {} ranks",
                                             groups.front().size(), group.size())));
    }
    for (const topology::GpuId gpu : group) {
      const std::uint32_t id = topology::index(gpu);
      if (id >= cluster.gpus()) {
        faults.push_back(bad_group(fmt::format("gpu{} is not in the cluster", id),
                                   fmt::format("it has {} GPUs", cluster.gpus())));
      } else if (taken[id]) {
        faults.push_back(bad_group(fmt::format("gpu{} is in two places of the groups", id)));
      } else {
        taken[id] = true;
      }
    }
    if (!faults.empty()) return fail(std::move(faults));
  }
  return {};
}

}  // namespace flowplan::collective
