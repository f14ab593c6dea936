#include "flowplan/base/csv_table.hpp"

#include <catch2/catch.hpp>

namespace csv_table_test {

using namespace flowplan;

TEST_CASE("quoted cells, commas and line ends are read as RFC 4180 says") {
  const auto table = CsvTable::parse("id,note\r\n1,\"a, \"\"b\"\"\nc\"\r\n2,\r\n", "t.csv");
  REQUIRE(table);
  CHECK(table->rows() == 2);
  CHECK(table->text(0, "note") == "a, \"b\"\nc");
  CHECK(table->text(1, "note").empty());
  CHECK(table->text(1, "absent").empty());
  CHECK(table->number(1, "id") == 2.0);
  CHECK_FALSE(table->number(0, "note"));
}

TEST_CASE("a number cell must be a number entirely") {
  const auto table = CsvTable::parse("a,b,c\n1.5e3,12x,inf\n", "t.csv");
  REQUIRE(table);
  CHECK(table->number(0, "a") == 1500.0);
  CHECK_FALSE(table->number(0, "b"));
  CHECK_FALSE(table->number(0, "c"));
}

TEST_CASE("rows of another width and empty texts are refused with their line") {
  const auto ragged = CsvTable::parse("a,b\n1,2\n3\n", "t.csv");
  REQUIRE_FALSE(ragged);
  CHECK(ragged.error().at(0).code == Code::csv_syntax);
  CHECK(ragged.error().at(0).place.line == 3);
  CHECK_FALSE(CsvTable::parse("", "t.csv"));
  CHECK_FALSE(CsvTable::parse("a\n\"open\n", "t.csv"));
}

}  // namespace csv_table_test
