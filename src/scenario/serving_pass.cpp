#include "serving_pass.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "flowplan/inference/step_model.hpp"
#include "flowplan/topology/tier_name.hpp"

namespace flowplan::scenario {

namespace {

Breakdown part(std::string id, std::string label, Seconds time, std::string limit) {
  Breakdown node;
  node.id = "pass." + id;
  node.label = std::move(label);
  node.leaf_time = time;
  node.limit = std::move(limit);
  return node;
}

}  // namespace

Seconds lone_ttft(const inference::Instance& instance, double input_tokens) {
  const auto tokens = std::max<std::int64_t>(1, std::llround(input_tokens));
  const std::int64_t most = instance.engine.chunked_prefill
                                ? std::max<std::int64_t>(1, instance.engine.token_budget)
                                : tokens;
  double seconds = instance.engine.api.value() +
                   instance.engine.api_per_token.value() * static_cast<double>(tokens);
  for (std::int64_t done = 0; done < tokens; done += most) {
    const std::array<inference::Chunk, 1> chunk{{{done, std::min(most, tokens - done)}}};
    inference::StepLoad load;
    load.chunks = chunk;
    load.finishing_sequences = done + most >= tokens ? 1 : 0;
    load.tokens_all_ranks = chunk[0].chunk_tokens;
    load.sequences_all_lanes = 1;
    seconds += inference::step_seconds(instance.table, load);
  }
  return Seconds(seconds);
}

Seconds lone_tpot(const inference::Instance& instance, double context_tokens) {
  inference::StepLoad load;
  load.decode_sequences = 1;
  load.tokens_per_sequence = 1 + instance.engine.speculation.draft_tokens;
  load.decode_context_tokens = context_tokens;
  load.tokens_all_ranks = load.tokens_per_sequence;
  load.sequences_all_lanes = 1;
  double seconds = inference::step_seconds(instance.table, load);
  const inference::Speculation& drafts = instance.engine.speculation;
  if (drafts.draft_tokens > 0)
    seconds += static_cast<double>(drafts.draft_tokens) * drafts.draft_s(1.0);
  return Seconds(seconds / std::max(1.0, drafts.tokens_per_pass));
}

DecodePass mean_decode_pass(const ServingFleet& fleet, const ServingAnswer& answer) {
  const inference::Layout& layout = fleet.setup.layout;
  const inference::PoolSummary& pool = answer.pools.back();
  const double lanes = 1.0 * layout.attention_dp * layout.pp;
  DecodePass pass;
  pass.sequences = std::max(1.0, pool.mean_batch / lanes);
  pass.tokens_a_sequence = 1.0 + fleet.setup.draft_tokens;
  const inference::Instance& instance =
      fleet.pools ? fleet.pools->decode.instance : fleet.fleet.instance;
  const double capacity = static_cast<double>(instance.kv.capacity_blocks) *
                          static_cast<double>(instance.kv.block_size_tokens);
  pass.context = std::max(1.0, pool.mean_kv_share * capacity / (pass.sequences * layout.pp));
  return pass;
}

Breakdown pass_breakdown(const catalog::Catalog& catalog, const ServingFleet& fleet,
                         const ServingAnswer& answer) {
  Breakdown tree;
  tree.id = "pass";
  const auto step = inference::StepModel::on(catalog, fleet.setup);
  if (!step || answer.pools.empty()) return tree;
  const inference::Layout& layout = fleet.setup.layout;
  const auto [sequences, each, context] = mean_decode_pass(fleet, answer);
  tree.label =
      fmt::format("One decode pass of {:.0f} sequences at {:.0f} tokens", sequences, context);

  const inference::DenseParts dense = step->dense(sequences * each);
  const inference::HeadParts head = step->head(sequences * each);
  tree.children.push_back(part("products", "Matrix products", dense.products, "HBM"));
  tree.children.push_back(
      part("attention", "Attention", step->decode_attention(sequences, context), "HBM"));
  if (fleet.setup.model->experts) {
    const inference::ExpertParts experts = step->experts(sequences * each * layout.attention_dp);
    tree.children.push_back(part("experts", "Routed experts", experts.experts, "HBM"));
    if (experts.exchange.value() > 0.0)
      tree.children.push_back(part("exchange", "Exchange with experts", experts.exchange,
                                   layout.ranks() > fleet.setup.instance->nvlink_domain_gpus
                                       ? std::string(topology::nic_kind(*fleet.setup.instance))
                                       : "nvlink"));
    tree.children.push_back(
        part("lockstep", "Expert launches and lockstep", experts.waiting, "host launch"));
  }
  if (dense.all_reduce.value() > 0.0)
    tree.children.push_back(
        part("all_reduce", "Tensor-parallel all-reduces", dense.all_reduce, "nvlink"));
  if (dense.stages.value() > 0.0)
    tree.children.push_back(part("stages", "Sends between stages", dense.stages, "nvlink"));
  tree.children.push_back(part("element_wise", "Element-wise", dense.element_wise, "HBM"));
  tree.children.push_back(part("head", "Output matrix and sampling", head.total(), "HBM"));
  tree.children.push_back(part("launches", "Launches", dense.launches, "host launch"));
  tree.children.push_back(part("gap", "Between passes", fleet.setup.engine.gap, "host launch"));
  return tree;
}

}  // namespace flowplan::scenario
