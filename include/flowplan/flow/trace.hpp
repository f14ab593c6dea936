#pragma once

#include <cstddef>
#include <string>

#include "flowplan/flow/replay.hpp"

namespace flowplan::flow {

struct TraceLimits {
  std::size_t spans = 100000;  ///< tasks and flows that are drawn, the longest of each
  std::size_t samples = 5000;  ///< of the number of running flows
};

/// The replay as a trace that Perfetto (ui.perfetto.dev) and chrome://tracing open: JSON of the
/// Trace Event Format, times in microseconds. One process for tasks and one for the flows of each
/// source node, as complete events in as few lanes as do not overlap; a counter of running flows.
/// A larger run is reduced to the longest tasks, then the longest flows; the counter still counts
/// all flows, at evenly spaced samples where there are more instants. Times are cut at 9e9 s, the
/// most that nanoseconds in 64 bits hold.
[[nodiscard]] std::string chrome_trace(const Case& flow_case, const Replay& replay,
                                       const TraceLimits& limits = {});

}  // namespace flowplan::flow
