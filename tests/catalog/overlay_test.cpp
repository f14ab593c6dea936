#include "flowplan/base/json_schema.hpp"
#include "support.hpp"

namespace flowplan::catalog::overlay_test {

TEST_CASE("an overlay changes the figures that it gives and keeps the others") {
  const auto catalog = with_overlay(R"({
    "sources": {"mine": "measured here, 2026-11-30"},
    "gpus": [{"id": "H100-SXM-80GB", "figures": {"tdp_w": [500, "mine", "our cap"]}}],
    "instances": [{"id": "p5.48xlarge", "figures": {"efa_gbps_total": [1600, "mine"]}}]
  })");
  REQUIRE(catalog.has_value());
  const Gpu& h100 = **catalog->gpu("H100");
  CHECK(h100.tdp_w.value == 500);
  CHECK(h100.tdp_w.source.text == "measured here, 2026-11-30");
  CHECK(h100.tdp_w.source.note == "our cap");
  CHECK(h100.hbm_gb.value == gpu("H100").hbm_gb.value);
  const Instance& p5 = **catalog->instance("p5");
  CHECK(p5.efa_per_gpu() == gigabytes_per_second(25));
  CHECK(p5.gpus == 8);
  CHECK(our_catalog().gpu("H100").value()->tdp_w.value == 700);
}

TEST_CASE("an overlay adds GPUs, instances, models, prices, constants and aliases") {
  const auto catalog = with_overlay(R"({
    "sources": {"mine": "our data sheet, 2026-11"},
    "gpus": [{"id": "X1", "generation": "blackwell", "calibration": "kernels-b200", "figures": {
      "hbm_gbytes_per_s": [9000, "mine"], "dense_tflops.bf16": [3000, "mine"],
      "nvlink_gbytes_per_s_per_direction": [1000, "mine"]}}],
    "instances": [{"id": "x1.node", "kind": "reference", "gpu": "X1", "fabric": "RoCE",
      "collective_profile": "collectives-ib-b200", "figures": {
        "gpus": [8, "mine"], "nvlink_domain_gpus": [8, "mine"],
        "hbm_reported_mib_per_gpu": [200000, "mine"], "efa_gbps_total": [3200, "mine"]}}],
    "models": {"tiny": {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
      "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 1000, "source": "ours"}},
    "prices": [{"instance": "p5.48xlarge", "purchase": "private", "usd_per_hour": 30.5,
      "region": "us-east-1", "as_of": "2026-11", "source": "our agreement"}],
    "constants": [{"id": "our-set", "kind": "test", "about": "ours",
      "figures": {"a_us": [1.5, "mine"], "table": [[1, 2, 3], "mine"]}}],
    "aliases": {"instances": {"x1": "x1.node"}, "models": {"small": "tiny"}}
  })");
  INFO((catalog ? std::string() : render(catalog.error())));
  REQUIRE(catalog.has_value());
  CHECK((*catalog->instance("X1.NODE"))->gpu == "X1");
  CHECK((*catalog->instance("x1"))->id == "x1.node");
  CHECK((*catalog->transformer("small"))->layers == 2);
  const auto price = catalog->price("p5", "private", "us-east-1");
  REQUIRE(price.has_value());
  CHECK(price->per_hour == Usd(30.5));
  const Constants& set = **catalog->constants("our-set");
  CHECK(set.at("a_us") == 1.5);
  CHECK(set.table("table").size() == 3);
}

TEST_CASE("the overlay that the documentation shows works") {
  const auto page = read_text(FLOWPLAN_SOURCE_DIR "/docs/catalog.md", 1 << 20);
  REQUIRE(page.has_value());
  const std::size_t begin = page->find("{\n  \"sources\"");
  REQUIRE(begin != std::string::npos);
  const auto catalog = with_overlay(page->substr(begin, page->find("```", begin) - begin));
  INFO((catalog ? std::string() : render(catalog.error())));
  REQUIRE(catalog.has_value());
  CHECK((*catalog->gpu("H100"))->tdp_w.value == 600);
  CHECK((*catalog->constants("kernels-h100"))->at("gemm.bf16.launch_us") == 3.1);
  CHECK((*catalog->transformer("ours-12b"))->layers == 40);
}

TEST_CASE("a later overlay is laid over an earlier one") {
  const TemporaryFolder folder;
  const auto overlay = [&](const std::string& name, int watts) {
    return folder.write(name, R"({"sources": {"s": "here"}, "gpus": [{"id": "H100-SXM-80GB",
      "figures": {"tdp_w": [)" + std::to_string(watts) +
                                  R"(, "s"]}}]})");
  };
  const auto catalog =
      Catalog::load(catalog_directory, {overlay("a.json", 600), overlay("b.json", 650)});
  REQUIRE(catalog.has_value());
  CHECK((*catalog->gpu("H100"))->tdp_w.value == 650);
}

TEST_CASE("an overlay may state a figure that nobody published") {
  const auto catalog = with_overlay(R"({"sources": {"s": "our account team, 2026-11"},
    "instances": [{"id": "u-p6e-gb300x72", "figures": {"efa_gbps_total": [57600, "s"]}}]})");
  REQUIRE(catalog.has_value());
  CHECK((*catalog->instance("u-p6e-gb300x72"))->efa_per_gpu() == gigabytes_per_second(100));
}

TEST_CASE("mistakes in an overlay are reported with place and hint") {
  const auto catalog = with_overlay(R"({
  "instances": [
    {"id": "p5.48xlarge", "figures": {
      "efa_gbps_totl": [1600, "mine"],
      "vcpus": "many"}}
  ],
  "gpu": []
})");
  REQUIRE_FALSE(catalog.has_value());
  const std::string report = render(catalog.error());
  INFO(report);
  CHECK_THAT(report, Catch::Contains("overlay.json:4:") && Catch::Contains("FP020") &&
                         Catch::Contains("efa_gbps_total"));
  CHECK_THAT(report, Catch::Contains("overlay.json:5:") && Catch::Contains("FP022"));
  CHECK_THAT(report, Catch::Contains("overlay.json:7:") && Catch::Contains("gpus"));
}

TEST_CASE("references of an overlay that lead nowhere are reported with place") {
  const auto catalog = with_overlay(R"({
  "sources": {"mine": "ours"},
  "instances": [
    {"id": "p5.48xlarge", "gpu": "H100-SXM-80G"},
    {"id": "p5e.48xlarge", "figures": {"vcpus": [192, "yours"]}},
    {"id": "p5e.48xlarge"}
  ],
  "aliases": {"models": {"big": "llama9-1t"}}
})");
  REQUIRE_FALSE(catalog.has_value());
  const std::string report = render(catalog.error());
  INFO(report);
  CHECK_THAT(report, Catch::Contains("overlay.json:4:") && Catch::Contains("H100-SXM-80GB"));
  CHECK_THAT(report, Catch::Contains("overlay.json:5:") && Catch::Contains("`yours`"));
  CHECK_THAT(report, Catch::Contains("overlay.json:6:") && Catch::Contains("stands twice"));
  CHECK_THAT(report, Catch::Contains("overlay.json:8:") && Catch::Contains("`llama9-1t`"));
  for (const Diagnostic& d : catalog.error())
    CHECK(d.code == Code::catalog_invalid);
}

TEST_CASE("impossible figures of an overlay are refused") {
  for (const char* figures :
       {R"({"gpus": [0, "s"]})", R"({"gpus": [2.5, "s"]})", R"({"gpus": [null, "s"]})",
        R"({"efa_gbps_total": [-1, "s"]})", R"({"nvlink_domain_gpus": [1e9, "s"]})"}) {
    const auto catalog = with_overlay(std::string(R"({"sources": {"s": "x"}, "instances": [
      {"id": "p5.48xlarge", "figures": )") +
                                      figures + "}]}");
    INFO(figures);
    REQUIRE_FALSE(catalog.has_value());
    CHECK(catalog.error().front().place.line == 2);
  }
}

TEST_CASE("an overlay that does not exist or is broken JSON is reported") {
  const auto missing = Catalog::load(catalog_directory, {"/no/such/overlay.json"});
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().front().code == Code::file_not_found);
  CHECK(with_overlay("{\"gpus\": [}").error().front().code == Code::json_syntax);
  CHECK(with_overlay("[]").error().front().code == Code::wrong_type);
}

TEST_CASE("the catalog's own files follow the published schemas") {
  const auto read = [](const std::string& path) {
    auto document = JsonDocument::read(path);
    INFO((document ? std::string() : render(document.error())));
    REQUIRE(document.has_value());
    return *document;
  };
  const auto schema = read(catalog_directory + "/schema/catalog.schema.json");
  for (const char* file : {"gpus", "networks", "instances", "models", "aliases", "purchase"}) {
    const auto faults = validate(read(catalog_directory + "/" + file + ".json"), schema);
    INFO(render(faults));
    CHECK(faults.empty());
  }
  const auto set_schema = read(catalog_directory + "/schema/constants.schema.json");
  for (const auto& entry : std::filesystem::directory_iterator(catalog_directory + "/constants")) {
    if (entry.path().extension() != ".json") continue;
    const auto faults = validate(read(entry.path().string()), set_schema);
    INFO(render(faults));
    CHECK(faults.empty());
  }
}

}  // namespace flowplan::catalog::overlay_test
