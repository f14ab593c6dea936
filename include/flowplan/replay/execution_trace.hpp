#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/collective/operation.hpp"

namespace flowplan::replay {

/// What a node of a trace does. `host`: on the CPU, beside the GPU's streams. `nothing`: takes no
/// time of its own (metadata).
enum class Work : std::uint8_t { nothing, host, compute, memory, collective, send, receive };

/// One node of a rank's graph.
struct Node {
  std::string name;
  Work work = Work::nothing;
  std::optional<Seconds> recorded;    ///< how long it took where the trace was taken
  double operations = 0.0;            ///< floating-point operations of a compute node; 0: not said
  Bytes touched{};                    ///< bytes of memory that it reads and writes; 0: not said
  collective::Operation operation{};  ///< of a collective
  Bytes size{};                       ///< what this rank puts in: its send buffer
  std::string group;                  ///< name of the communicator; empty: all ranks
  std::uint32_t peer = 0, tag = 0;    ///< of send and receive
  std::vector<std::uint32_t> after;   ///< indices of nodes of the same rank
  std::uint64_t at = 0;               ///< byte offset (binary) or line (text) where it stands
};

/// The graph of one rank, from one file.
struct RankTrace {
  std::string file;
  std::optional<std::uint32_t> rank;  ///< from a name that ends in ".N.et"
  std::vector<Node> nodes;            ///< in the order of the file; may depend on later ones
};

/// Who wrote a trace.
enum class TraceFormat { chakra, chakra_json, workload_text };
[[nodiscard]] std::string_view name(TraceFormat format);  ///< "Chakra", ...

struct ExecutionTrace {
  TraceFormat format{};
  std::string version;           ///< of its schema; empty: not said
  std::vector<RankTrace> ranks;  ///< one: every rank runs the same
  std::vector<std::string> notes;
};

/// Reads one rank's file: a Chakra execution trace (protobuf, gzip or not), its JSON variant, or
/// ASTRA-sim's text workload of any parallelism but HYBRID_DLRM; `file` is its name. Compute times
/// of a text workload are microseconds, as Chakra's own converter takes them; its collectives of
/// forward and input gradients are of group "model", those of weight gradients of group "data"
/// (both "" for MODEL and DATA, which have one). Errors: FP082 with the byte offset, or line, of
/// what is malformed, FP051 a dependency on a node that is not there, FP073 for what is not
/// replayed (gather, scatter; a build without protobuf), those of JsonDocument.
[[nodiscard]] Result<ExecutionTrace> parse_trace(std::string text, const std::string& file);

/// Reads the files of several ranks, in the order of their ranks where the names say them. Errors
/// as above and of read_text, FP082 for files of different formats or the same rank.
[[nodiscard]] Result<ExecutionTrace> read_trace(const std::vector<std::string>& paths);

/// True in a build with protobuf.
[[nodiscard]] bool reads_chakra();

/// Most bytes of a file, compressed or not.
inline constexpr std::size_t largest_trace_bytes = std::size_t{1} << 30;

}  // namespace flowplan::replay
