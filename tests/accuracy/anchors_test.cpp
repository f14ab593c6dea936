// Guards single points, not an average: each row of anchors.csv is a measured point with its own
// tolerance. After a change that makes predictions better, write new tolerances with
// FLOWPLAN_ACCEPT_GOLDEN=1 ctest --preset release -R accuracy and review the difference.
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "flowplan/accuracy/validate.hpp"
#include "flowplan/base/csv_table.hpp"
#include "shipped_catalog.hpp"

namespace anchors_test {

using namespace flowplan;

namespace {

const std::string folder = FLOWPLAN_SOURCE_DIR "/tests/accuracy/";
const std::vector<std::string> files{"collectives.csv", "training.csv", "serving-latency.csv",
                                     "serving-throughput.csv", "serving-runs.csv"};

/// Tolerances in percent. A point further off than the last is no anchor: its error is known and
/// shown by `flowplan validate`, but guards nothing.
constexpr double classes[] = {2, 5, 10, 15, 20, 30};
/// A point gets the first class that leaves this much room above its error.
constexpr double room = 1.0;

using Errors = std::map<std::pair<std::string, std::string>, double>;  // (id, metric) -> percent

Errors errors_of(const catalog::Catalog& catalog, const std::string& file) {
  const auto report = accuracy::validate(catalog, folder + file);
  INFO((report ? "" : render(report.error())));
  REQUIRE(report);
  Errors errors;
  for (const accuracy::Row& row : report->details) {
    if (row.predicted) errors[{row.id, row.metric}] = row.ape();
  }
  return errors;
}

void write_anchors(const std::map<std::string, Errors>& errors) {
  std::ofstream out(folder + "anchors.csv");
  out << "file,id,metric,tolerance_percent\n";
  for (const auto& [file, rows] : errors) {
    for (const auto& [key, error] : rows) {
      for (const double tolerance : classes) {
        if (error + room > tolerance) continue;
        out << fmt::format("{},{},{},{:g}\n", file, key.first, key.second, tolerance);
        break;
      }
    }
  }
}

}  // namespace

TEST_CASE("no anchor leaves its tolerance", "[slow]") {
  std::map<std::string, Errors> errors;
  for (const std::string& file : files)
    errors[file] = errors_of(accuracy::shipped_catalog(), file);
  if (std::getenv("FLOWPLAN_ACCEPT_GOLDEN") != nullptr) write_anchors(errors);

  const auto anchors = CsvTable::read(folder + "anchors.csv");
  INFO((anchors ? "" : render(anchors.error())));
  REQUIRE(anchors);
  REQUIRE(anchors->rows() > 100);
  for (std::size_t r = 0; r < anchors->rows(); ++r) {
    const std::string& file = anchors->text(r, "file");
    const std::string& id = anchors->text(r, "id");
    const std::string& metric = anchors->text(r, "metric");
    const double tolerance = anchors->number(r, "tolerance_percent").value();
    INFO(file << " " << id << " " << metric);
    const auto found = errors[file].find({id, metric});
    if (found == errors[file].end()) {
      FAIL_CHECK("an anchor is no longer predicted");
    } else if (found->second > tolerance) {
      FAIL_CHECK(fmt::format("{:.2f} % off, {} % allowed", found->second, tolerance));
    }
  }
}

}  // namespace anchors_test
