#pragma once

#include <string_view>

#include <fmt/format.h>

#include "flowplan/base/result.hpp"
#include "flowplan/export/plan.hpp"

namespace flowplan::exporting {

/// Refuses formats of states and layers left wide where `who` cannot be told of them.
[[nodiscard]] inline Result<void> usual_formats(const Plan& plan, std::string_view who) {
  const training::Job& job = plan.job;
  if (job.states.usual() && job.wide_layers.first + job.wide_layers.last == 0) return {};
  return fail(error(Code::unsupported_feature,
                    std::string(who) + " keeps states and layers in its own formats",
                    "leave out `states` and `wide_layers`, or take megatron"));
}

/// Error FP073 for a plan of other work than training one model on its tokens: what launches that
/// has nothing to say.
[[nodiscard]] inline Result<void> needs_training(const Plan& plan) {
  switch (plan.work) {
    case Plan::Work::pretraining:
    case Plan::Work::fine_tuning:
      return {};
    case Plan::Work::serving:
      return fail(error(Code::unsupported_feature,
                        "the scenario serves a model, it does not train one",
                        "slurm, kueue, volcano, vllm, tensorrt-llm and sglang start servers"));
    case Plan::Work::reinforcement:
      break;
  }
  return fail(error(
      Code::unsupported_feature,
      "a step of reinforcement learning is started by its framework (verl, NeMo-RL)",
      "parallelcluster, pcs, hyperpod, k8s-nodes, environment, openmetrics, prometheus, grafana, "
      "slurm-array and k8s-indexed-job are of any scenario"));
}

/// The same for a trainer that has the loss of next tokens only: pretraining and SFT.
[[nodiscard]] inline Result<void> needs_token_loss(const Plan& plan, std::string_view trainer) {
  if (const auto able = needs_training(plan); !able) return fail(able.error());
  if (plan.method.empty() || plan.method == "sft") return {};
  return fail(error(Code::unsupported_feature,
                    fmt::format("{} has no loss of `{}`", trainer, plan.method),
                    "fsdp writes the layout for a trainer of yours (TRL, ...); "
                    "--set workload.method=sft"));
}

/// ZeRO-1 and ZeRO-2 where there is something to share: trainers that shard weights have neither.
[[nodiscard]] inline bool shares_optimizer_only(const training::Job& job) {
  return !training::shards_weights(job.sharding) && job.sharding != training::Sharding::none &&
         job.layout.dp * job.layout.cp > 1;
}

}  // namespace flowplan::exporting
