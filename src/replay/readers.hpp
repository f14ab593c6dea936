#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowplan/base/json_document.hpp"
#include "flowplan/replay/execution_trace.hpp"

namespace flowplan::replay {

/// A node as a file spells it: by ids, before they are known to exist.
struct NamedNode {
  Node node;
  std::uint64_t id = 0;
  std::vector<std::uint64_t> after;
  std::string where;  ///< "byte 37", for diagnostics
};

/// Type and attributes of a Chakra node, in either spelling.
struct ChakraNode {
  std::uint64_t type = 0;  ///< et_def.proto's NodeType
  bool on_cpu = false;
  double operations = 0.0, tensor_bytes = 0.0;
  std::uint64_t comm_type = 0;  ///< CollectiveCommType
  double comm_bytes = 0.0;
  double source = 0.0, target = 0.0, tag = 0.0;
  std::string group;
  std::string dimensions;  ///< ASTRA-sim's involved_dim: "10"; empty: not said

  /// The communicator: by its name, else "dims10" where the collective spans some dimensions of the
  /// network only.
  [[nodiscard]] std::string communicator() const;
};

/// What such a node does. Errors FP082 for a type that there is not or a number that cannot be,
/// FP073 for gather and scatter; `where` says which node.
[[nodiscard]] Result<void> describe(const ChakraNode& chakra, const std::string& file,
                                    const std::string& where, Node& node);

/// Puts indices for ids. Errors FP082 (an id twice), FP051.
[[nodiscard]] Result<std::vector<Node>> linked(std::vector<NamedNode> nodes,
                                               const std::string& file);

/// An error FP082 at a place of a file without lines.
[[nodiscard]] Diagnostic malformed(const std::string& file, const std::string& where,
                                   const std::string& what, std::string hint = {});

/// Whether a text is a profiler's events rather than a graph.
[[nodiscard]] bool holds_profiler_events(std::string_view text);
/// Rank of a file named "NAME.12.et".
[[nodiscard]] std::optional<std::uint32_t> rank_of(const std::string& file);

[[nodiscard]] Result<ExecutionTrace> parse_chakra(std::string_view text, const std::string& file);
[[nodiscard]] Result<ExecutionTrace> parse_chakra_json(const JsonDocument& document,
                                                       const std::string& file);
[[nodiscard]] Result<ExecutionTrace> parse_workload(std::string_view text, const std::string& file);

/// Inflates a gzip file. Errors FP082, FP073 in a build without protobuf, FP003.
[[nodiscard]] Result<std::string> inflated(std::string_view text, const std::string& file);

}  // namespace flowplan::replay
