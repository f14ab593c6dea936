#include "flowplan/operations/job_log.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/text_file.hpp"

namespace flowplan::operations {

namespace {

constexpr std::size_t largest_job_log = std::size_t{1} << 30;
constexpr std::size_t most_job_faults = 20;
constexpr double most_gpus_of_a_job = 1e7;

using Words = std::vector<std::string_view>;

Words split_at(std::string_view line, char separator) {
  Words words;
  while (true) {
    const std::size_t end = line.find(separator);
    words.push_back(line.substr(0, end));
    if (end == std::string_view::npos) return words;
    line.remove_prefix(end + 1);
  }
}

Words split_at_blanks(std::string_view line) {
  Words words;
  for (std::size_t at = line.find_first_not_of(" \t"); at != std::string_view::npos;
       at = line.find_first_not_of(" \t", at)) {
    const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

std::optional<double> log_number(std::string_view text) {
  double value = 0.0;
  const char* end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, value).ptr != end) return std::nullopt;
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

/// Days from 1970-01-01 to a date of the Gregorian calendar.
double days_since_1970(int year, int month, int day) {
  // Years begin in March, so that the day of leap years is their last one.
  const int y = month <= 2 ? year - 1 : year;
  const int m = month <= 2 ? month + 9 : month - 3;
  const int century = y / 100;
  constexpr int march_1970 = 719469;
  const int days = 365 * y + y / 4 - century + century / 4 + (153 * m + 2) / 5 + day - march_1970;
  return days;
}

/// "2026-01-01T00:05:00" or with a blank, and anything after the seconds.
std::optional<double> clock_time(std::string_view text) {
  constexpr std::string_view shape = "0000-00-00T00:00:00";
  if (text.size() < shape.size()) return std::nullopt;
  std::array<int, 6> part{};
  std::size_t at = 0;
  for (int& value : part) {
    const std::size_t end = at + (at == 0 ? 4 : 2);
    const auto [stop, code] = std::from_chars(text.data() + at, text.data() + end, value);
    if (code != std::errc{} || stop != text.data() + end) return std::nullopt;
    at = end + 1;
  }
  if (part[1] < 1 || part[1] > 12 || part[2] < 1 || part[2] > 31) return std::nullopt;
  return days_since_1970(part[0], part[1], part[2]) * 86400.0 + part[3] * 3600.0 + part[4] * 60.0 +
         part[5];
}

bool is_no_time(std::string_view text) {
  return text.empty() || text == "Unknown" || text == "None" || text == "N/A";
}

std::optional<JobEnd> end_of(std::string_view state) {
  state = state.substr(0, state.find(' '));  // "CANCELLED by 1000"
  while (!state.empty() && state.back() == '+')
    state.remove_suffix(1);
  static constexpr std::pair<std::string_view, JobEnd> ends[] = {
      {"COMPLETED", JobEnd::completed},         {"FAILED", JobEnd::failed},
      {"NODE_FAIL", JobEnd::node_failed},       {"BOOT_FAIL", JobEnd::node_failed},
      {"OUT_OF_MEMORY", JobEnd::out_of_memory}, {"OUT_OF_ME", JobEnd::out_of_memory},
      {"TIMEOUT", JobEnd::timed_out},           {"DEADLINE", JobEnd::timed_out},
      {"CANCELLED", JobEnd::cancelled},         {"REVOKED", JobEnd::cancelled},
      {"PREEMPTED", JobEnd::preempted},         {"REQUEUED", JobEnd::preempted},
      {"RUNNING", JobEnd::unfinished},          {"PENDING", JobEnd::unfinished},
      {"SUSPENDED", JobEnd::unfinished},        {"RESIZING", JobEnd::unfinished},
      {"COMPLETING", JobEnd::unfinished}};
  for (const auto& [name, end] : ends)
    if (name == state) return end;
  return std::nullopt;
}

/// "billing=8,gres/gpu:h100=64,gres/gpu=64,node=8": that of a kind, of all its types together.
double amount_of(std::string_view tres, std::string_view kind) {
  double plain = 0.0, typed = 0.0;
  for (const std::string_view item : split_at(tres, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos || !item.starts_with(kind)) continue;
    const double value = log_number(item.substr(equals + 1)).value_or(0.0);
    if (equals == kind.size()) plain = value;
    if (item[kind.size()] == ':') typed += value;
  }
  return plain > 0.0 ? plain : typed;
}

class JobLogReader {
 public:
  JobLogReader(std::string_view text, const std::string& file) : text_(text) { log_.file = file; }

  Result<JobLog> run() {
    const std::string_view first = text_.substr(0, text_.find('\n'));
    if (first.starts_with(';') || is_swf_row(split_at_blanks(without_return(first))))
      read_swf();
    else if (first.find('|') != std::string_view::npos)
      read_table('|', JobLogFormat::sacct);
    else if (first.find(',') != std::string_view::npos)
      read_table(',', JobLogFormat::csv);
    else
      return fail(unknown());
    if (faults_.empty() && log_.jobs.empty()) complain(1, "the log has no jobs");
    if (!faults_.empty()) return fail(std::move(faults_));
    std::stable_sort(
        log_.jobs.begin(), log_.jobs.end(),
        [](const LoggedJob& a, const LoggedJob& b) { return a.submitted_s < b.submitted_s; });
    return std::move(log_);
  }

 private:
  static std::string_view without_return(std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    return line;
  }

  static bool is_swf_row(const Words& words) {
    constexpr std::size_t columns = 18;
    return words.size() == columns &&
           std::all_of(words.begin(), words.end(),
                       [](std::string_view word) { return log_number(word).has_value(); });
  }

  [[nodiscard]] Diagnostic unknown() const {
    return error(Code::wrong_kind_of_file, in_file(log_.file, 1), "this is no log of jobs",
                 "the output of sacct --parsable2, a log in the Standard Workload Format, or CSV "
                 "with job_id, gpu_num, state, submit_time, start_time, end_time");
  }

  void complain(int line, std::string what, Code code = Code::bad_measurement,
                std::string hint = {}) {
    if (faults_.size() < most_job_faults)
      faults_.push_back(error(code, in_file(log_.file, line), std::move(what), std::move(hint)));
  }

  template <class Take>
  void lines(const Take& take) {
    int number = 0;
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      const std::string_view line = without_return(text_.substr(at, end - at));
      at = end + 1;
      ++number;
      if (!line.empty()) take(line, number);
    }
  }

  // --- Standard Workload Format ---

  void read_swf() {
    log_.format = JobLogFormat::swf;
    double max_nodes = 0.0, max_processors = 0.0;
    lines([&](std::string_view line, int number) {
      if (line.front() == ';') {
        const auto words = split_at_blanks(line.substr(1));
        if (words.size() < 2) return;
        if (words[0] == "MaxNodes:") max_nodes = log_number(words[1]).value_or(0.0);
        if (words[0] == "MaxProcs:") max_processors = log_number(words[1]).value_or(0.0);
        return;
      }
      const auto words = split_at_blanks(line);
      if (!is_swf_row(words))
        return complain(number, "a job has 18 numbers", Code::bad_measurement,
                        "the Standard Workload Format, version 2.2");
      swf_job(words, number, max_nodes > 0.0 ? max_processors / max_nodes : 0.0);
    });
    if (max_processors > 0.0) log_.cluster_gpus = max_processors;
    log_.notes.push_back("processors of the log are taken as GPUs");
    if (max_nodes > 0.0 && max_processors > 0.0)
      log_.notes.push_back(fmt::format("nodes of a job: its processors over the log's {:g} a node",
                                       max_processors / max_nodes));
  }

  void swf_job(const Words& words, int line, double per_node) {
    const auto value = [&](std::size_t column) { return *log_number(words[column]); };
    LoggedJob job;
    job.id = std::string(words[0]);
    job.line = line;
    job.submitted_s = value(1);
    const double wait = value(2), run = value(3), status = value(10);
    if (wait >= 0.0 && run >= 0.0 && value(4) > 0.0) {
      job.started_s = job.submitted_s + wait;
      job.ended_s = *job.started_s + run;
      job.gpus = value(4);
      if (per_node > 0.0) job.nodes = std::ceil(job.gpus / per_node);
    }
    job.end = status == 1.0   ? JobEnd::completed
              : status == 5.0 ? JobEnd::cancelled
              : status == 0.0 ? JobEnd::failed
                              : JobEnd::unfinished;
    keep(std::move(job));
  }

  // --- tables with a header ---

  struct Columns {
    std::optional<std::size_t> id, state, submit, start, end, elapsed, tres, nodes, gpus;
  };

  Columns columns_of(const Words& header) {
    std::map<std::string_view, std::size_t> at;
    for (std::size_t i = 0; i < header.size(); ++i)
      at.emplace(header[i], i);
    const auto any = [&](std::initializer_list<std::string_view> names) {
      for (const std::string_view one : names)
        if (const auto found = at.find(one); found != at.end()) return std::optional(found->second);
      return std::optional<std::size_t>();
    };
    return {any({"JobIDRaw", "JobID", "job_id"}),
            any({"State", "state"}),
            any({"Submit", "Eligible", "submit_time"}),
            any({"Start", "start_time"}),
            any({"End", "end_time"}),
            any({"ElapsedRaw", "duration"}),
            any({"AllocTRES", "ReqTRES"}),
            any({"NNodes", "AllocNodes", "node_num"}),
            any({"gpu_num"})};
  }

  void read_table(char separator, JobLogFormat format) {
    log_.format = format;
    std::optional<Columns> columns;
    std::size_t width = 0, steps = 0;
    lines([&](std::string_view line, int number) {
      Words words = split_at(line, separator);
      if (!columns) {
        columns = columns_of(words);
        width = words.size();
        return check(*columns, number, format);
      }
      if (!faults_.empty() && width == 0) return;
      if (words.size() != width)
        return complain(number,
                        fmt::format("{} columns, where the header has {}", words.size(), width));
      // "101.batch" and "101.0" are steps of job 101.
      if (format == JobLogFormat::sacct &&
          words[*columns->id].find('.') != std::string_view::npos) {
        ++steps;
        return;
      }
      table_job(words, *columns, number);
    });
    if (steps > 0) log_.notes.push_back(fmt::format("{} steps of jobs are passed over", steps));
  }

  void check(const Columns& columns, int line, JobLogFormat format) {
    std::string missing;
    const auto need = [&](bool there, const char* what) {
      if (!there) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", what);
    };
    const bool sacct = format == JobLogFormat::sacct;
    need(columns.id.has_value(), sacct ? "JobIDRaw" : "job_id");
    need(columns.state.has_value(), sacct ? "State" : "state");
    need(columns.submit.has_value(), sacct ? "Submit" : "submit_time");
    need(columns.start.has_value(), sacct ? "Start" : "start_time");
    need(columns.end || columns.elapsed, sacct ? "End" : "end_time");
    need(columns.tres || columns.gpus, sacct ? "AllocTRES" : "gpu_num");
    if (missing.empty()) return;
    if (!columns.id && !columns.state) {
      faults_.push_back(unknown());
    } else {
      complain(line, fmt::format("the log lacks {}", missing), Code::missing_key,
               sacct ? "sacct -a -X --parsable2 --format=JobIDRaw,JobName,Partition,State,Submit,"
                       "Start,End,ElapsedRaw,NNodes,AllocTRES"
                     : "");
    }
  }

  void table_job(const Words& words, const Columns& columns, int line) {
    if (!faults_.empty() && faults_.front().code != Code::bad_measurement) return;
    LoggedJob job;
    job.line = line;
    job.id = std::string(words[*columns.id]);
    const auto end = end_of(words[*columns.state]);
    if (!end)
      return complain(line, fmt::format("`{}` is no state of a job", words[*columns.state]));
    job.end = *end;
    const auto submitted = clock_time(words[*columns.submit]);
    if (!submitted)
      return complain(line,
                      fmt::format("submitted at `{}`, which is no time", words[*columns.submit]));
    job.submitted_s = *submitted;
    const std::string_view start = words[*columns.start];
    job.started_s = clock_time(start);
    if (!job.started_s && !is_no_time(start))
      return complain(line, fmt::format("started at `{}`, which is no time", start));
    if (columns.tres) job.gpus = amount_of(words[*columns.tres], "gres/gpu");
    if (columns.gpus) {
      const auto gpus = log_number(words[*columns.gpus]);
      if (!gpus) return complain(line, "gpu_num is no number");
      job.gpus = *gpus;
    }
    if (columns.nodes) job.nodes = log_number(words[*columns.nodes]).value_or(0.0);
    if (columns.nodes && job.nodes == 0.0 && columns.tres)
      job.nodes = amount_of(words[*columns.tres], "node");
    if (job.started_s) set_end(job, words, columns, line);
    if (!(job.gpus >= 0.0 && job.gpus <= most_gpus_of_a_job && job.nodes >= 0.0 &&
          job.nodes <= most_gpus_of_a_job))
      return complain(line, "counts of GPUs and nodes are from 0 to 10^7");
    keep(std::move(job));
  }

  void set_end(LoggedJob& job, const Words& words, const Columns& columns, int line) {
    if (columns.elapsed)
      if (const auto elapsed = log_number(words[*columns.elapsed]))
        job.ended_s = *job.started_s + *elapsed;
    if (!job.ended_s && columns.end) job.ended_s = clock_time(words[*columns.end]);
    if (job.ended_s && *job.ended_s < *job.started_s)
      complain(line, "the job ends before it starts");
  }

  void keep(LoggedJob job) {
    if (job.started_s && *job.started_s < job.submitted_s)
      return complain(job.line, "the job starts before it is submitted");
    log_.jobs.push_back(std::move(job));
  }

  std::string_view text_;
  JobLog log_;
  Diagnostics faults_;
};

}  // namespace

std::string_view name(JobEnd end) {
  switch (end) {
    case JobEnd::completed:
      return "completed";
    case JobEnd::failed:
      return "failed";
    case JobEnd::node_failed:
      return "node failed";
    case JobEnd::out_of_memory:
      return "out of memory";
    case JobEnd::timed_out:
      return "timed out";
    case JobEnd::cancelled:
      return "cancelled";
    case JobEnd::preempted:
      return "preempted";
    case JobEnd::unfinished:
      break;
  }
  return "not at its end";
}

std::string_view name(JobLogFormat format) {
  switch (format) {
    case JobLogFormat::sacct:
      return "sacct";
    case JobLogFormat::swf:
      return "Standard Workload Format";
    case JobLogFormat::csv:
      break;
  }
  return "CSV";
}

std::optional<Seconds> LoggedJob::wait() const {
  if (!started_s) return std::nullopt;
  return Seconds(*started_s - submitted_s);
}

Seconds LoggedJob::run() const {
  return started_s && ended_s ? Seconds(*ended_s - *started_s) : Seconds(0);
}

Result<JobLog> parse_job_log(std::string_view text, const std::string& file) {
  return JobLogReader(text, file).run();
}

Result<JobLog> read_job_log(const std::string& path) {
  const auto text = read_text(path, largest_job_log);
  if (!text) return fail(text.error());
  return parse_job_log(*text, path == "-" ? "<stdin>" : path);
}

}  // namespace flowplan::operations
