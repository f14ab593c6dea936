#include "training_passes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "flowplan/training/evaluator.hpp"

namespace flowplan::posttraining {

namespace {

/// Rows of an update: the mean over a step's mini-batches, whole micro-batches of all ranks.
Rows rows_of_update(std::span<const Sample> samples, std::size_t mini_batch,
                    const BatchingRule& rule) {
  Rows mean;
  double rows = 0.0, tokens = 0.0, row_tokens = 0.0, squares = 0.0, count = 0.0;
  for (std::size_t first = 0; first < samples.size(); first += mini_batch) {
    const Rows one =
        rows_of(samples.subspan(first, std::min(mini_batch, samples.size() - first)), rule);
    const auto length = static_cast<double>(one.row_tokens);
    rows += static_cast<double>(one.rows);
    tokens += one.tokens;
    row_tokens += length * static_cast<double>(one.rows);
    squares += one.attention_share * length * length * static_cast<double>(one.rows);
    count += 1.0;
  }
  const auto whole = static_cast<double>(rule.micro_batch * rule.replicas);
  mean.rows = static_cast<std::int64_t>(std::ceil(rows / count / whole - 1e-9) * whole);
  const auto multiple = static_cast<double>(rule.multiple);
  mean.row_tokens =
      static_cast<std::int64_t>(std::ceil(row_tokens / rows / multiple - 1e-9) * multiple);
  mean.tokens = tokens / count;
  const auto length = static_cast<double>(mean.row_tokens);
  mean.attention_share = squares / count / (length * length * static_cast<double>(mean.rows));
  return mean;
}

Result<training::ForwardPass> forward(const catalog::Catalog& catalog,
                                      const topology::Cluster& cluster, training::Job job,
                                      const RlJob& rl, std::span<const Sample> samples) {
  job.micro_batch = rl.log_prob_micro_batch;
  const Rows rows = rows_of(samples, batching_rule(job, rl.batching, rl.pack_tokens));
  return training::forward_pass(catalog, cluster, with_rows(std::move(job), rows));
}

}  // namespace

BatchingRule batching_rule(const training::Job& job, Batching batching, std::int64_t pack_tokens) {
  BatchingRule rule;
  rule.batching = batching;
  rule.pack_tokens = pack_tokens;
  rule.micro_batch = job.micro_batch;
  // An interleaved pipeline takes whole rounds of its stages.
  rule.replicas = job.layout.dp * (job.layout.vp > 1 ? job.layout.pp : 1);
  const std::int64_t halves = job.layout.cp > 1 ? 2 : 1;
  rule.multiple = job.layout.tp * job.layout.cp * halves;
  rule.whole_packs = job.layout.pp > 1;
  return rule;
}

training::Job with_rows(training::Job job, const Rows& rows) {
  job.seq_len = rows.row_tokens;
  job.global_batch = rows.rows;
  job.attention_share = rows.attention_share;
  return job;
}

Breakdown pass_leaf(std::string id, std::string label, const training::ForwardPass& pass,
                    std::string formula) {
  using Part = std::pair<Seconds, std::string>;
  std::array<Part, 4> parts{Part{pass.steady, pass.limit}, Part{pass.bubble, "pipeline bubble"},
                            Part{pass.transfers, "network"}, Part{pass.overhead, "host"}};
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.first > b.first; });
  std::string next = parts[1].first.value() > 0.0 ? std::move(parts[1].second) : "";
  return {std::move(id),   std::move(label),   pass.time, std::move(parts[0].second),
          std::move(next), std::move(formula), {}};
}

Breakdown scaled(const Breakdown& tree, double factor, const std::string& id) {
  Breakdown result = tree;
  result.leaf_time *= factor;
  result.id = id + tree.id.substr(std::min(tree.id.size(), tree.id.find('.')));
  for (Breakdown& child : result.children)
    child = scaled(child, factor, id);
  return result;
}

Result<TrainingPasses> training_passes(const catalog::Catalog& catalog,
                                       const topology::Cluster& cluster, const RlJob& job,
                                       std::uint32_t trainer_gpus,
                                       std::span<const Sample> samples) {
  training::Job actor = job.actor;
  actor.gpus = trainer_gpus;
  TrainingPasses passes;
  const std::size_t mini_batch =
      job.mini_batch > 0 ? static_cast<std::size_t>(job.mini_batch) : samples.size();
  passes.updates =
      static_cast<std::int64_t>((samples.size() + mini_batch - 1) / mini_batch) * job.epochs;
  passes.rows =
      rows_of_update(samples, mini_batch, batching_rule(actor, job.batching, job.pack_tokens));
  auto update = training::estimate(catalog, cluster, with_rows(actor, passes.rows));
  if (!update) return fail(update.error());
  passes.actor = std::move(*update);
  const auto times = static_cast<double>(passes.updates);
  passes.update = passes.actor.step * times;

  const auto ask = [&](const training::Job& of,
                       training::ForwardPass& target) -> std::optional<Diagnostics> {
    training::Job one = of;
    one.gpus = trainer_gpus;
    auto pass = forward(catalog, cluster, std::move(one), job, samples);
    if (!pass) return pass.error();
    target = std::move(*pass);
    return std::nullopt;
  };
  if (job.old_log_prob)
    if (auto faults = ask(actor, passes.log_prob)) return fail(std::move(*faults));
  if (job.reference) {
    training::Job reference = actor;  // the first policy: adapters left out
    reference.adapters.reset();
    if (auto faults = ask(reference, passes.reference)) return fail(std::move(*faults));
  }
  if (job.reward_model)
    if (auto faults = ask(*job.reward_model, passes.reward_model)) return fail(std::move(*faults));
  if (job.algorithm == Algorithm::ppo) {
    training::Job critic = job.critic.value_or(actor);
    critic.gpus = trainer_gpus;
    if (auto faults = ask(critic, passes.values)) return fail(std::move(*faults));
    const Rows rows =
        rows_of_update(samples, mini_batch, batching_rule(critic, job.batching, job.pack_tokens));
    auto iteration = training::estimate(catalog, cluster, with_rows(critic, rows));
    if (!iteration) return fail(iteration.error());
    passes.critic = std::move(*iteration);
    passes.update += passes.critic.step * times;
  }
  return passes;
}

}  // namespace flowplan::posttraining
