#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace flowplan::inference {

using RequestId = std::uint32_t;  ///< index into `Workload::requests`

/// Prefix blocks first, first + 1, ..., first + count - 1. Requests whose leading blocks have equal
/// ids have equal leading tokens, so the KV of one serves the other.
struct BlockRun {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

inline constexpr std::uint32_t no_join = std::numeric_limits<std::uint32_t>::max();

/// One request as its client sends it.
struct Request {
  double arrival_s = 0.0;  ///< when sent; of requests that a join releases: unused
  std::uint32_t input_tokens = 0;
  std::uint32_t output_tokens = 0;  ///< as generated, >= 1
  std::uint32_t first_run = 0;      ///< its prefix blocks, in `Workload::runs`
  std::uint16_t run_count = 0;
  std::uint16_t adapter = 0;  ///< LoRA adapter, from 1; 0: none
};

/// When `waits_for` requests have signalled, the requests [first, first + count) are sent after a
/// delay: the next turn of a session, the branches of a tree.
struct Join {
  std::uint32_t waits_for = 1;
  RequestId first = 0;
  std::uint32_t count = 0;
  double delay_s = 0.0;    ///< thinking, tools, a verifier
  bool ends_task = false;  ///< what it releases, in a closed loop: the next task too
};

/// Joins that a request signals; a refused request signals both at once.
struct Signals {
  std::uint32_t at_first_token = no_join;
  std::uint32_t at_finish = no_join;
};

/// Requests and what they wait for. A task is a root request and all that follows from it (a
/// session, a tree of samples); in a plain load every request is a task.
struct Workload {
  std::vector<Request> requests;
  std::vector<BlockRun> runs;
  /// Tokens of a prefix block; 0: nothing is known to be shared. A request may list more blocks
  /// than its prompt fills: the rest is its output, which the next turn sends again.
  std::int64_t block_tokens = 0;
  /// First requests of the tasks, by arrival; empty: every request is one.
  std::vector<RequestId> roots;
  std::vector<Join> joins;
  std::vector<Signals> signals;     ///< by request; empty: none signals
  std::vector<std::uint32_t> task;  ///< by request; empty: every request is its own
  /// Closed loop: so many tasks are in progress at any time, each end starting the next root; those
  /// first start at their `arrival_s`. 0: open loop, every root starts at its `arrival_s`.
  std::uint32_t concurrency = 0;

  [[nodiscard]] std::size_t tasks() const { return roots.empty() ? requests.size() : roots.size(); }
  [[nodiscard]] RequestId root(std::size_t task_number) const {
    return roots.empty() ? static_cast<RequestId>(task_number) : roots[task_number];
  }
};

}  // namespace flowplan::inference
