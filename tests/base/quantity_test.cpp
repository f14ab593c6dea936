#include "flowplan/base/quantity.hpp"

#include <catch2/catch.hpp>

#include "flowplan/base/parse_quantity.hpp"

namespace quantity_test {

using namespace flowplan;

TEST_CASE("bits, bytes, decimal and binary units convert once") {
  CHECK(gigabits_per_second(3200).value() == 400e9);
  CHECK(gibibytes(1).value() == 1073741824.0);
  CHECK(gigabytes(1).value() == 1e9);
  CHECK((gigabytes(100) / gigabits_per_second(400)).value() == Approx(2.0));
  CHECK((Flops(2e12) / teraflops_per_second(1)).value() == Approx(2.0));
  CHECK((Bytes(6) / Bytes(3)) == 2.0);
}

TEST_CASE("sizes as people type them are read strictly") {
  CHECK(parse_bytes("64MiB")->value() == 67108864.0);
  CHECK(parse_bytes("1GB")->value() == 1e9);
  CHECK(parse_bytes("1.5 TB")->value() == 1.5e12);
  CHECK(parse_bandwidth("3.2Tbps")->value() == 400e9);
  CHECK(parse_bandwidth("50GB/s")->value() == 50e9);
  CHECK(*parse_count("15T") == 15e12);
  CHECK(*parse_count("1024") == 1024.0);
  CHECK(parse_duration("30d")->value() == 30 * 86400.0);
  CHECK(parse_nccl_size("16G")->value() == 17179869184.0);
  CHECK(parse_nccl_size("8")->value() == 8.0);
  for (const char* bad : {"64", "64Mb", "64 M", "GB", "", "-1GB", "1GBx", "nanGB", "1e999GB"}) {
    INFO(bad);
    REQUIRE_FALSE(parse_bytes(bad));
    CHECK(parse_bytes(bad).error().at(0).code == Code::bad_quantity);
  }
  CHECK_FALSE(parse_bandwidth("400GB"));
  CHECK_FALSE(parse_count("0"));
  CHECK_FALSE(parse_nccl_size("16GB"));
  CHECK(parse_nccl_size("1073741824G")->value() == 0x1p60);
  CHECK_FALSE(parse_nccl_size("9999999999999G"));
}

}  // namespace quantity_test
