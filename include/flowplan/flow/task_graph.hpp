#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

/// Index of a task in a `TaskGraph`.
enum class TaskId : std::uint32_t {};
[[nodiscard]] constexpr std::size_t index(TaskId id) {
  return static_cast<std::size_t>(id);
}

/// Work with dependencies: a task starts when the last of its predecessors ended, waits `delay_s`,
/// then runs its flows (each at its own `start_s` after that), and ends with the last of them. A
/// task without flows is a delay. Compute is a flow on SM and HBM links.
struct TaskGraph {
  struct Task {
    std::string name;
    double delay_s = 0.0;          ///< >= 0, finite
    std::uint32_t flow_begin = 0;  ///< [flow_begin, flow_end) of `flows`, which no other task has
    std::uint32_t flow_end = 0;
    std::uint32_t repeat =
        1;  ///< >= 1: the delay and the flows run this often, one after the other
  };
  std::vector<Task> tasks;
  std::vector<std::pair<TaskId, TaskId>> dependencies;  ///< (before, after)
  FlowSet flows;

  /// Adds a task whose flows are those added to `flows` since the previous task.
  TaskId add(std::string name, double delay_s, std::span<const TaskId> after = {},
             std::uint32_t repeat = 1);
};

struct Timeline {
  std::vector<double> start_s, end_s;  ///< per task; start is before the delay
  /// Per flow, in the first run of its task: its end, and the link that held it as in `Completion`.
  /// 0 and `no_link` for a flow of no task.
  std::vector<double> flow_end_s;
  std::vector<LinkId> bottleneck;
  std::vector<double> link_amount;  ///< per link: integral of its load
  double makespan_s = 0.0;          ///< latest end; 0 for an empty graph
  std::uint64_t events = 0;         ///< distinct instants at which some rate was solved
};

/// Runs the graph in one simulation; concurrent tasks share the links max-min fairly. What happens
/// at one instant is taken in the order of task ids, so the result is deterministic. A task that
/// runs alone is simulated once however often it repeats. Errors: FP050 a cycle (the tasks on it
/// are named), FP051 each dependency on a task that does not exist.
[[nodiscard]] Result<Timeline> simulate(const Network& network, const TaskGraph& graph);

}  // namespace flowplan::flow
