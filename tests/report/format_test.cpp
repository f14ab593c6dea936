#include "flowplan/report/format.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <catch2/catch.hpp>

namespace format_test {

using namespace flowplan;
using namespace flowplan::report;

TEST_CASE("numbers are rounded to significant digits and grouped") {
  CHECK(significant(4.7131) == "4.713");
  CHECK(significant(0.0471319) == "0.04713");
  CHECK(significant(4021377.0) == "4,021,000");
  CHECK(significant(999.96) == "1,000");
  CHECK(significant(9.99996) == "10.00");
  CHECK(significant(-1234.6) == "-1,235");
  CHECK(significant(0.0) == "0");
  CHECK(significant(12.0, 3) == "12.0");
  CHECK(significant(std::numeric_limits<double>::quiet_NaN()) == "-");
}

TEST_CASE("rounding keeps the value within half a unit of the last digit") {
  for (double value = 1.2345e-4; value < 1e12; value *= 3.7) {
    std::string text = significant(value);
    text.erase(std::remove(text.begin(), text.end(), ','), text.end());
    INFO(value << " as " << text);
    CHECK(std::abs(std::stod(text) / value - 1.0) <= 0.5e-3);
  }
}

TEST_CASE("counts are exact and grouped, or short with a letter") {
  CHECK(grouped(1788140) == "1,788,140");
  CHECK(grouped(999) == "999");
  CHECK(grouped(-1000) == "-1,000");
  CHECK(short_count(15e12) == "15 T");
  CHECK(short_count(70.56e9) == "70.6 B");
  CHECK(short_count(512) == "512");
}

TEST_CASE("times, bytes and rates choose their unit") {
  CHECK(duration(Seconds(4.7131)) == "4.713 s");
  CHECK(duration(Seconds(0.0123)) == "12.30 ms");
  CHECK(duration(microseconds(45.6)) == "45.60 us");
  CHECK(duration(days(43.12)) == "43.1 d");
  CHECK(duration(hours(5.2)) == "5.20 h");
  CHECK(binary_bytes(gibibytes(61.24)) == "61.2 GiB");
  CHECK(binary_bytes(Bytes(512)) == "512 B");
  CHECK(binary_bytes(gibibytes(-3.5)) == "-3.50 GiB");
  CHECK(gib(gibibytes(61.239)) == "61.24");
  CHECK(bandwidth(gigabytes_per_second(3200)) == "3,200 GB/s");
  CHECK(bandwidth(gigabytes_per_second(25600)) == "25.60 TB/s");
  CHECK(percent(0.4167) == "41.7 %");
}

}  // namespace format_test
