#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/replay/execution_trace.hpp"
#include "flowplan/topology/placement.hpp"

namespace flowplan::replay {

/// How long compute takes: as recorded, where the trace says it, or always by its operations and
/// bytes at the GPU's dense BF16 peak and memory bandwidth, whichever takes longer (a floor).
enum class ComputeTime { recorded, floor };

struct ReplayOptions {
  ComputeTime compute = ComputeTime::recorded;
  double compute_factor = 1.0;  ///< on every compute and host time; > 0
  /// Communicators by name: "tp8", "dp8", "all" as collective::split_groups, over the ranks.
  std::map<std::string, std::string> groups;
  /// Communicators by name: their ranks (ASTRA-sim's comm_group file).
  std::map<std::string, std::vector<std::uint32_t>> members;
};

/// Collectives of one operation, size and communicator.
struct CollectiveUse {
  collective::Operation operation{};
  Bytes size{};                         ///< as nccl-tests counts it: the full vector
  std::string group;                    ///< as the trace names it; empty: all ranks
  std::uint32_t ranks = 0, groups = 1;  ///< of each communicator; how many of them run at once
  std::uint64_t count = 0;              ///< in one rank's graph, or in all when they differ
  collective::Outcome alone;            ///< of one, its sisters beside it
  Seconds total_alone{}, total{};       ///< sum over `count`, alone and as it ran
};

/// What one rank did.
struct RankTime {
  Seconds end{};            ///< of its last node
  Seconds compute{};        ///< at least one compute or memory node ran
  Seconds communication{};  ///< at least one collective or transfer ran
  Seconds exposed{};        ///< communication, and no compute beside it
  Seconds idle{};           ///< neither, up to the end of the whole replay; host work included
};

struct Replay {
  std::uint32_t ranks = 0;   ///< of the job
  bool one_for_all = false;  ///< one graph that every rank runs: `rank` has one entry
  std::uint64_t nodes = 0;   ///< of all graphs
  Seconds makespan{};
  std::vector<RankTime> rank;
  std::vector<CollectiveUse> collectives;  ///< by total time, longest first
  std::vector<std::string> notes;          ///< what was assumed
};

/// Replays a trace on `placement.ranks()` ranks of a cluster (the first ones, when the trace has
/// files of fewer). Every rank has a stream of compute, one of host work and one for each
/// communicator; within a stream nodes run one after the other, in the order of the file as far as
/// dependencies allow. The k-th collective of a communicator on one of its ranks is the k-th on the
/// others. A collective takes its own time alone (`collective::predict`), longer where others that
/// run at the same time need the same links: they share max-min fairly. Computing is not slowed by
/// communication beside it.
///
/// Errors: FP061 for a communicator that nobody describes, or with ranks that there are not, FP082
/// for ranks whose collectives do not match, FP050 for nodes that wait for each other, and those of
/// `collective::predict`.
[[nodiscard]] Result<Replay> simulate(const ExecutionTrace& trace, const catalog::Gpu& gpu,
                                      const collective::Stack& stack,
                                      const topology::Cluster& cluster,
                                      const topology::Placement& placement,
                                      const ReplayOptions& options = {});

/// Reads ASTRA-sim's comm_group file: {"0": [0, 1], "1": [2, 3]}. Errors FP022, those of
/// JsonDocument.
[[nodiscard]] Result<std::map<std::string, std::vector<std::uint32_t>>> read_members(
    const std::string& path);

}  // namespace flowplan::replay
