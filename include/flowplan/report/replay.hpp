#pragma once

#include <string>
#include <vector>

#include "flowplan/replay/collective_events.hpp"
#include "flowplan/replay/simulate.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// A replayed trace with where it ran.
struct ReplayView {
  std::string title;                    ///< the trace's name
  std::string format;                   ///< "Chakra"
  std::string instance;                 ///< of the cluster
  int count = 1;                        ///< units of it
  std::vector<std::string> conditions;  ///< placement, degradation
  replay::Replay replay;
};

/// Totals, exposed communication, each collective alone and as it ran, the ranks where they differ.
[[nodiscard]] Document replay(const ReplayView& view);
[[nodiscard]] std::string replay_json(const ReplayView& view);

/// A profile's collectives with what they should take.
struct EventView {
  std::string title;
  std::string instance;
  int count = 1;
  std::vector<std::string> conditions;
  replay::EventLog log;
  std::vector<replay::EventComparison> rows;
};

/// Each collective measured against predicted; how much of the profile is communication.
[[nodiscard]] Document profile(const EventView& view);
[[nodiscard]] std::string profile_json(const EventView& view);

}  // namespace flowplan::report
