#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/replay/execution_trace.hpp"
#include "flowplan/topology/placement.hpp"

namespace flowplan::replay {

/// A collective's kernel as a profiler saw it on one rank.
struct CollectiveEvent {
  collective::Operation operation{};
  Bytes size{};                      ///< as nccl-tests counts it
  std::string group;                 ///< "mesh_tp", else the process group's number
  std::vector<std::uint32_t> ranks;  ///< of the process group
  Seconds start{}, duration{};       ///< on the trace's clock
};

/// The events of one rank's profile.
struct EventLog {
  std::string file;
  std::optional<std::uint32_t> rank, world;
  std::vector<CollectiveEvent> events;           ///< by start
  std::map<std::string, std::uint64_t> skipped;  ///< communication kernels by reason
  std::vector<std::string> notes;
  /// Over the profile: at least one other kernel ran; at least one of communication; the latter
  /// alone; from the first kernel to the end of the last.
  Seconds compute{}, communication{}, exposed{}, span{};
};

/// Reads a trace of PyTorch's profiler (Kineto, JSON of the Trace Event Format; gzip in a build
/// with protobuf): kernels of NCCL with "Collective name", sizes, type and process group, which
/// PyTorch records from 2.4 on. Errors FP016 for another file, FP082 for one without kernels, those
/// of JsonDocument.
[[nodiscard]] Result<EventLog> parse_events(std::string text, const std::string& file);

/// A graph to replay, or what a profiler saw.
using Recording = std::variant<ExecutionTrace, EventLog>;

/// Reads one file by its content, or several as the ranks of one graph. Errors of `parse_events`,
/// `read_trace`.
[[nodiscard]] Result<Recording> read_recording(const std::vector<std::string>& paths);

/// Collectives that are alike, measured against predicted.
struct EventComparison {
  collective::Operation operation{};
  Bytes size{};
  std::string group;
  std::uint32_t ranks = 0;
  std::uint64_t count = 0;
  Seconds fastest{}, median{}, total{};  ///< measured; a kernel's time has its wait for peers in it
  collective::Outcome predicted;         ///< of one group alone
};

/// Events by operation, size and group, by total time, longest first. A group of one rank, or of no
/// bytes, is left out. Errors FP061 for ranks that the placement does not have, those of predict().
[[nodiscard]] Result<std::vector<EventComparison>> compare_events(
    const EventLog& log, const collective::Stack& stack, const topology::Cluster& cluster,
    const topology::Placement& placement);

}  // namespace flowplan::replay
