#include "flowplan/model/precision.hpp"

#include <catch2/catch.hpp>

namespace flowplan::model::precision_test {

TEST_CASE("every precision is found by its name, whatever the case") {
  for (const Precision p : all_precisions())
    CHECK(find_precision(name(p)) == p);
  CHECK(find_precision("BF16") == Precision::bf16);
  CHECK_FALSE(find_precision("bf17").has_value());
  CHECK_FALSE(find_precision("").has_value());
}

TEST_CASE("bytes of an element include its block scales") {
  CHECK(bytes_per_element(Precision::bf16) == 2.0);
  CHECK(bytes_per_element(Precision::fp8) == 1.0);
  CHECK(bytes_per_element(Precision::mxfp8) == 1.03125);
  CHECK(bytes_per_element(Precision::nvfp4) == 0.5625);
}

}  // namespace flowplan::model::precision_test
