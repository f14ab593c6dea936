#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "communicators.hpp"
#include "flowplan/replay/simulate.hpp"
#include "kinds.hpp"

namespace flowplan::replay {

/// A node of the whole job: of one rank, or what several ranks do together.
struct JobNode {
  const Node* first = nullptr;  ///< the node of its first rank
  std::vector<std::uint32_t> ranks;
  std::optional<std::uint32_t> kind;  ///< of an exchange that takes time
  double seconds = 0.0;               ///< of everything else
  std::vector<std::uint32_t> after;   ///< job nodes
  std::uint64_t order = 0;            ///< least place in a rank's file

  [[nodiscard]] bool exchanges() const {
    return first->work == Work::collective || first->work == Work::send ||
           first->work == Work::receive;
  }
};

/// The graphs of all ranks joined where they exchange, in an order in which each node comes after
/// those that it waits for, its streams' included.
struct JobGraph {
  std::vector<JobNode> nodes;
  std::vector<std::string> notes;
};

/// Errors as `simulate`.
[[nodiscard]] Result<JobGraph> join(const ExecutionTrace& trace, const catalog::Gpu& gpu,
                                    const topology::Placement& placement,
                                    const Communicators& communicators,
                                    const ReplayOptions& options, Kinds& kinds);

}  // namespace flowplan::replay
