#include "flowplan/catalog/storage.hpp"

#include <catch2/catch.hpp>

#include "support.hpp"

namespace flowplan::catalog::storage_test {

namespace {

const StorageService& service(const std::string& name) {
  const auto found = our_catalog().storage(name);
  INFO((found ? std::string() : render(found.error())));
  REQUIRE(found.has_value());
  return **found;
}

}  // namespace

TEST_CASE("every service has a kind, figures with a source, and nothing contradictory") {
  CHECK(our_catalog().storage_services().size() >= 18);
  for (const StorageService& s : our_catalog().storage_services()) {
    INFO(s.id);
    CHECK(find_storage_kind(name(s.kind)) == s.kind);
    CHECK(faults_of(s).empty());
    for (const Fact& fact : s.facts) {
      INFO(fact.name);
      CHECK_FALSE(fact.figure.source.text.empty());
      CHECK_FALSE(fact.figure.source.confidence.empty());
    }
  }
}

TEST_CASE("rates of FSx for Lustre are those of the guide's table") {
  const auto row = [](const char* id, double network, double disk_read, double disk_write,
                      double cache) {
    const StorageService& s = service(id);
    INFO(id);
    CHECK(s.get("network_mib_per_s_per_tib", 0) == network);
    CHECK(s.get("disk_read_mib_per_s_per_tib", 0) == disk_read);
    CHECK(s.get("disk_write_mib_per_s_per_tib", 0) == disk_write);
    CHECK(s.get("cache_gib_per_tib", 0) == cache);
  };
  row("fsx-persistent2-125", 320, 125, 125, 3.4);
  row("fsx-persistent2-250", 640, 250, 250, 6.8);
  row("fsx-persistent2-500", 1300, 500, 500, 13.7);
  row("fsx-persistent2-1000", 2600, 1000, 1000, 27.3);
  row("fsx-persistent1-200", 750, 200, 200, 8.8);
  row("fsx-scratch2", 200, 200, 100, 6.7);
  row("fsx-hdd-12", 40, 12, 12, 0.4);
  row("fsx-hdd-40-ssd-cache", 750, 40, 40, 1.5);
}

TEST_CASE("an EFA step buys 4687.5 MiB/s of disk in every tier") {
  for (const double tier : {125.0, 250.0, 500.0, 1000.0}) {
    const StorageService& s = service("fsx-persistent2-" + std::to_string(static_cast<int>(tier)));
    CHECK(s.get("efa_step_gib", 0) / 1024.0 * tier == 4687.5);
  }
}

TEST_CASE("people's names of services are understood or refused with the choices") {
  CHECK(service("fsx-1000").id == "fsx-persistent2-1000");
  CHECK(service("FSx Persistent2 1000").id == "fsx-persistent2-1000");
  CHECK(service("nvme").id == "local-nvme");
  const auto many = our_catalog().storage("fsx");
  REQUIRE_FALSE(many.has_value());
  CHECK(many.error().front().code == Code::ambiguous_name);
  const auto none = our_catalog().storage("fsx-persistent2-2000");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().front().code == Code::unknown_name);
  CHECK(none.error().front().hint.find("fsx-persistent2-") != std::string::npos);
}

TEST_CASE("a price holds in its region only; unknown stays unknown") {
  const Catalog& c = our_catalog();
  const auto known = c.storage_price("fsx-persistent2-125", "gb_month", "us-east-1");
  REQUIRE(known.has_value());
  CHECK(known->usd.value() == 0.145);
  CHECK_FALSE(c.storage_price("fsx-persistent2-125", "gb_month", "eu-west-1").has_value());
  CHECK_FALSE(c.storage_price("fsx-hdd-12", "gb_month", "us-east-1").has_value());
  CHECK_FALSE(c.storage_price("s3", "iops_month", "us-east-1").has_value());
}

TEST_CASE("an overlay adds prices, services and loaders, and replaces figures") {
  const auto c = with_overlay(R"({
    "sources": {"mine": "our bill, 2026-11"},
    "storage": [
      {"id": "fsx-persistent2-125", "figures": {"network_mib_per_s_per_tib": [333, "mine"]}},
      {"id": "ours", "kind": "object", "name": "our store", "figures": {
        "get_per_s_per_prefix": [1, "mine"], "put_per_s_per_prefix": [1, "mine"],
        "part_mb": [16, "mine"]}}],
    "loaders": [{"id": "direct", "figures": {"node_gbytes_per_s": [7, "mine"]}}],
    "storage_prices": [{"service": "ours", "item": "gb_month", "usd": 0.01,
      "region": "eu-west-1", "as_of": "2026-11", "source": "our bill"}]})");
  INFO((c ? std::string() : render(c.error())));
  REQUIRE(c.has_value());
  CHECK((*c->storage("fsx-persistent2-125"))->get("network_mib_per_s_per_tib", 0) == 333);
  CHECK((*c->storage("fsx-persistent2-125"))->get("disk_read_mib_per_s_per_tib", 0) == 125);
  CHECK((*c->data_loader("direct"))->figure("node_gbytes_per_s").value == 7);
  CHECK(c->storage_price("ours", "gb_month", "eu-west-1")->usd.value() == 0.01);
}

TEST_CASE("faults of storage entries are told with their place") {
  const auto c = with_overlay(R"({
    "sources": {"mine": "x"},
    "storage": [{"id": "ours", "kind": "object", "name": "our store", "figures": {
      "get_per_s_per_prefix": [0, "mine"], "part_mb": [8, "mine"]}}],
    "storage_prices": [{"service": "theirs", "item": "gb_month", "usd": 0.01,
      "region": "eu-west-1", "as_of": "2026-11", "source": "our bill"}]})");
  REQUIRE_FALSE(c.has_value());
  const std::string text = render(c.error());
  CHECK(text.find("`put_per_s_per_prefix` must be known") != std::string::npos);
  CHECK(text.find("`get_per_s_per_prefix` is 0, expected more than 0") != std::string::npos);
  CHECK(text.find("unknown storage service `theirs`") != std::string::npos);
}

}  // namespace flowplan::catalog::storage_test
