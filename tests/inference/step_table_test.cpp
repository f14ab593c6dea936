#include "flowplan/inference/step_table.hpp"

#include <catch2/catch.hpp>

namespace flowplan::inference::step_table_test {

TEST_CASE("a curve is straight between its points and goes on outside") {
  const Curve curve({1, 2, 4}, {10, 20, 60});
  CHECK(curve(1) == 10);
  CHECK(curve(1.5) == 15);
  CHECK(curve(3) == 40);
  CHECK(curve(4) == 60);
  CHECK(curve(0) == 0);
  CHECK(curve(5) == 80);
  CHECK(Curve()(7) == 0);
  CHECK(Curve({3}, {5})(100) == 5);
}

TEST_CASE("a grid is bilinear between its lines") {
  const Grid grid({1, 3}, {0, 10},
                  {0, 100,  //
                   20, 300});
  CHECK(grid(1, 0) == 0);
  CHECK(grid(3, 10) == 300);
  CHECK(grid(2, 0) == 10);
  CHECK(grid(2, 5) == 105);
  CHECK(grid(5, 10) == 500);
  CHECK(Grid()(1, 1) == 0);
  CHECK(Grid({2}, {1, 2}, {5, 7})(99, 1.5) == 6);
}

namespace {

StepTable every_part() {
  StepTable table;
  table.dense_s = Curve({0, 1}, {100, 101});
  table.moe_s = Curve({0, 1}, {0, 0.5});
  table.head_s = Curve({0, 1}, {0, 1000});
  table.decode_attention_s = Grid({0, 1}, {0, 1}, {0, 0, 0, 0.25});  // b x context / 4
  table.prefill_attention_s = Curve({0, 100, 200}, {0, 10, 40});
  table.gap = Seconds(7);
  return table;
}

}  // namespace

TEST_CASE("a pass is the sum of its parts") {
  const StepTable table = every_part();
  const std::vector<Chunk> chunks{{100, 50}, {0, 20}};
  StepLoad load;
  load.chunks = chunks;
  load.decode_sequences = 4;
  load.decode_context_tokens = 80;
  load.finishing_sequences = 1;
  load.tokens_all_ranks = 74;
  CHECK(lane_tokens(table, load) == 74);
  // dense 174, experts 37, head 5 sequences, attention 4 x 20 / 4, prompts 15 and 2, gap 7.
  CHECK(step_seconds(table, load) == Approx(174 + 37 + 5000 + 20 + 15 + 2 + 7).epsilon(1e-12));
  CHECK(step_seconds(table, {}) == 0);
}

TEST_CASE("a chunk that ends no prompt needs no head") {
  StepTable table = every_part();
  table.head_s = Curve({1, 2}, {5, 6});
  const Chunk chunk{0, 10};
  StepLoad load;
  load.chunks = {&chunk, 1};
  CHECK(step_seconds(table, load) == Approx(110 + 1 + 7).epsilon(1e-12));
}

TEST_CASE("decoding alone is padded to a captured size, with experts for every rank") {
  StepTable table = every_part();
  table.captured_tokens = {8, 16};
  table.attention_ranks = 2;
  StepLoad load;
  load.decode_sequences = 3;
  load.tokens_per_sequence = 3;
  load.decode_context_tokens = 0;
  load.tokens_all_ranks = 18;
  CHECK(lane_tokens(table, load) == 16);
  CHECK(step_seconds(table, load) == Approx(116 + 0.5 * 32 + 9000 + 7).epsilon(1e-12));
  load.decode_sequences = 6;  // 18 tokens: beyond the largest
  CHECK(lane_tokens(table, load) == 18);
}

TEST_CASE("the host is hidden behind the GPU or adds to it") {
  StepTable table = every_part();
  table.host_s = Curve({0, 1}, {0, 60});
  StepLoad load;
  load.decode_sequences = load.tokens_all_ranks = 1;
  load.sequences_all_lanes = 30;
  CHECK(step_seconds(table, load) == 1800);
  table.host_overlapped = false;
  CHECK(step_seconds(table, load) == Approx(101.5 + 1000 + 7 + 1800).epsilon(1e-12));
}

TEST_CASE("outside captured graphs a pass has a floor") {
  StepTable table = every_part();
  table.eager_above_tokens = 10;
  table.eager_floor = Seconds(500);
  Chunk chunk{0, 10};
  StepLoad load;
  load.chunks = {&chunk, 1};
  CHECK(step_seconds(table, load) == Approx(110 + 1 + 7).epsilon(1e-12));
  chunk.chunk_tokens = 11;
  CHECK(step_seconds(table, load) == 507);
}

TEST_CASE("KV blocks are rounded up, states and windows come on top") {
  KvGeometry kv;
  kv.full_per_token = Bytes(10);
  kv.block_size_tokens = 16;
  kv.capacity_blocks = 100;
  CHECK(kv.block_bytes() == Bytes(160));
  CHECK(kv.blocks(0) == 0);
  CHECK(kv.blocks(16) == 1);
  CHECK(kv.blocks(17) == 2);
  CHECK(kv.blocks_per_sequence() == 0);
  CHECK(kv.longest_sequence() == 1600);
  kv.windowed_per_token = Bytes(10);
  kv.window_tokens = 32;
  kv.state_per_sequence = Bytes(1);
  CHECK(kv.blocks_per_sequence() == 3);  // 321 bytes
  CHECK(kv.longest_sequence() == 97 * 16);
  CHECK(kv.sequence_bytes(20) == Bytes(401));
  CHECK(kv.sequence_bytes(40) == Bytes(721));
  kv.full_per_token = Bytes(0);  // states alone: one block a sequence
  CHECK(kv.blocks(1000) == 0);
  CHECK(kv.blocks_per_sequence() == 1);
}

}  // namespace flowplan::inference::step_table_test
