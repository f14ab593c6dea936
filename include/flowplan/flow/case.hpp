#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/flow/flow_set.hpp"
#include "flowplan/flow/name_table.hpp"
#include "flowplan/flow/task_graph.hpp"

namespace flowplan::flow {

/// A graph with flows on it, as `flowplan flow` replays it: read from a file or generated.
struct Case {
  std::string name, about;
  NameTable nodes;
  Network network;
  std::vector<std::uint32_t> link_from, link_to;  ///< per link: nodes
  NameTable own_link_names;                       ///< per link or none at all; may be empty texts
  FlowSet flows;
  std::vector<std::uint32_t> flow_source, flow_target;  ///< per flow: nodes
  NameTable own_flow_names;                             ///< per flow or none at all: numbers
  /// Tasks own runs of `flows` as in a `TaskGraph`; every flow has one. Without tasks all flows are
  /// released at 0.
  std::vector<TaskGraph::Task> tasks;
  std::vector<std::pair<TaskId, TaskId>> dependencies;

  /// Its own name, else "from->to".
  [[nodiscard]] std::string link_name(std::size_t link) const;
  /// As the file spells it, else its number.
  [[nodiscard]] std::string flow_name(std::size_t flow) const;
  /// Tasks, dependencies and a copy of the flows.
  [[nodiscard]] TaskGraph task_graph() const;
};

}  // namespace flowplan::flow
