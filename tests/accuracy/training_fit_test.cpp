#include "flowplan/accuracy/training_fit.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <catch2/catch.hpp>

#include "shipped_catalog.hpp"

namespace flowplan::accuracy::training_fit_test {

namespace {

/// The rows of the project's own file that mention a text.
CsvTable rows_of(const std::string& mentioned) {
  std::ifstream file(FLOWPLAN_SOURCE_DIR "/tests/accuracy/training.csv");
  std::string line, text;
  for (bool header = true; std::getline(file, line); header = false)
    if (header || line.find(mentioned) != std::string::npos) text += line + "\n";
  auto table = CsvTable::parse(text, "rows.csv");
  if (!table) FAIL(render(table.error()));
  return std::move(*table);
}

StepFitReport must_fit(const CsvTable& table, bool leave_out) {
  auto report = fit_training(shipped_catalog(), table, leave_out);
  if (!report) FAIL(render(report.error()));
  return std::move(*report);
}

}  // namespace

TEST_CASE(
    "a fit of whole steps moves the figures that its rows tell, within what they were held to") {
  const StepFitReport report = must_fit(rows_of("fms-fsdp"), false);
  REQUIRE(report.rows.size() >= 4);
  CHECK(report.kept > report.figures.size());
  for (const StepFigure& figure : report.figures) {
    INFO(figure.set << " " << figure.name);
    // Five rows of one framework on A100 and H100 tell nothing of others, nor of Blackwell.
    CHECK((figure.set == "framework-fms-fsdp" || figure.set == "framework-torchtitan" ||
           figure.set == "framework-megatron-core" || figure.set == "kernels-a100" ||
           figure.set == "kernels-hopper" || figure.set == "kernels-common"));
    CHECK(figure.points >= 1);
    CHECK(figure.after > 0.3 * figure.before);
    CHECK(figure.after < 3.0 * figure.before);
  }
  CHECK(report.overall.fitted.mean_ape < report.overall.before.mean_ape);
  CHECK(report.overall.group_left_out.n == 0);
}

TEST_CASE("rows are predicted by the other half of the groups and without their source", "[slow]") {
  const StepFitReport report = must_fit(rows_of("torchtitan"), true);
  CHECK(report.overall.group_left_out.n == report.rows.size());
  CHECK(report.overall.source_left_out.n == report.rows.size());
  REQUIRE(report.source_left_out_percent.size() == report.rows.size());
  // In sample is the least of the three, by what is minimised and nearly so by the mean.
  CHECK(report.overall.fitted.mean_ape <= report.overall.group_left_out.mean_ape + 0.5);
  const std::string by_group = training_fit_residuals(report, false);
  CHECK_THAT(by_group, Catch::StartsWith("id,part,measured,in_sample_error_percent,"
                                         "left_out_error_percent\n"));
  CHECK(static_cast<std::size_t>(std::count(by_group.begin(), by_group.end(), '\n')) ==
        report.rows.size() + 1);
  CHECK(by_group != training_fit_residuals(report, true));
}

TEST_CASE("an overlay of fitted steps brings the errors of the fit") {
  const CsvTable table = rows_of("fms-fsdp");
  const StepFitReport report = must_fit(table, false);
  const auto path = std::filesystem::temp_directory_path() / "flowplan-step-overlay.json";
  std::ofstream(path) << training_fit_overlay(shipped_catalog(), report, "rows.csv");
  const auto overlaid = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs", {path.string()});
  std::filesystem::remove(path);
  if (!overlaid) FAIL(render(overlaid.error()));
  std::size_t i = 0;
  for (const Row& row : training_rows(*overlaid, table)) {
    if (!row.predicted) continue;
    CHECK(*row.predicted == Approx(*report.rows[i++].predicted).epsilon(0.002));
  }
  CHECK(i == report.rows.size());
}

TEST_CASE("too few rows to fit whole steps are refused") {
  const auto table =
      CsvTable::parse("id,recompute,metric,framework\n1,none,step_time,x\n", "few.csv");
  REQUIRE(table);
  CHECK(is_training_table(*table));
  const auto report = fit_training(shipped_catalog(), *table, false);
  REQUIRE_FALSE(report);
  CHECK(report.error().front().code == Code::bad_measurement);
  CHECK(report.error().front().place.file == "few.csv");
}

}  // namespace flowplan::accuracy::training_fit_test
