#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/export/plan.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::exporting {

/// A predicted figure under the name that rules, exposition and dashboard give it.
struct Prediction {
  std::string name;  ///< "flowplan_training_step_time_seconds"
  std::string help;
  double value = 0.0;
  std::string tier;  ///< label of a figure that every tier of links has; empty: none
};

/// A prediction next to what an exporter measures of the same thing.
struct Comparison {
  std::string section;    ///< of the dashboard: "Network"
  std::string title;      ///< "EFA transmit rate of an instance"
  std::string alert;      ///< "FlowplanEfaTransmitBelowPrediction"
  std::string predicted;  ///< a Prediction's name
  std::string recorded;   ///< recording rule of the measurement, level:metric:operations
  std::string measure;    ///< its PromQL expression over the exporter's metrics
  std::string unit;       ///< Grafana's: "Bps", "s", "percentunit", "bytes", "none"
  bool higher_is_better = true;
  bool exact = false;     ///< a count: no ratio
  std::string over = {};  ///< a range ("30m") whose maximum is compared; empty: the value itself
};

/// What is said of one scenario to a monitoring system.
struct Observation {
  std::string title, slug;
  std::string instance;  ///< catalog id, a label of the information metric
  std::string model;
  double ratio = 0.8;      ///< measured below predicted times this is an alert
  int wait_minutes = 15;   ///< that it must hold
  int window_minutes = 5;  ///< of rates
  std::vector<Prediction> predictions;
  std::vector<Comparison> comparisons;
};

/// Every metric of the answer under its registered name, what links and counts it implies, and the
/// comparisons that DCGM's, EFA's, Slurm's, FSx's (CloudWatch) and vLLM's exporters allow. `ratio`
/// replaces the default.
[[nodiscard]] Observation observation_of(const Plan& plan, const scenario::Answer& answer,
                                         std::optional<double> ratio = {});

/// Prometheus rules: predictions as constant series, measurements as recording rules, alerts where
/// a measurement is below its prediction times the ratio (above it divided by the ratio). Needs no
/// scraping of flowplan; Amazon Managed Prometheus takes it unchanged.
[[nodiscard]] std::string prometheus_rules(const Observation& observation);

/// OpenMetrics 1.0 text of the predictions, for a textfile collector or an import. `timestamp`:
/// seconds since 1970 of every sample, which imports need.
[[nodiscard]] std::string openmetrics(const Observation& observation,
                                      std::optional<long long> timestamp = {});

/// A Grafana dashboard, classic JSON (schema version 39): predictions, then measured and predicted
/// side by side, section by section.
[[nodiscard]] std::string grafana_dashboard(const Observation& observation);

/// Metrics of the exporters that the expressions may name.
[[nodiscard]] const std::vector<std::string>& exporter_metrics();

}  // namespace flowplan::exporting
