#include "sweep_rows.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <ostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/text_file.hpp"
#include "flowplan/report/html.hpp"
#include "flowplan/report/markdown.hpp"

namespace flowplan::cli {

namespace {

constexpr int most_top = 1000;
constexpr int default_top = 10;

Diagnostic cannot_write(const std::string& path) {
  return error(Code::file_unreadable, in_file(path), "rows cannot be written there");
}

}  // namespace

Result<RowOutputs::Format> RowOutputs::format_named(std::string_view name) {
  if (name == "text") return Format::text;
  if (name == "markdown") return Format::markdown;
  if (name == "json") return Format::json;
  if (name == "html") return Format::html;
  if (name == "jsonl") return Format::jsonl;
  if (name == "csv") return Format::csv;
  return fail(error(Code::usage, fmt::format("this command has no format `{}`", name),
                    "formats: text, markdown, json, html, jsonl, csv"));
}

Result<RowOutputs> RowOutputs::open(const Arguments& arguments, Session& session,
                                    const planner::SweepHead& head, planner::Shard shard) {
  const std::string metric = arguments.value("by").value_or("");
  if (!metric.empty() && !find_metric(metric)) {
    std::vector<std::string> known;
    for (const MetricInfo& info : metric_registry())
      known.emplace_back(info.id);
    return fail(error(Code::unknown_metric, fmt::format("there is no metric `{}`", metric),
                      suggest(metric, known)));
  }
  const auto top = int_option(arguments, "top", 1, most_top);
  if (!top) return fail(top.error());
  RowOutputs rows(
      session, head,
      report::SweepSummary(metric, static_cast<std::size_t>(top->value_or(default_top))));

  const auto shown = format_named(arguments.value("format").value_or("text"));
  if (!shown) return fail(shown.error());
  rows.outputs_.push_back({*shown, "", nullptr});
  std::size_t row_files = 0;
  for (const std::string& text : arguments.values("output")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      return fail(error(Code::usage, fmt::format("`-o {}`: an output is FORMAT=FILE", text),
                        "for example -o jsonl=rows.jsonl"));
    const auto format = format_named(std::string_view(text).substr(0, equals));
    if (!format) return fail(format.error());
    row_files += *format == Format::jsonl ? 1 : 0;
    rows.outputs_.push_back({*format, text.substr(equals + 1), nullptr});
  }
  if (arguments.has("resume") && row_files != 1)
    return fail(error(Code::usage, "--resume goes on where one file of rows ends",
                      "name it: -o jsonl=rows.jsonl"));
  const bool resumed = arguments.has("resume");
  for (Output& output : rows.outputs_)
    if (auto opened = rows.open_file(output, resumed); !opened) return fail(opened.error());
  if (resumed)
    if (auto read = rows.resume(shard); !read) return fail(read.error());
  return rows;
}

/// Opens the file of an output that takes rows. That of a resumed sweep waits for `resume`.
Result<void> RowOutputs::open_file(Output& output, bool continued) {
  if (output.format != Format::jsonl && output.format != Format::csv) return {};
  if (!output.path.empty() && !(continued && output.format == Format::jsonl)) {
    output.file = std::make_unique<std::ofstream>(output.path, std::ios::binary | std::ios::trunc);
    if (!*output.file) return fail(cannot_write(output.path));
  }
  if (output.format == Format::jsonl && (output.file || output.path.empty()))
    put(output, planner::head_line(*head_) + "\n");
  return {};
}

/// Takes the rows that are there as written, and opens their file at the end of the last one.
Result<void> RowOutputs::resume(planner::Shard shard) {
  for (Output& output : outputs_) {
    if (output.format != Format::jsonl || output.path.empty()) continue;
    std::error_code missing;
    std::vector<std::string> lines;
    std::size_t length = 0;
    if (std::filesystem::exists(output.path, missing)) {
      auto file = planner::read_sweep_file(output.path);
      if (!file) return fail(std::move(file.error()));
      const auto count = planner::rows_done(*file, planner::head_line(*head_), shard);
      if (!count) return fail(count.error());
      done_ = *count;
      lines = std::move(file->lines);
      length = file->complete_bytes;
      std::filesystem::resize_file(output.path, length, missing);
      if (missing) return fail(cannot_write(output.path));
    }
    for (const std::string& line : lines)
      write(planner::parse_row(line));  // to all but this one, which has it
    output.file = std::make_unique<std::ofstream>(output.path, std::ios::binary | std::ios::app);
    if (!*output.file) return fail(cannot_write(output.path));
    if (length == 0) put(output, planner::head_line(*head_) + "\n");
  }
  return {};
}

void RowOutputs::put(const Output& output, const std::string& text) {
  if (output.path.empty())
    session_->out << text << std::flush;
  else if (output.file)
    *output.file << text << std::flush;
}

/// The first row with metrics says which columns there are.
void RowOutputs::begin_csv(const planner::SweepRow& row) {
  columns_ = report::sweep_columns(row);
  for (const Output& output : outputs_) {
    if (output.format != Format::csv) continue;
    put(output, report::sweep_csv_head(head_->grid, columns_));
    for (const planner::SweepRow& earlier : waiting_)
      put(output, report::sweep_csv_row(earlier, head_->grid, columns_));
  }
  waiting_.clear();
}

bool RowOutputs::on_terminal() const {
  return session_->environment.out_terminal &&
         std::any_of(outputs_.begin(), outputs_.end(), [](const Output& one) {
           return one.path.empty() && (one.format == Format::jsonl || one.format == Format::csv);
         });
}

void RowOutputs::write(const planner::SweepRow& row) {
  summary_.add(row);
  const bool has_columns = !columns_.empty();
  if (!has_columns && !row.metrics.empty()) begin_csv(row);
  for (const Output& output : outputs_) {
    if (output.format == Format::jsonl)
      put(output, planner::row_line(row, head_->grid) + "\n");
    else if (output.format == Format::csv && !columns_.empty())
      put(output, report::sweep_csv_row(row, head_->grid, columns_));
  }
  if (columns_.empty()) waiting_.push_back(row);
}

std::string RowOutputs::summary_in(Format format) const {
  if (format == Format::json) return summary_.json(*head_);
  const report::Document document = summary_.document(*head_);
  if (format == Format::markdown) return report::to_markdown(document);
  if (format == Format::html) return report::to_html(document);
  return report::to_text(document,
                         {session_->environment.unicode, session_->environment.out_colour});
}

int RowOutputs::finish(int code) {
  if (columns_.empty()) begin_csv({});
  for (const Output& output : outputs_) {
    if (output.file) {
      output.file->close();
      if (!*output.file) return refuse(*session_, cannot_write(output.path));
    }
    if (output.format == Format::jsonl || output.format == Format::csv) continue;
    const std::string text = summary_in(output.format);
    if (output.path.empty())
      session_->out << text << std::flush;
    else if (const auto written = write_text(output.path, text); !written)
      return refuse(*session_, written.error());
  }
  return code;
}

}  // namespace flowplan::cli
