#include "flowplan/report/measured_log.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using accuracy::ComparedLine;
using accuracy::FitReport;
using accuracy::FittedFigure;
using accuracy::LogComparison;
using accuracy::NcclLog;
using LogJson = nlohmann::ordered_json;

constexpr double us_per_s = 1e6;
constexpr double bytes_per_gb = 1e9;

std::string ratio_text(double ratio) {
  return fmt::format("{:.3f}", ratio);
}

/// "0.92 to 1.06": the ratio of expected to measured that the band of the expected time allows.
std::string band_text(const Band& band) {
  return fmt::format("{:.2f} to {:.2f}", 1.0 / band.high, 1.0 / band.low);
}

std::string mark(const ComparedLine& line, double min_ratio) {
  if (line.ratio < min_ratio) return "below";
  return line.faster ? "above" : "";
}

LogJson ratio_json(const std::optional<double>& ratio) {
  return ratio ? LogJson(*ratio) : LogJson(nullptr);
}

std::vector<Cell> compared_cells(const ComparedLine& line, double min_ratio) {
  const auto& o = line.expected;
  return {binary_bytes(Bytes(line.measured.size_bytes)),
          significant(line.measured.time_us),
          significant(o.time.value() * us_per_s),
          fmt::format("{:.2f}", line.measured.busbw_gbytes_per_s),
          fmt::format("{:.2f}", o.busbw.value() / bytes_per_gb),
          ratio_text(line.ratio),
          band_text(o.band),
          fmt::format("{}/{}", name(o.algorithm), name(o.protocol)),
          o.limit,
          mark(line, min_ratio)};
}

std::string figure_label(const FittedFigure& figure, bool table) {
  return table ? fmt::format("{}[{}]", figure.name, figure.index) : figure.name;
}

/// Whether a report has several numbers of one figure, or one that is not its first.
bool is_table(const FitReport& report, const FittedFigure& figure) {
  if (figure.index > 0) return true;
  for (const std::string& kept : report.kept)
    if (kept.starts_with(figure.name + "[")) return true;
  for (const FittedFigure& other : report.figures)
    if (other.name == figure.name && other.index > 0) return true;
  return false;
}

std::vector<Cell> error_cells(std::string what, const accuracy::Score& score) {
  return {std::move(what), fmt::format("{}", score.n), fmt::format("{:.1f}", score.median_ape),
          fmt::format("{:.1f}", score.p90_ape), fmt::format("{:+.1f}", score.bias)};
}

LogJson score_json(const accuracy::Score& score) {
  return {{"n", score.n},
          {"median_ape", score.median_ape},
          {"mean_ape", score.mean_ape},
          {"p90_ape", score.p90_ape},
          {"bias", score.bias}};
}

Section bands(const FitReport& report) {
  Section section;
  section.title = "90 % bands by what was left out";
  section.table = Table{{{"figure", false}, {"half width, %"}, {"points"}}, {}};
  for (const accuracy::FittedBand& band : report.bands) {
    section.table->rows.push_back({fmt::format("{}[{}]", band.figure.name, band.figure.index),
                                   fmt::format("{:.1f}", band.percent),
                                   fmt::format("{}", band.points)});
  }
  return section;
}

}  // namespace

Document log_comparison(const LogComparison& comparison, const NcclLog& log, double min_ratio) {
  Document document;
  document.title = fmt::format("{}: measured against expected", comparison.operation);
  document.lead = fmt::format("{} on {} x {}, {} ranks, {}", log.file, comparison.nodes,
                              comparison.instance, comparison.ranks, comparison.profile);
  Section run;
  run.facts.emplace_back("Program", log.program.empty() ? "not stated" : log.program);
  run.facts.emplace_back("NCCL", log.nccl_version.empty() ? "not stated" : log.nccl_version);
  run.facts.emplace_back("GPUs", log.ranks == 0
                                     ? "not listed"
                                     : fmt::format("{} on {} host{}: {}", log.ranks, log.hosts,
                                                   log.hosts == 1 ? "" : "s", log.gpu));
  if (comparison.large_ratio)
    run.facts.emplace_back("Ratio, large sizes", ratio_text(*comparison.large_ratio));
  if (comparison.small_ratio)
    run.facts.emplace_back("Ratio, small sizes", ratio_text(*comparison.small_ratio));
  run.facts.emplace_back("Ratio, worst size",
                         fmt::format("{} at {}", ratio_text(comparison.least_ratio),
                                     binary_bytes(Bytes(comparison.least_bytes))));
  run.remarks = comparison.remarks;
  document.sections.push_back(std::move(run));

  Section sizes;
  sizes.title = "Sizes";
  sizes.table = Table{{{"size"},
                       {"measured, us"},
                       {"expected, us"},
                       {"busbw, GB/s"},
                       {"expected, GB/s"},
                       {"ratio"},
                       {"90 % band"},
                       {"choice", false},
                       {"limit", false},
                       {"", false}},
                      {}};
  for (const ComparedLine& line : comparison.lines)
    sizes.table->rows.push_back(compared_cells(line, min_ratio));
  document.sections.push_back(std::move(sizes));

  Section causes;
  causes.title = "Likely causes";
  causes.remarks = comparison.causes;
  if (causes.remarks.empty()) causes.remarks.emplace_back("nothing falls short");
  document.sections.push_back(std::move(causes));
  return document;
}

std::string log_comparison_json(const LogComparison& comparison, const NcclLog& log,
                                double min_ratio) {
  LogJson root;
  root["format_version"] = result_format_version;
  root["kind"] = "collective_comparison";
  root["operation"] = comparison.operation;
  root["instance"] = comparison.instance;
  root["nodes"] = comparison.nodes;
  root["ranks"] = comparison.ranks;
  root["profile"] = comparison.profile;
  root["log"] = {{"program", log.program}, {"nccl_version", log.nccl_version},
                 {"gpu", log.gpu},         {"ranks", log.ranks},
                 {"hosts", log.hosts},     {"concluded", log.concluded}};
  root["large_ratio"] = ratio_json(comparison.large_ratio);
  root["small_ratio"] = ratio_json(comparison.small_ratio);
  root["least_ratio"] = comparison.least_ratio;
  root["least_ratio_size_bytes"] = comparison.least_bytes;
  root["min_ratio"] = min_ratio;
  root["passed"] = comparison.least_ratio >= min_ratio;
  root["causes"] = comparison.causes;
  root["remarks"] = comparison.remarks;
  root["results"] = LogJson::array();
  for (const ComparedLine& line : comparison.lines) {
    const auto& o = line.expected;
    root["results"].push_back(
        {{"size_bytes", line.measured.size_bytes},
         {"measured_time_s", line.measured.time_us / us_per_s},
         {"expected_time_s", o.time.value()},
         {"measured_busbw_bytes_per_s", line.measured.busbw_gbytes_per_s * bytes_per_gb},
         {"expected_busbw_bytes_per_s", o.busbw.value()},
         {"ratio", line.ratio},
         {"faster", line.faster},
         {"band_low", o.band.low},
         {"band_high", o.band.high},
         {"algorithm", std::string(name(o.algorithm))},
         {"protocol", std::string(name(o.protocol))},
         {"limit", o.limit}});
  }
  return root.dump(2) + "\n";
}

Document fit(const FitReport& report, const accuracy::FitInput& input) {
  Document document;
  document.title = "Fit of " + report.profile;
  document.lead = fmt::format("{} points tell {} figures", report.after.n, report.figures.size());
  Section figures;
  figures.title = "Figures";
  figures.table =
      Table{{{"figure", false}, {"before"}, {"after"}, {"+-, %"}, {"points"}, {"", false}}, {}};
  for (const FittedFigure& figure : report.figures) {
    figures.table->rows.push_back(
        {figure_label(figure, is_table(report, figure)), significant(figure.before),
         significant(figure.after), fmt::format("{:.1f}", 100.0 * figure.spread),
         fmt::format("{}", figure.points), figure.at_limit ? "at the line rate" : ""});
  }
  if (!report.kept.empty()) {
    std::string kept;
    for (const std::string& name : report.kept)
      kept += (kept.empty() ? "kept, not told by these points: " : ", ") + name;
    figures.remarks.push_back(std::move(kept));
  }
  document.sections.push_back(std::move(figures));

  Section errors;
  errors.title = "Absolute error, %";
  errors.table = Table{{{"", false}, {"points"}, {"median"}, {"p90"}, {"bias"}}, {}};
  errors.table->rows.push_back(error_cells("before", report.before));
  errors.table->rows.push_back(error_cells("fitted", report.after));
  if (report.left_out_overall.n > 0) {
    errors.table->rows.push_back(error_cells("left out", report.left_out_overall));
  }
  for (const accuracy::LeftOutGroup& group : report.left_out) {
    auto cells = error_cells(group.group, group.score);
    cells.front().indent = 1;
    errors.table->rows.push_back(std::move(cells));
  }
  if (report.untold > 0)
    errors.remarks.push_back(
        fmt::format("{} points passed over: no figure changes their time", report.untold));
  for (const auto& [reason, count] : input.skipped)
    errors.remarks.push_back(fmt::format("{} rows passed over: {}", count, reason));
  document.sections.push_back(std::move(errors));
  if (!report.bands.empty()) document.sections.push_back(bands(report));
  return document;
}

std::string fit_json(const FitReport& report, const accuracy::FitInput& input) {
  LogJson root;
  root["format_version"] = result_format_version;
  root["kind"] = "fit";
  root["profile"] = report.profile;
  root["figures"] = LogJson::array();
  for (const FittedFigure& figure : report.figures) {
    root["figures"].push_back({{"name", figure.name},
                               {"index", figure.index},
                               {"before", figure.before},
                               {"after", figure.after},
                               {"spread", figure.spread},
                               {"points", figure.points},
                               {"at_limit", figure.at_limit}});
  }
  root["kept"] = report.kept;
  root["before"] = score_json(report.before);
  root["after"] = score_json(report.after);
  root["left_out"] = score_json(report.left_out_overall);
  root["left_out_groups"] = LogJson::array();
  for (const accuracy::LeftOutGroup& group : report.left_out) {
    LogJson entry = score_json(group.score);
    entry["group"] = group.group;
    root["left_out_groups"].push_back(std::move(entry));
  }
  root["bands"] = LogJson::array();
  for (const accuracy::FittedBand& band : report.bands) {
    root["bands"].push_back({{"name", band.figure.name},
                             {"index", band.figure.index},
                             {"half_width_percent", band.percent},
                             {"points", band.points}});
  }
  root["untold"] = report.untold;
  root["skipped"] = LogJson::object();
  for (const auto& [reason, count] : input.skipped)
    root["skipped"][reason] = count;
  root["residuals"] = LogJson::array();
  for (const accuracy::Row& row : report.rows) {
    root["residuals"].push_back({{"id", row.id},
                                 {"measured", row.measured},
                                 {"predicted", *row.predicted},
                                 {"ape", row.ape()}});
  }
  return root.dump(2) + "\n";
}

}  // namespace flowplan::report
