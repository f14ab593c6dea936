#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/operations/job_log.hpp"

namespace flowplan::operations {

/// Of a set of durations; zeros for an empty one. Between two values the quantile is interpolated.
struct DurationSummary {
  std::size_t count = 0;
  Seconds median{}, mean{}, p90{}, p99{}, longest{};
};

/// Jobs of similar size.
struct JobSizeClass {
  double least_gpus = 0.0, most_gpus = 0.0;  ///< most 0: any number
  std::size_t jobs = 0;
  double gpu_hours = 0.0;
  DurationSummary run, wait;
};

/// Jobs that ended alike.
struct JobEndCount {
  JobEnd end{};
  std::size_t jobs = 0;
  double gpu_hours = 0.0;
};

/// How often nodes failed, from jobs that ended so.
struct ObservedFailures {
  std::size_t failures = 0;
  double node_days = 0.0;        ///< nodes times the time for which jobs had them
  double per_node_day = 0.0;     ///< what `operations.failures.per_node_day` takes
  double low = 0.0, high = 0.0;  ///< 90 % of a Poisson count (Byar's approximation)
};

struct JobStatistics {
  std::size_t jobs = 0;          ///< in the log
  std::size_t started = 0;       ///< with GPUs
  std::size_t without_gpus = 0;  ///< started without any; in no figure below
  Seconds span{};                ///< from the first submission to the last end
  double gpu_hours = 0.0;
  double peak_gpus = 0.0;                    ///< in use at once
  std::optional<double> cluster_gpus;        ///< given, or by the log's header
  std::optional<double> utilisation;         ///< GPU hours over those of the cluster, 0..1
  DurationSummary wait, run;                 ///< of jobs that ran; of those at their end
  std::vector<JobSizeClass> sizes;           ///< smallest first; empty classes left out
  std::vector<JobEndCount> ends;             ///< most GPU hours first
  std::optional<ObservedFailures> failures;  ///< nothing: the log says no nodes
};

/// `cluster_gpus`: of the cluster, > 0; nothing: as the log's header says.
[[nodiscard]] JobStatistics summarise(const JobLog& log, std::optional<double> cluster_gpus = {});

}  // namespace flowplan::operations
