#include "flowplan/report/validation.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using accuracy::Report;
using accuracy::Row;
using accuracy::Score;
using By = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t worst_rows = 10;

std::string error_text(double percent_value) {
  return fmt::format("{:.1f}", percent_value);
}

std::string label(const By& by) {
  std::string text;
  for (const auto& [key, value] : by)
    text += (text.empty() ? "" : ", ") + key + " " + value;
  return text;
}

std::vector<Cell> scored(std::string name, const Score& score, bool left_out) {
  const auto of_any = [&](std::string text) { return score.n > 0 ? std::move(text) : "-"; };
  std::vector<Cell> cells{std::move(name),
                          fmt::format("{}", score.n),
                          of_any(error_text(score.median_ape)),
                          of_any(error_text(score.mean_ape)),
                          of_any(error_text(score.p90_ape)),
                          of_any(fmt::format("{:+.1f}", score.bias)),
                          score.banded == 0
                              ? "-"
                              : fmt::format("{:.0f} %", 100.0 * static_cast<double>(score.in_band) /
                                                            static_cast<double>(score.banded))};
  if (left_out) {
    const bool any = score.left_out > 0;
    cells.push_back(fmt::format("{}", score.left_out));
    cells.push_back(any ? error_text(score.left_out_median_ape) : "-");
    cells.push_back(any ? error_text(score.left_out_p90_ape) : "-");
  }
  return cells;
}

Section errors(const Report& report) {
  Section section{report.file,
                  {{"rows", fmt::format("{}, predicted {}, skipped {}", report.rows,
                                        report.predicted, report.rows - report.predicted)}},
                  Table{{{"absolute error, %", false},
                         {"rows"},
                         {"median"},
                         {"mean"},
                         {"p90"},
                         {"bias"},
                         {"in band"}},
                        {}},
                  {}};
  const bool left_out = report.overall.left_out > 0;
  if (left_out)
    for (const char* column : {"left out", "median of those", "p90 of those"})
      section.table->columns.push_back({column});
  section.table->rows.push_back(scored("overall", report.overall, left_out));
  for (const Report::Group& group : report.groups)
    section.table->rows.push_back(scored(label(group.by), group.score, left_out));
  return section;
}

Section sources(const Report& report) {
  Section section{
      "Sources", {}, Table{{{"rows"}, {"measured by", false}, {"date", false}}, {}}, {}};
  for (const Report::Source& source : report.sources) {
    std::string dates = source.first_date;
    if (source.last_date != source.first_date) dates += " to " + source.last_date;
    section.table->rows.push_back(
        {fmt::format("{}", source.rows), source.name, dates.empty() ? "as its name says" : dates});
  }
  return section;
}

Section skipped(const Report& report) {
  Section section{"Skipped", {}, Table{{{"rows"}, {"reason", false}}, {}}, {}};
  for (const auto& [reason, count] : report.skipped)
    section.table->rows.push_back({fmt::format("{}", count), reason});
  return section;
}

std::vector<Cell> detail(const Row& row) {
  return {row.id, row.metric, significant(row.measured), significant(*row.predicted),
          fmt::format("{:+.1f}", 100.0 * (*row.predicted / row.measured - 1.0))};
}

Section details(const Report& report, bool all) {
  std::vector<const Row*> rows;
  for (const Row& row : report.details) {
    if (row.predicted) rows.push_back(&row);
  }
  if (!all) {
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row* a, const Row* b) { return a->ape() > b->ape(); });
    rows.resize(std::min(worst_rows, rows.size()));
  }
  Section section{
      all ? "Rows" : "Worst rows",
      {},
      Table{{{"id", false}, {"metric", false}, {"measured"}, {"predicted"}, {"error, %"}}, {}},
      {}};
  for (const Row* row : rows)
    section.table->rows.push_back(detail(*row));
  return section;
}

nlohmann::ordered_json score_json(const Score& score) {
  Json json{{"n", score.n},
            {"median_ape", score.median_ape},
            {"mean_ape", score.mean_ape},
            {"p90_ape", score.p90_ape},
            {"bias", score.bias},
            {"banded", score.banded},
            {"in_band", score.in_band}};
  if (score.left_out > 0) {
    json["left_out"] = score.left_out;
    json["left_out_median_ape"] = score.left_out_median_ape;
    json["left_out_p90_ape"] = score.left_out_p90_ape;
  }
  return json;
}

nlohmann::ordered_json report_json(const Report& report, bool rows) {
  Json reasons = Json::object();
  for (const auto& [reason, count] : report.skipped)
    reasons[reason] = count;
  Json groups = Json::array();
  for (const Report::Group& group : report.groups) {
    Json by = Json::object();
    for (const auto& [key, value] : group.by)
      by[key] = value;
    Json json{{"by", std::move(by)}};
    json.update(score_json(group.score));
    groups.push_back(std::move(json));
  }
  Json json{{"file", report.file},
            {"rows", report.rows},
            {"predicted", report.predicted},
            {"skipped", std::move(reasons)},
            {"overall", score_json(report.overall)},
            {"groups", std::move(groups)}};
  if (!report.sources.empty()) {
    json["sources"] = Json::array();
    for (const Report::Source& source : report.sources)
      json["sources"].push_back({{"source", source.name},
                                 {"rows", source.rows},
                                 {"first_date", source.first_date},
                                 {"last_date", source.last_date}});
  }
  if (!rows) return json;
  Json details = Json::array();
  for (const Row& row : report.details) {
    if (!row.predicted) continue;
    details.push_back({{"id", row.id},
                       {"metric", row.metric},
                       {"measured", row.measured},
                       {"predicted", *row.predicted},
                       {"ape", row.ape()}});
  }
  json["rows_detail"] = std::move(details);
  return json;
}

}  // namespace

Document validation(const std::vector<Report>& reports, bool rows) {
  Document document;
  for (const Report& report : reports) {
    document.sections.push_back(errors(report));
    if (!report.skipped.empty()) document.sections.push_back(skipped(report));
    if (report.predicted > 0) document.sections.push_back(details(report, rows));
    if (!report.sources.empty()) document.sections.push_back(sources(report));
  }
  return document;
}

std::string validation_json(const std::vector<Report>& reports, bool rows) {
  nlohmann::ordered_json files = nlohmann::ordered_json::array();
  for (const Report& report : reports)
    files.push_back(report_json(report, rows));
  const nlohmann::ordered_json json{{"format_version", result_format_version},
                                    {"kind", "validation"},
                                    {"files", std::move(files)}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
