#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/planner/sweep.hpp"
#include "flowplan/planner/sweep_file.hpp"
#include "flowplan/report/sweep.hpp"
#include "session.hpp"

namespace flowplan::cli {

/// Where the rows of a sweep go: --format on standard output and every -o FORMAT=FILE. Rows of
/// jsonl and csv are written as they come, summaries (text, markdown, json, html) at the end.
class RowOutputs {
 public:
  /// Opens all outputs. With --resume the rows that the file of -o jsonl=FILE already has are read
  /// (they count as written everywhere), and a half written line at its end is cut off. Errors:
  /// FP090, FP002, and those of `planner::rows_done`.
  [[nodiscard]] static Result<RowOutputs> open(const Arguments& arguments, Session& session,
                                               const planner::SweepHead& head,
                                               planner::Shard shard);

  [[nodiscard]] std::uint64_t done() const { return done_; }  ///< rows that --resume found
  /// Whether rows are shown on a terminal, which shows by itself how far they are.
  [[nodiscard]] bool on_terminal() const;
  [[nodiscard]] const report::SweepSummary& summary() const { return summary_; }

  void write(const planner::SweepRow& row);
  /// Writes the summaries. Returns `code`, or that of an output that could not be written.
  int finish(int code);

 private:
  enum class Format { text, markdown, json, html, jsonl, csv };
  struct Output {
    Format format = Format::text;
    std::string path;                     ///< empty: standard output
    std::unique_ptr<std::ofstream> file;  ///< null: standard output, or a summary
  };

  RowOutputs(Session& session, const planner::SweepHead& head, report::SweepSummary summary)
      : session_(&session), head_(&head), summary_(std::move(summary)) {}
  [[nodiscard]] static Result<Format> format_named(std::string_view name);
  [[nodiscard]] Result<void> resume(planner::Shard shard);
  [[nodiscard]] Result<void> open_file(Output& output, bool continued);
  void put(const Output& output, const std::string& text);
  void begin_csv(const planner::SweepRow& row);
  [[nodiscard]] std::string summary_in(Format format) const;

  Session* session_;
  const planner::SweepHead* head_;
  report::SweepSummary summary_;
  std::vector<Output> outputs_;
  std::vector<std::string> columns_;        ///< of CSV; known with the first row that has metrics
  std::vector<planner::SweepRow> waiting_;  ///< for the columns
  std::uint64_t done_ = 0;
};

}  // namespace flowplan::cli
