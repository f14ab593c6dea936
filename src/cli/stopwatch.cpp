#include "stopwatch.hpp"

#include <ostream>
#include <utility>

#include <fmt/format.h>
#include <sys/resource.h>

namespace flowplan::cli {

namespace {

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
#ifdef __APPLE__
  constexpr double units_a_mib = 1048576.0;  // bytes there
#else
  constexpr double units_a_mib = 1024.0;
#endif
  return static_cast<double>(usage.ru_maxrss) / units_a_mib;
}

}  // namespace

Stopwatch::Stopwatch() : since_(std::chrono::steady_clock::now()) {}

void Stopwatch::lap(std::string phase, std::string remark) {
  const auto now = std::chrono::steady_clock::now();
  laps_.push_back({std::move(phase), std::move(remark),
                   std::chrono::duration<double>(now - since_).count(), peak_mib()});
  since_ = std::chrono::steady_clock::now();
}

void Stopwatch::print(std::ostream& out) const {
  for (const Lap& lap : laps_) {
    out << fmt::format("timing: {:<8} {:>10.6f} s   peak memory {:>7.1f} MiB{}{}\n", lap.phase,
                       lap.seconds, lap.peak_mib, lap.remark.empty() ? "" : "   ", lap.remark);
  }
}

}  // namespace flowplan::cli
