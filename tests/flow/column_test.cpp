#include "flowplan/flow/column.hpp"

#include <random>

#include <catch2/catch.hpp>

namespace column_test {

using flowplan::flow::Column;

TEST_CASE("a column of usual numbers reads like one that is spelt out") {
  Column column(1.0);
  column.reserve(4);
  CHECK(column.size() == 0);
  CHECK(column.is_usual());
  column.push_back(1.0);
  column.push_usual(2);
  CHECK(column.size() == 3);
  CHECK(column.is_usual());
  CHECK(column[2] == 1.0);
  CHECK(column.list() == std::vector<double>{1, 1, 1});
}

TEST_CASE("the first unusual number leaves the others as they were") {
  Column column(1.0);
  column.push_back(5.0);
  column.push_usual(2);
  CHECK(column.list() == std::vector<double>{5, 1, 1});
  CHECK_FALSE(column.is_usual());
  column.set(0, 1.0);
  column.set(2, 1.0);
  CHECK(column.is_usual());
}

TEST_CASE("a column is a vector, whatever is done to it") {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    Column column(0.0);
    std::vector<double> expected;
    for (int step = 0; step < 20; ++step) {
      // Two of three numbers are usual.
      const double value = random() % 3 == 0 ? static_cast<double>(random() % 5) : 0.0;
      if (expected.empty() || random() % 3 != 0) {
        column.push_back(value);
        expected.push_back(value);
      } else if (random() % 2 == 0) {
        const std::size_t at = random() % expected.size();
        column.set(at, value);
        expected[at] = value;
      } else {
        column.push_usual(2);
        expected.resize(expected.size() + 2, 0.0);
      }
    }
    REQUIRE(column.list() == expected);
    REQUIRE(column.size() == expected.size());
    for (std::size_t at = 0; at < expected.size(); ++at)
      REQUIRE(column[at] == expected[at]);
  }
}

}  // namespace column_test
