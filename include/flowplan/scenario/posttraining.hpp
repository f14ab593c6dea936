#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "flowplan/base/quantity.hpp"
#include "flowplan/model/transformer.hpp"
#include "flowplan/posttraining/fine_tuning.hpp"
#include "flowplan/posttraining/reinforcement.hpp"

namespace flowplan::scenario {

/// What `workload` of kind "posttraining" states beside the keys of training, which are in
/// `Scenario::workload`; what it leaves open has no value yet.
struct PosttrainingSection {
  /// Fine-tuning, or an algorithm with rollouts.
  std::variant<posttraining::Method, posttraining::Algorithm> method = posttraining::Method::sft;
  std::optional<std::int64_t> steps, samples;
  inference::TokenCount prompt, response;
  std::uint64_t seed = 1;
  posttraining::Batching batching = posttraining::Batching::packed;
  std::optional<std::int64_t> pack_tokens;
  bool precomputed_reference = false;
  std::optional<model::Transformer> teacher, reward_model, critic;
  std::optional<int> teacher_tp, teacher_pp;

  std::optional<std::uint32_t> prompts, group;
  double over_sampling = 1.0;
  bool stop_early = false, shared_prompts = true;
  std::optional<inference::AgentLoop> tools;
  posttraining::Verifier verifier;
  std::optional<std::string> engine;
  std::optional<inference::WeightFormat> weights;
  std::optional<bool> narrow_kv;
  inference::Layout engine_layout;
  bool engine_layout_stated = false;
  std::optional<double> engine_memory;
  std::optional<std::int64_t> max_sequences;

  std::int64_t mini_batch = 0;
  int epochs = 1;
  std::optional<std::int64_t> log_prob_micro_batch;
  bool old_log_prob = true;
  std::optional<bool> reference;

  posttraining::Placement placement = posttraining::Placement::colocated;
  bool placement_stated = false;
  std::optional<std::uint32_t> rollout_gpus;
  double staleness = 1.0;
  bool partial = true, in_order = true, streamed = false;
  double in_flight = 0.0;
  std::optional<bool> swap;
  posttraining::SyncPath sync = posttraining::SyncPath::broadcast;
  std::string profile = "default";

  [[nodiscard]] bool has_rollouts() const {
    return std::holds_alternative<posttraining::Algorithm>(method);
  }
};

/// The answer for a post-training workload: one of `tuning` and `rl`.
struct PosttrainingAnswer {
  std::string method;
  std::optional<posttraining::FineTuningStep> tuning;
  std::optional<posttraining::RlStep> rl;
  posttraining::Batching batching{};
  posttraining::RlJob job;  ///< of `rl`, as it ran
  std::optional<std::int64_t> steps;
  std::string does_not_fit, binding;  ///< empty when it fits

  [[nodiscard]] Seconds step() const { return rl ? rl->step : tuning->step; }
  [[nodiscard]] const posttraining::Rows& rows() const { return rl ? rl->rows : tuning->rows; }
  [[nodiscard]] double tokens() const { return rl ? rl->tokens : tuning->tokens; }
  [[nodiscard]] double samples() const { return rl ? rl->samples : tuning->samples; }
};

}  // namespace flowplan::scenario
