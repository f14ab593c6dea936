#include "flowplan/catalog/import_ec2.hpp"

#include <nlohmann/json.hpp>

#include "support.hpp"

namespace flowplan::catalog::import_ec2_test {

namespace {

std::string types_text() {
  return read_text(FLOWPLAN_SOURCE_DIR "/tests/catalog/files/instance-types.json", 1 << 20).value();
}

Ec2Import imported(const std::string& text) {
  auto made = import_ec2(our_catalog(), text, "ec2.json");
  if (!made) FAIL(render(made.error()));
  return std::move(*made);
}

std::string told(const std::string& text) {
  const auto made = import_ec2(our_catalog(), text, "ec2.json");
  return made ? std::string() : render(made.error());
}

}  // namespace

TEST_CASE("instance types become an overlay that the catalog takes") {
  const Ec2Import import = imported(types_text());
  REQUIRE(import.types.size() == 2);
  CHECK(import.types[0].id == "p5.48xlarge");
  CHECK(import.types[0].like.empty());
  CHECK(import.types[1].id == "p5.24xlarge");
  CHECK(import.types[1].like == "p5.48xlarge");  // the largest of its family
  CHECK(import.types[1].gpu == "H100-SXM-80GB");
  REQUIRE(import.refused.size() == 2);
  CHECK(import.refused[0].reason == "the catalog has no L4 of 22888 MiB");
  CHECK(import.refused[1].reason == "it has no GPU");

  const auto catalog = with_overlay(import.overlay);
  INFO((catalog ? std::string() : render(catalog.error())));
  REQUIRE(catalog.has_value());
  const Instance& half = **catalog->instance("p5.24xlarge");
  CHECK(half.gpus == 4);
  CHECK(half.nvlink_domain_gpus == 4);
  CHECK(half.efa_per_gpu() == gigabytes_per_second(50));
  CHECK(half.host_memory_mib.value == 1048576);
  CHECK(half.nvme_total_gb.value == 15200);
  // What the API rounds is the GPU's own.
  CHECK(half.hbm_reported_mib_per_gpu.value == 81559);
  CHECK_THAT(half.hbm_reported_mib_per_gpu.source.text, Catch::Contains("p5.48xlarge"));
  CHECK(half.hbm_reported_mib_per_gpu.source.confidence == "inferred");
  CHECK_THAT(half.vcpus.source.text, Catch::Contains("DescribeInstanceTypes"));
}

TEST_CASE("of a type that the catalog has, differences are told and usable bandwidth stays") {
  auto json = nlohmann::ordered_json::parse(types_text());
  auto& type = json["InstanceTypes"][0];
  type["VCpuInfo"]["DefaultVCpus"] = 200;
  type["NetworkInfo"]["NetworkPerformance"] = "4x 900 Gigabit";
  const Ec2Import import = imported(json.dump());
  const auto& differences = import.types[0].differences;
  REQUIRE(differences.size() == 2);
  for (const FigureDifference& one : differences) {
    if (one.figure == "vcpus") {
      CHECK(one.catalog == 192);
      CHECK(one.ec2 == 200);
      CHECK_FALSE(one.kept);
    } else {
      CHECK(one.figure == "efa_gbps_total");
      CHECK(one.ec2 == 3600);
      CHECK(one.kept);
    }
  }
  const auto catalog = with_overlay(import.overlay);
  REQUIRE(catalog.has_value());
  CHECK((*catalog->instance("p5.48xlarge"))->vcpus.value == 200);
  CHECK((*catalog->instance("p5.48xlarge"))->efa_per_gpu() == gigabytes_per_second(50));
}

TEST_CASE("offers of Capacity Blocks become prices, the cheapest of each start") {
  const Ec2Import import = imported(R"({"CapacityBlockOfferings": [
    {"CapacityBlockOfferingId": "cb-1", "InstanceType": "p5.48xlarge",
     "AvailabilityZone": "us-east-2a", "InstanceCount": 16, "CapacityBlockDurationHours": 24,
     "StartDate": "2027-01-10T11:30:00+00:00", "EndDate": "2027-01-11T11:30:00+00:00",
     "UpfrontFee": "19200.0000", "CurrencyCode": "USD", "Tenancy": "default"},
    {"CapacityBlockOfferingId": "cb-2", "InstanceType": "p5.48xlarge",
     "AvailabilityZone": "us-east-2b", "InstanceCount": 16, "CapacityBlockDurationHours": 48,
     "StartDate": "2027-01-10T11:30:00+00:00", "UpfrontFee": "30720.0", "CurrencyCode": "USD"},
    {"UltraserverType": "u-p6e-gb200x72", "UltraserverCount": 1, "AvailabilityZone":
     "us-east-1-dfw-2a", "CapacityBlockDurationHours": 24, "StartDate": "2027-02-01T11:30:00Z",
     "UpfrontFee": "24000", "CurrencyCode": "USD"},
    {"InstanceType": "p5en.48xlarge", "InstanceCount": 1, "AvailabilityZone": "us-gov-west-1b",
     "CapacityBlockDurationHours": 24, "StartDate": "2027-02-01T11:30:00Z", "UpfrontFee": 1800}]})");
  REQUIRE(import.offerings.size() == 4);
  CHECK(import.offerings[0].per_unit_hour == Usd(50));
  CHECK(import.offerings[1].per_unit_hour == Usd(40));
  const auto catalog = with_overlay(import.overlay);
  INFO((catalog ? std::string() : render(catalog.error())));
  REQUIRE(catalog.has_value());
  const auto price = catalog->price("p5.48xlarge", "capacity_block", "us-east-2");
  REQUIRE(price);
  CHECK(price->per_hour == Usd(40));
  CHECK(price->as_of == "2027-01-10");
  CHECK(catalog->price("p5en.48xlarge", "capacity_block", "us-gov-west-1")->per_hour == Usd(75));
  CHECK(catalog->price("u-p6e-gb200x72", "capacity_block", "us-east-1-dfw")->per_hour == Usd(1000));
}

TEST_CASE("reservations are listed") {
  const Ec2Import import = imported(R"({"CapacityReservations": [
    {"CapacityReservationId": "cr-1", "InstanceType": "p5.48xlarge", "AvailabilityZone":
     "us-east-1a", "TotalInstanceCount": 64, "AvailableInstanceCount": 12, "State": "active",
     "StartDate": "2026-01-01T00:00:00Z"}]})");
  REQUIRE(import.reservations.size() == 1);
  CHECK(import.reservations[0].total == 64);
  CHECK(import.reservations[0].available == 12);
  CHECK(import.reservations[0].kind == "default");
  CHECK(import.overlay.empty());
}

TEST_CASE("mistakes of EC2's answers are told with their places") {
  CHECK_THAT(told("{}"), Catch::Contains("FP016") && Catch::Contains("describe-instance-types"));
  CHECK_THAT(told("{\"InstanceTypes\": ["), Catch::Contains("FP010"));
  CHECK_THAT(told("{\"InstanceTypes\": [\n{\"GpuInfo\": {}}]}"),
             Catch::Contains("ec2.json:2:") && Catch::Contains("`InstanceType` is missing"));
  CHECK_THAT(told(R"({"CapacityBlockOfferings": [{"InstanceType": "p5.48xlarge",
    "AvailabilityZone": "us-east-1a", "InstanceCount": "many", "StartDate": "soon",
    "CapacityBlockDurationHours": 24, "UpfrontFee": "1", "CurrencyCode": "EUR"}]})"),
             Catch::Contains("`InstanceCount`: expected a number") && Catch::Contains("EUR") &&
                 Catch::Contains("`soon` begins with no date"));
  const std::string whole = types_text();
  for (std::size_t size = 0; size + 1 < whole.size(); size += 7)
    CHECK_FALSE(told(whole.substr(0, size)).empty());
}

}  // namespace flowplan::catalog::import_ec2_test
