#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/estimate/breakdown.hpp"
#include "flowplan/estimate/metric.hpp"
#include "flowplan/estimate/provenance.hpp"

namespace flowplan {

/// How far an estimate may be off: multiply its value by [low, high] at that confidence.
struct Band {
  double low = 1.0;
  double high = 1.0;
  double confidence = 0.9;
  std::string regime;  ///< what it was measured on; says so when nothing alike was measured
};

/// Something the reader has to know about the answer. Not an error.
struct Warning {
  std::string id;  ///< stable: "capacity_block_limit"
  std::string message;
};

/// What every answer is made of, whatever the workload.
struct Estimate {
  std::vector<Metric> metrics;  ///< in the order they are reported
  Breakdown time;               ///< the step, iteration or request taken apart
  Band band;
  std::vector<Warning> warnings;
  std::vector<Defaulted> defaulted;
  Provenance provenance;

  /// Appends a metric; its id must be in the registry.
  void add(std::string_view id, double value);
  /// The value of a metric; null when the estimate does not have it.
  [[nodiscard]] const double* value(std::string_view id) const;
};

}  // namespace flowplan
