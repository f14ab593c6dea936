#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flowplan/flow/case.hpp"

namespace flowplan::flow {

/// Paths of fewest links over a case's graph. Of several, the one found first when nodes are
/// visited in order of distance and links tried in the order of the case. The tree of the last
/// source is kept, so ask source by source.
class ShortestPaths {
 public:
  explicit ShortestPaths(const Case& flow_case);

  /// Nothing when no path leads there; empty when source and target are one.
  [[nodiscard]] std::optional<std::vector<LinkId>> find(std::uint32_t source, std::uint32_t target);

 private:
  void grow(std::uint32_t source);

  const Case& case_;
  std::vector<std::uint32_t> first_out_, out_;  // links that leave each node
  std::vector<LinkId> reached_by_;              // per node, in the tree of `source_`
  std::vector<std::uint32_t> queue_;
  std::uint32_t source_;
};

}  // namespace flowplan::flow
