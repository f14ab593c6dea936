#pragma once

#include <functional>
#include <span>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/collective/schedule.hpp"
#include "flowplan/flow/flow_set.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::collective {

/// What some flows do to a tier of links.
struct TierLoad {
  topology::Tier tier{};
  flow::LinkId link = flow::no_link;  ///< the busiest of theirs
  Seconds time{};                     ///< that it needs for everything on it
  Bytes carried{};                    ///< payload of these flows, summed over the tier's links
};

/// Shows a visitor the flows of one class; called twice.
using FlowLister = std::function<void(const FlowVisitor&)>;

/// Loads the flows of all classes onto the cluster's links at once. Returns for each class the
/// tiers that it uses, the one that needs longest first: for ever where a link has failed.
///
/// That first time is the largest bytes / rate of the class's flows under max-min fairness when
/// weights are bytes, or an upper bound of it where another class is slower: all flows rise in step
/// until the first link is full, and those on it, the slowest, stay there. So two passes over the
/// flows say what the solver would say of the slowest one (a test holds the two against each
/// other).
[[nodiscard]] std::vector<std::vector<TierLoad>> drain(const topology::Cluster& cluster,
                                                       std::span<const FlowLister> classes);

}  // namespace flowplan::collective
