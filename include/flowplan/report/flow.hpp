#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "flowplan/flow/replay.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// Rows of a table of flows, links or tasks in a report for people, unless told otherwise.
inline constexpr std::size_t flow_report_rows = 100;

struct FlowView {
  /// Rows a table at most: the flows and tasks that end last, the links that are busiest. Nothing:
  /// all of them in JSON, `flow_report_rows` elsewhere.
  std::optional<std::size_t> top;
  bool verified = false;  ///< the first rates were checked and passed
};

/// When each task and flow of a case ended and what each link carried.
[[nodiscard]] Document flow(const flow::Case& flow_case, const flow::Replay& replay,
                            const FlowView& view = {});
/// `makespan_s`, `tasks[] {name, start_s, end_s}` if there are any, `flows[] {id, start_s, end_s,
/// bottleneck}`, `links[] {id, name, bytes, utilisation}`.
[[nodiscard]] std::string flow_json(const flow::Case& flow_case, const flow::Replay& replay,
                                    const FlowView& view = {});

}  // namespace flowplan::report
