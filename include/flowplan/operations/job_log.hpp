#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan::operations {

/// How a job came to its end.
enum class JobEnd {
  completed,
  failed,
  node_failed,
  out_of_memory,
  timed_out,
  cancelled,
  preempted,
  unfinished
};
[[nodiscard]] std::string_view name(JobEnd end);  ///< "completed", "node failed", ...

/// A job of a scheduler's log.
struct LoggedJob {
  std::string id;
  JobEnd end{};
  double gpus = 0.0;                         ///< 0: it had none, or never started
  double nodes = 0.0;                        ///< 0: not said
  double submitted_s = 0.0;                  ///< on the log's own clock
  std::optional<double> started_s, ended_s;  ///< nothing: never started; still running
  int line = 0;

  [[nodiscard]] std::optional<Seconds> wait() const;  ///< nothing: never started
  [[nodiscard]] Seconds run() const;                  ///< 0: never started, or not at its end yet
};

enum class JobLogFormat { sacct, swf, csv };
[[nodiscard]] std::string_view name(JobLogFormat format);  ///< "sacct", ...

struct JobLog {
  std::string file;
  JobLogFormat format{};
  std::vector<LoggedJob> jobs;         ///< by submission
  std::optional<double> cluster_gpus;  ///< what the log's header says
  std::vector<std::string> notes;
};

/// Reads one of:
/// - `sacct --parsable2` (or --parsable) with JobID or JobIDRaw, State, Submit, Start, End or
///   ElapsedRaw, and AllocTRES or NNodes; steps of jobs are passed over;
/// - the Standard Workload Format, whose processors are taken as GPUs;
/// - CSV as Helios and Acme publish it: job_id, gpu_num, node_num, state, submit_time, start_time,
///   end_time.
///
/// Errors, all at once and with their lines: FP016 for another file, FP021 missing columns, FP082
/// rows with values that cannot be, those of read_text.
[[nodiscard]] Result<JobLog> parse_job_log(std::string_view text, const std::string& file);
[[nodiscard]] Result<JobLog> read_job_log(const std::string& path);

}  // namespace flowplan::operations
