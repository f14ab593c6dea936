#include "flowplan/posttraining/batching.hpp"

#include <vector>

#include <catch2/catch.hpp>

namespace batching_test {

using namespace flowplan::posttraining;

namespace {

std::vector<Sample> of_lengths(std::initializer_list<std::uint32_t> lengths) {
  std::vector<Sample> samples;
  for (const std::uint32_t tokens : lengths)
    samples.push_back({10, tokens - 10});
  return samples;
}

BatchingRule rule_of(Batching batching) {
  BatchingRule rule;
  rule.batching = batching;
  return rule;
}

}  // namespace

TEST_CASE("rows as long as the longest waste one minus mean over longest") {
  const Rows rows = rows_of(of_lengths({100, 400, 200, 100}), rule_of(Batching::padded_to_longest));
  CHECK(rows.rows == 4);
  CHECK(rows.row_tokens == 400);
  CHECK(rows.tokens == 800.0);
  CHECK(rows.waste() == Approx(1.0 - 200.0 / 400.0));
  CHECK(rows.attention_share == 1.0);
}

TEST_CASE("rows of a micro-batch are as long as the longest of it") {
  BatchingRule rule = rule_of(Batching::padded);
  rule.micro_batch = 2;
  const Rows rows = rows_of(of_lengths({100, 400, 200, 100}), rule);
  CHECK(rows.rows == 4);
  CHECK(rows.row_tokens == 300);  // 400, 400, 200, 200
  CHECK(rows.waste() == Approx(1.0 - 800.0 / 1200.0));
  CHECK(rows.attention_share ==
        Approx((2 * 400.0 * 400.0 + 2 * 200.0 * 200.0) / (4 * 300.0 * 300.0)));
}

TEST_CASE("packed samples share rows and attend to themselves") {
  BatchingRule rule = rule_of(Batching::packed);
  rule.pack_tokens = 500;
  // 400 + 100, 200 + 200 + 100: nothing fits tighter.
  const Rows rows = rows_of(of_lengths({100, 400, 200, 100, 200}), rule);
  CHECK(rows.rows == 2);
  CHECK(rows.row_tokens == 500);
  CHECK(rows.waste() == Approx(0.0).margin(1e-12));
  CHECK(rows.attention_share == Approx((160000.0 + 2 * 10000.0 + 2 * 40000.0) / (2 * 250000.0)));
}

TEST_CASE("rows fill whole micro-batches of every rank") {
  BatchingRule rule = rule_of(Batching::packed);
  rule.pack_tokens = 500;
  rule.micro_batch = 2;
  rule.replicas = 3;
  const Rows whole = rows_of(of_lengths({100, 400, 200, 100, 200}), rule);
  CHECK(whole.rows == 6);
  CHECK(whole.row_tokens == 500);
  rule.whole_packs = false;  // 1,000 tokens over 6 rows, up to a multiple of 8
  rule.multiple = 8;
  const Rows loose = rows_of(of_lengths({100, 400, 200, 100, 200}), rule);
  CHECK(loose.row_tokens == 168);
}

TEST_CASE("a sample longer than a pack makes longer rows") {
  BatchingRule rule = rule_of(Batching::packed);
  rule.pack_tokens = 500;
  CHECK(rows_of(of_lengths({700, 100}), rule).row_tokens == 700);
}

TEST_CASE("equal lengths waste nothing however they are batched") {
  const auto samples = of_lengths({256, 256, 256, 256});
  for (const Batching batching :
       {Batching::packed, Batching::padded, Batching::padded_to_longest}) {
    const Rows rows = rows_of(samples, rule_of(batching));
    CHECK(rows.waste() == 0.0);
    CHECK(rows.attention_share == Approx(1.0));
  }
}

}  // namespace batching_test
