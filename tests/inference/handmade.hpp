#pragma once

#include <utility>
#include <vector>

#include "flowplan/inference/serve.hpp"

// Instances whose passes are worked out by hand, and loads written out.
namespace flowplan::inference::handmade {

/// 1 ms a token up to any number, nothing else: a pass of m tokens takes m ms.
inline Instance one_ms_a_token() {
  Instance instance;
  instance.table.dense_s = Curve({0.0, 1.0}, {0.0, 1e-3});
  instance.kv.full_per_token = Bytes(1.0);
  instance.kv.block_size_tokens = 16;
  instance.kv.capacity_blocks = 1000000;
  return instance;
}

/// 10 ms a pass whatever it does.
inline Instance ten_ms_a_pass() {
  Instance instance = one_ms_a_token();
  instance.table.dense_s = Curve({0.0}, {10e-3});
  return instance;
}

/// Every part of a table, with lines that a run of passes crosses: like a 70B model on 8 GPUs.
inline Instance like_a_70b() {
  Instance instance;
  StepTable& table = instance.table;
  table.dense_s = Curve({1, 64, 256, 1024, 2048, 8192}, {9e-3, 9.5e-3, 12e-3, 40e-3, 76e-3, 0.3});
  table.head_s = Curve({1, 256}, {0.2e-3, 0.5e-3});
  table.decode_attention_s = Grid({1, 8, 64, 256}, {0, 256, 1024, 4096, 32768},
                                  {0.3e-3, 0.35e-3, 0.4e-3, 0.5e-3, 1.2e-3,  //
                                   0.4e-3, 0.45e-3, 0.6e-3, 1.1e-3, 5e-3,    //
                                   0.8e-3, 1.1e-3,  2.1e-3, 6e-3,   40e-3,   //
                                   2e-3,   3.2e-3,  7e-3,   23e-3,  160e-3});
  table.prefill_attention_s = Curve({0, 1024, 8192, 65536}, {0.0, 0.5e-3, 12e-3, 0.6});
  table.gap = Seconds(0.3e-3);
  table.host_s = Curve({1, 256}, {2e-3, 9e-3});
  table.captured_tokens = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  instance.kv.full_per_token = Bytes(40960.0);
  instance.kv.block_size_tokens = 16;
  instance.kv.capacity_blocks = 60000;
  instance.gpus = 8;
  return instance;
}

struct Sent {
  double at_s;
  std::uint32_t input, output;
  std::vector<BlockRun> blocks{};
};

/// An open loop of requests as listed.
inline Workload load_of(const std::vector<Sent>& list, std::int64_t block_tokens = 0) {
  Workload workload;
  workload.block_tokens = block_tokens;
  for (const Sent& sent : list) {
    Request request;
    request.arrival_s = sent.at_s;
    request.input_tokens = sent.input;
    request.output_tokens = sent.output;
    request.first_run = static_cast<std::uint32_t>(workload.runs.size());
    request.run_count = static_cast<std::uint16_t>(sent.blocks.size());
    workload.runs.insert(workload.runs.end(), sent.blocks.begin(), sent.blocks.end());
    workload.requests.push_back(request);
  }
  return workload;
}

inline Fleet one(Instance instance) {
  return Fleet{std::move(instance), 1, {}};
}

}  // namespace flowplan::inference::handmade
