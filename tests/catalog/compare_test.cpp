#include "flowplan/catalog/compare.hpp"

#include <algorithm>

#include "support.hpp"

namespace flowplan::catalog::compare_test {

namespace {

const Compared& figure(const Comparison& comparison, const std::string& name) {
  const auto found = std::find_if(comparison.figures.begin(), comparison.figures.end(),
                                  [&](const Compared& c) { return c.name == name; });
  INFO(name);
  REQUIRE(found != comparison.figures.end());
  return *found;
}

}  // namespace

TEST_CASE("two instances are compared figure by figure with units and sources") {
  const auto comparison = compare(our_catalog(), "p5", "p6-b300");
  REQUIRE(comparison.has_value());
  const Compared& efa = figure(*comparison, "efa_gbytes_per_s_total");
  CHECK(efa.a->figure.value == 400);
  CHECK(efa.b->figure.value == 800);
  CHECK(efa.unit == "GB/s");
  CHECK_FALSE(efa.same);
  CHECK(figure(*comparison, "gpus").same);
  const Compared& bf16 = figure(*comparison, "gpu.dense_tflops.bf16");
  CHECK(bf16.unit == "TFLOP/s");
  CHECK(bf16.a->figure.value == 989);
  CHECK_FALSE(bf16.b->figure.source.text.empty());
  const Compared& price = figure(*comparison, "price.capacity_block_usd_per_hour");
  CHECK(price.a->figure.value == 47.757);
  CHECK_THAT(price.a->figure.source.note, Catch::Contains("2026-10"));
}

TEST_CASE("a comparison of an entry with itself shows no difference") {
  for (const char* name : {"p5", "u-p6e-gb200x72", "H100", "llama3-70b", "kernels-h100"}) {
    const auto comparison = compare(our_catalog(), name, name);
    INFO(name);
    REQUIRE(comparison.has_value());
    CHECK_FALSE(comparison->figures.empty());
    CHECK(std::all_of(comparison->figures.begin(), comparison->figures.end(),
                      [](const Compared& c) { return c.same; }));
  }
}

TEST_CASE("a comparison the other way round has the same figures") {
  const auto there = compare(our_catalog(), "p5", "u-p6e-gb200x72");
  const auto back = compare(our_catalog(), "u-p6e-gb200x72", "p5");
  REQUIRE(there.has_value());
  REQUIRE(back.has_value());
  REQUIRE(there->figures.size() == back->figures.size());
  for (const Compared& c : there->figures) {
    const Compared& other = figure(*back, c.name);
    CHECK(other.a.has_value() == c.b.has_value());
    CHECK(other.b.has_value() == c.a.has_value());
    CHECK(other.same == c.same);
  }
}

TEST_CASE("models show their parameters and FLOPs") {
  const auto shown = sheet(our_catalog(), "deepseek-v3");
  REQUIRE(shown.has_value());
  CHECK(shown->kind == "model");
  CHECK(figure_of(shown->facts, "parameters").value / 1e9 == Approx(671.03).epsilon(1e-5));
  CHECK(figure_of(shown->facts, "experts").value == 256);
}

TEST_CASE("EFA generations are entries of their own") {
  const auto comparison = compare(our_catalog(), "EFAv2", "efa-v4");
  REQUIRE(comparison.has_value());
  CHECK(comparison->a.kind == "network");
  const Compared& adapter = figure(*comparison, "adapter_gbps");
  CHECK(adapter.a->figure.value == 100);
  CHECK(adapter.b->figure.value == 400);
  CHECK(adapter.unit == "Gbit/s");
  CHECK(sheet(our_catalog(), "efa").error().front().code == Code::ambiguous_name);
}

TEST_CASE("entries of different kinds and unknown ones are refused") {
  const auto kinds = compare(our_catalog(), "p5", "llama3-70b");
  REQUIRE_FALSE(kinds.has_value());
  CHECK(kinds.error().front().code == Code::value_not_allowed);
  CHECK(compare(our_catalog(), "p5", "dgx-h100").has_value());
  const auto both = compare(our_catalog(), "p5.49xlarge", "lama3-70b");
  REQUIRE_FALSE(both.has_value());
  CHECK(both.error().size() == 2);
  CHECK_THAT(both.error()[1].hint, Catch::Contains("llama3-70b"));
  CHECK(sheet(our_catalog(), "A100").error().front().code == Code::ambiguous_name);
  CHECK(sheet(our_catalog(), "p6").error().front().code == Code::ambiguous_name);
  CHECK(sheet(our_catalog(), "nemotron-ultra").error().front().code == Code::unsupported_feature);
}

TEST_CASE("an ambiguous instance that is also a GPU shows the GPU") {
  CHECK(sheet(our_catalog(), "GB200")->kind == "gpu");
  CHECK(sheet(our_catalog(), "H100")->kind == "gpu");
}

}  // namespace flowplan::catalog::compare_test
