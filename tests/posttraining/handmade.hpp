#pragma once

#include <cstdint>

#include "flowplan/inference/serve.hpp"
#include "flowplan/posttraining/samples.hpp"

// Engines whose passes are worked out by hand.
namespace flowplan::posttraining::handmade {

/// 10 ms a pass whatever it does, `most` samples at a time on each of `replicas`.
inline inference::Fleet ten_ms_a_pass(std::uint32_t replicas, std::int64_t most = 1000) {
  inference::Fleet fleet;
  fleet.instance.table.dense_s = inference::Curve({0.0}, {10e-3});
  fleet.instance.kv.full_per_token = Bytes(1.0);
  fleet.instance.kv.block_size_tokens = 16;
  fleet.instance.kv.capacity_blocks = 10000000;
  fleet.instance.engine.max_sequences = most;
  fleet.instance.engine.token_budget = 1000000;
  fleet.replicas = replicas;
  return fleet;
}

/// Prompts of one token and answers of `tokens`, all alike.
inline RolloutLoad equal_answers(std::uint32_t prompts, std::uint32_t group, double tokens) {
  RolloutLoad load;
  load.prompts = prompts;
  load.group = group;
  load.prompt = {inference::TokenCount::Kind::fixed, 1.0, 0.0};
  load.response = {inference::TokenCount::Kind::fixed, tokens, 0.0};
  return load;
}

}  // namespace flowplan::posttraining::handmade
