#include "flowplan/accuracy/validate.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "shipped_catalog.hpp"

namespace validate_test {

using namespace flowplan;
using accuracy::Row;

namespace {

Row row(double measured, double predicted) {
  return {"id", "metric", measured, predicted, "", {}, {}};
}

accuracy::Score score(const std::vector<Row>& rows) {
  std::vector<const Row*> pointers;
  for (const Row& one : rows)
    pointers.push_back(&one);
  return accuracy::score(pointers);
}

}  // namespace

TEST_CASE("an error is relative to what was measured, in percent") {
  CHECK(row(4.0, 5.0).ape() == Approx(25.0));
  CHECK(row(4.0, 3.0).ape() == Approx(25.0));
}

TEST_CASE("median, mean, p90 and bias of hand-made errors") {
  // Errors of 0, 10, 20, 30, 40 %: all too high, so the bias is their mean.
  const auto s = score({row(10, 10), row(10, 11), row(10, 12), row(10, 13), row(10, 14)});
  CHECK(s.n == 5);
  CHECK(s.median_ape == Approx(20.0));
  CHECK(s.mean_ape == Approx(20.0));
  CHECK(s.p90_ape == Approx(36.0));  // 0.9 x 4 = rank 3.6: 30 + 0.6 x 10
  CHECK(s.bias == Approx(20.0));
}

TEST_CASE("errors of opposite sign cancel in the bias only") {
  const auto s = score({row(10, 12), row(10, 8)});
  CHECK(s.median_ape == Approx(20.0));
  CHECK(s.bias == Approx(0.0).margin(1e-12));
}

TEST_CASE("no rows have no error") {
  CHECK(score({}).n == 0);
}

TEST_CASE("a table that no format knows is refused with the known headers") {
  const auto path = std::filesystem::temp_directory_path() / "flowplan_validate_test.csv";
  std::ofstream(path) << "a,b\n1,2\n";
  const auto report = accuracy::validate(accuracy::shipped_catalog(), path.string());
  REQUIRE(!report);
  CHECK(report.error()[0].code == Code::wrong_kind_of_file);
  CHECK(report.error()[0].hint.find("collectives") != std::string::npos);
  CHECK(report.error()[0].hint.find("training") != std::string::npos);
  std::filesystem::remove(path);
}

TEST_CASE("errors of rows left out of a fit are scored beside: those beside the file and others") {
  const auto folder = std::filesystem::temp_directory_path();
  const auto path = (folder / "flowplan_few.csv").string();
  const auto beside = (folder / "flowplan_few-left-out.csv").string();
  const auto other = (folder / "flowplan_other.csv").string();
  std::ifstream all(FLOWPLAN_SOURCE_DIR "/tests/accuracy/collectives.csv");
  std::ofstream few(path);
  for (std::string line; std::getline(all, line);)
    if (line.starts_with("id,") || line.starts_with("C0147,") || line.starts_with("C0148,"))
      few << line << "\n";
  few.close();
  std::ofstream(beside) << "id,left_out_error_percent\nC0147,-8\nC9999,50\n";
  std::ofstream(other)
      << "id,left_out_time_us_error_percent,left_out_busbw_error_percent\nC0148,2,70\n";
  const auto report = accuracy::validate(accuracy::shipped_catalog(), path, {other});
  REQUIRE(report);
  CHECK(report->overall.n == 2);
  CHECK(report->overall.left_out == 2);
  CHECK(report->overall.left_out_median_ape == Approx(5.0));  // between 2 and 8
  CHECK(report->overall.left_out_p90_ape == Approx(7.4));     // 2 + 0.9 x 6

  const auto refused = accuracy::validate(accuracy::shipped_catalog(), path, {path});
  REQUIRE(!refused);
  CHECK(refused.error()[0].code == Code::wrong_kind_of_file);
  for (const auto& file : {path, beside, other})
    std::filesystem::remove(file);
}

}  // namespace validate_test
