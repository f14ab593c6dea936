#pragma once

#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/collective/operation.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::collective {

/// The ranks of one communicator, in rank order.
using Group = std::vector<topology::GpuId>;

/// What decides a communicator's time apart from its links. A "node" is an NVLink domain: a server,
/// or a whole UltraServer.
struct Shape {
  int ranks = 0;
  int nodes = 0;     ///< NVLink domains that it touches
  int per_node = 0;  ///< its ranks in a domain; the largest when domains differ

  bool operator==(const Shape&) const = default;
};

/// A communicator's ranks by NVLink domain, in the order in which its rings and trees visit them:
/// domains by their first rank, ranks in rank order.
using Members = std::vector<Group>;
[[nodiscard]] Members members_of(const Group& group, const topology::Cluster& cluster);
[[nodiscard]] Shape shape_of(const Members& members);

/// Errors FP061: no group, a GPU that the cluster does not have, a group of fewer than two ranks, a
/// GPU named twice, groups of different sizes.
[[nodiscard]] Result<void> check_groups(const std::vector<Group>& groups,
                                        const topology::Cluster& cluster);

}  // namespace flowplan::collective
