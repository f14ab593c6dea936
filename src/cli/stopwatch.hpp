#pragma once

#include <chrono>
#include <iosfwd>
#include <string>
#include <vector>

namespace flowplan::cli {

/// Seconds and peak memory of the phases of one command, for `--timing`. They go to the standard
/// error stream alone: results never depend on them.
class Stopwatch {
 public:
  Stopwatch();
  /// Ends the phase that began with the last call, or with the stopwatch.
  void lap(std::string phase, std::string remark = {});
  /// "timing: parse 0.001 s (peak 12.3 MiB)" and so on, a line a phase.
  void print(std::ostream& out) const;

 private:
  struct Lap {
    std::string phase, remark;
    double seconds;
    double peak_mib;  // of the process until the end of the phase
  };
  std::chrono::steady_clock::time_point since_;
  std::vector<Lap> laps_;
};

}  // namespace flowplan::cli
