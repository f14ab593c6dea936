#pragma once

#include <string>
#include <vector>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

/// A graph with flows on it, as `flowplan flow` replays it.
struct Case {
  std::string name, about;
  Network network;
  std::vector<std::string> link_names;  ///< "from->to"
  FlowSet flows;
  std::vector<std::string> flow_names;  ///< the ids as the file spells them
};

/// Reads the format `flow-oracle-1` (docs/reference/flow-case.md). Errors, each with its place and
/// up to 50 in one go: FP016 another kind of file, FP020 to FP024 keys, types and ranges, FP052 ids
/// of links out of order, ids of flows that repeat, a path that is empty, names an unknown link or
/// one twice, or does not lead from the flow's source to its target.
[[nodiscard]] Result<Case> read_case(const JsonDocument& document);

}  // namespace flowplan::flow
