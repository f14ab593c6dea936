#include "flowplan/report/training_fit.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using StepJson = nlohmann::ordered_json;

/// "4.1 / 6.4 / 14.8"
std::string three(const accuracy::Score& score) {
  if (score.n == 0) return "";
  return fmt::format("{:.1f} / {:.1f} / {:.1f}", score.median_ape, score.mean_ape, score.p90_ape);
}

std::vector<Cell> step_cells(const accuracy::StepErrors& errors) {
  return {errors.part,          fmt::format("{}", errors.before.n), three(errors.before),
          three(errors.fitted), three(errors.group_left_out),       three(errors.source_left_out)};
}

StepJson step_score(const accuracy::Score& score) {
  if (score.n == 0) return nullptr;
  return {{"median_ape", score.median_ape},
          {"mean_ape", score.mean_ape},
          {"p90_ape", score.p90_ape},
          {"bias", score.bias}};
}

StepJson step_errors(const accuracy::StepErrors& errors) {
  return {{"part", errors.part},
          {"n", errors.before.n},
          {"before", step_score(errors.before)},
          {"fitted", step_score(errors.fitted)},
          {"group_left_out", step_score(errors.group_left_out)},
          {"source_left_out", step_score(errors.source_left_out)}};
}

}  // namespace

Document training_fit(const accuracy::StepFitReport& report) {
  Document document;
  document.title = "Fit of whole training steps";
  document.lead = fmt::format("{} rows tell {} figures", report.rows.size(), report.figures.size());
  Section errors;
  errors.title = "Absolute error, %: median / mean / p90";
  errors.table = Table{
      {{"", false}, {"rows"}, {"before"}, {"fitted"}, {"groups left out"}, {"source left out"}},
      {}};
  errors.table->rows.push_back(step_cells(report.overall));
  for (const accuracy::StepErrors& part : report.parts) {
    auto cells = step_cells(part);
    cells.front().indent = 1;
    errors.table->rows.push_back(std::move(cells));
  }
  document.sections.push_back(std::move(errors));

  Section figures;
  figures.title = "Figures";
  figures.table =
      Table{{{"set", false}, {"figure", false}, {"before"}, {"after"}, {"+-, %"}, {"rows"}}, {}};
  for (const accuracy::StepFigure& figure : report.figures) {
    figures.table->rows.push_back(
        {figure.set, figure.name, significant(figure.before), significant(figure.after),
         fmt::format("{:.0f}", 100.0 * figure.spread), fmt::format("{}", figure.points)});
  }
  if (report.kept > 0)
    figures.remarks.push_back(
        fmt::format("{} figures kept: no row's time changes with them", report.kept));
  document.sections.push_back(std::move(figures));
  return document;
}

std::string training_fit_json(const accuracy::StepFitReport& report) {
  StepJson root;
  root["format_version"] = result_format_version;
  root["kind"] = "training_fit";
  root["overall"] = step_errors(report.overall);
  root["parts"] = StepJson::array();
  for (const accuracy::StepErrors& part : report.parts)
    root["parts"].push_back(step_errors(part));
  root["figures"] = StepJson::array();
  for (const accuracy::StepFigure& figure : report.figures) {
    root["figures"].push_back({{"set", figure.set},
                               {"name", figure.name},
                               {"before", figure.before},
                               {"after", figure.after},
                               {"spread", figure.spread},
                               {"rows", figure.points}});
  }
  return root.dump(2) + "\n";
}

}  // namespace flowplan::report
