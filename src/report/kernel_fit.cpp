#include "flowplan/report/kernel_fit.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json_format.hpp"

namespace flowplan::report {
namespace {

std::string two_errors(const accuracy::Score& score) {
  return fmt::format("{:.1f} / {:.1f}", score.median_ape, score.p90_ape);
}

std::vector<Cell> kernel_cells(const accuracy::KernelErrors& errors, int depth) {
  return {Cell::at_depth(errors.table, depth), fmt::format("{}", errors.law.n),
          two_errors(errors.law), two_errors(errors.shipped), two_errors(errors.left_out)};
}

Json kernel_score(const accuracy::Score& score) {
  return {{"median_ape", score.median_ape}, {"p90_ape", score.p90_ape}, {"bias", score.bias}};
}

Json kernel_errors(const accuracy::KernelErrors& errors) {
  return {{"table", errors.table},
          {"n", errors.law.n},
          {"law", kernel_score(errors.law)},
          {"shipped", kernel_score(errors.shipped)},
          {"left_out", kernel_score(errors.left_out)}};
}

}  // namespace

Document kernel_fit(const accuracy::KernelFitReport& report) {
  Section section{
      "Absolute error, %: median / p90",
      {},
      Table{{{"table", false}, {"rows"}, {"law alone"}, {"shipped"}, {"groups left out"}}, {}},
      {"shipped surfaces saw every row; left out: a surface fitted without a third of the groups "
       "(a GEMM's (n, k), a head count, an expert's width), in turn"}};
  if (report.untold > 0) {
    section.remarks.push_back(fmt::format(
        "{} rows passed over: their tables have too few groups to leave one out", report.untold));
  }
  section.table->rows.push_back(kernel_cells(report.overall, 0));
  for (const accuracy::KernelErrors& table : report.tables)
    section.table->rows.push_back(kernel_cells(table, 1));
  return {"Kernels, by sizes left out of their surfaces", "", {std::move(section)}};
}

std::string kernel_fit_json(const accuracy::KernelFitReport& report) {
  Json tables = Json::array();
  for (const accuracy::KernelErrors& table : report.tables)
    tables.push_back(kernel_errors(table));
  const Json json{{"format_version", result_format_version},
                  {"kind", "kernel_fit"},
                  {"overall", kernel_errors(report.overall)},
                  {"tables", std::move(tables)}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
