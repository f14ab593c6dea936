#include "rl_steps.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace flowplan::posttraining {

namespace {

void add_leaf(Breakdown& tree, std::string id, std::string label, Seconds time, std::string limit,
              std::string next, std::string formula) {
  if (time.value() <= 0.0) return;
  tree.children.push_back({std::move(id),
                           std::move(label),
                           time,
                           std::move(limit),
                           std::move(next),
                           std::move(formula),
                           {}});
}

/// Passes without gradients, updates and the controller.
void add_training(const StepParts& parts, Breakdown& tree) {
  const RlStep& r = parts.result;
  const std::string of_samples = fmt::format("{:.0f} samples, {:.4g} tokens", r.samples, r.tokens);
  const auto add_pass = [&](const char* id, const char* label, const training::ForwardPass& pass) {
    if (pass.time.value() > 0.0) tree.children.push_back(pass_leaf(id, label, pass, of_samples));
  };
  add_pass("step.log_prob", "Old log-probabilities", parts.passes.log_prob);
  add_pass("step.reference", "Reference policy", parts.passes.reference);
  add_pass("step.values", "Critic's values", parts.passes.values);
  add_pass("step.reward_model", "Reward model", parts.passes.reward_model);
  const auto updates = static_cast<double>(r.updates);
  Breakdown actor = scaled(parts.passes.actor.time, updates, "step.update");
  actor.label = fmt::format("Updates of the policy ({})", r.updates);
  tree.children.push_back(std::move(actor));
  if (parts.passes.critic.step.value() > 0.0) {
    Breakdown critic = scaled(parts.passes.critic.time, updates, "step.critic");
    critic.label = fmt::format("Updates of the critic ({})", r.updates);
    tree.children.push_back(std::move(critic));
  }
  add_leaf(tree, "step.controller", "Data, advantages, logging", r.controller, "host", "",
           fmt::format("{:.0f} samples", r.samples));
}

struct Share {
  std::string name;
  Seconds time{};
};

std::string largest(const std::vector<Share>& shares) {
  return std::max_element(shares.begin(), shares.end(),
                          [](const Share& a, const Share& b) { return a.time < b.time; })
      ->name;
}

/// Writes spans one after the other.
class Line {
 public:
  explicit Line(std::vector<Interval>& out) : out_(out) {}
  void span(std::initializer_list<std::pair<const char*, const char*>> pools, Seconds time) {
    if (time.value() <= 0.0) return;
    for (const auto& [pool, activity] : pools)
      out_.push_back({pool, activity, at_, at_ + time.value()});
    at_ += time.value();
  }

 private:
  std::vector<Interval>& out_;
  double at_ = 0.0;
};

}  // namespace

void fill(StepParts& parts, const Rollout& rollout, TrainingPasses passes,
          std::span<const Sample> kept) {
  RlStep& r = parts.result;
  r.generation = Seconds(rollout.end_s);
  r.tail = Seconds(rollout.tail_s);
  r.scoring = Seconds(std::max(0.0, rollout.scored_s - rollout.end_s));
  r.log_prob = passes.log_prob.time;
  r.reference = passes.reference.time;
  r.values = passes.values.time;
  r.reward_model = passes.reward_model.time;
  r.update = passes.update;
  r.updates = passes.updates;
  r.rows = passes.rows;
  r.padding_waste = passes.rows.waste();
  r.iteration = passes.actor;
  r.sync = parts.sync.time;
  r.sync_carried = parts.sync.carried;
  r.sync_least = parts.sync.least;
  r.sync_most = parts.sync.most;
  r.samples = static_cast<double>(kept.size());
  r.generated_tokens = rollout.generated_tokens;
  double responses = 0.0;
  for (const Sample& sample : kept) {
    r.tokens += sample.tokens();
    responses += sample.response;
    r.longest_response = std::max(r.longest_response, static_cast<double>(sample.response));
  }
  r.mean_response = r.samples > 0.0 ? responses / r.samples : 0.0;
  r.hbm = passes.actor.hbm;
  for (const training::StageMemory& stage : passes.actor.memory)
    r.trainer_memory = std::max(r.trainer_memory, stage.total());
  if (!passes.actor.fits || (passes.critic.step.value() > 0.0 && !passes.critic.fits)) {
    r.does_not_fit =
        passes.actor.fits ? "the critic: " + passes.critic.does_not_fit : passes.actor.does_not_fit;
    r.binding = "memory";
  }
  parts.passes = std::move(passes);
}

void take_turns(StepParts& parts, const Rollout& rollout, bool colocated) {
  RlStep& r = parts.result;
  Breakdown& tree = r.time;
  tree.id = "step";
  tree.label = "RL step";
  const std::string states = "optimizer and weights over the host link";
  add_leaf(tree, "step.swap_out", "States to the host", r.swap, "host link", "", states);
  add_leaf(tree, "step.wake", "Engines asleep and awake", parts.wake, "host", "", "");
  const auto sizes =
      fmt::format("{:.0f} samples on {} engines, {:.0f} tokens on average",
                  static_cast<double>(rollout.samples.size()), r.replicas, r.mean_response);
  add_leaf(tree, "step.generation", "Generation", r.generation - r.tail, "decoding", "stragglers",
           sizes);
  add_leaf(tree, "step.tail", "Stragglers", r.tail, "longest responses", "decoding",
           fmt::format("fewer than half of {:.0f} samples run; the longest has {:.0f} tokens",
                       rollout.peak_batch, r.longest_response));
  add_leaf(tree, "step.scoring", "Rewards after the last sample", r.scoring, "verifier", "", "");
  add_leaf(tree, "step.swap_in", "States back to the GPUs", r.swap, "host link", "", states);
  add_training(parts, tree);
  tree.children.push_back(parts.sync.parts);
  r.step = tree.time();

  const double step = r.step.value();
  const double working = rollout.busy_share * r.generation.value();
  const double sync = r.sync.value(), train = parts.passes.total().value();
  if (colocated) {
    const double idle = r.generation.value() - working + r.scoring.value() + r.controller.value();
    r.pools = {{"all", parts.trainer_gpus, idle / step}};
  } else {
    r.pools = {{"trainer", parts.trainer_gpus, 1.0 - (train + sync) / step},
               {"rollout", parts.rollout_gpus, 1.0 - (working + sync) / step}};
  }
  Line line(r.timeline);
  const Seconds training = parts.training();
  if (colocated) {
    line.span({{"all", "swap"}}, r.swap + parts.wake);
    line.span({{"all", "generate"}}, r.generation - r.tail);
    line.span({{"all", "stragglers"}}, r.tail);
    line.span({{"all", "score"}}, r.scoring);
    line.span({{"all", "swap"}}, r.swap);
    line.span({{"all", "train"}}, training);
    line.span({{"all", "sync"}}, r.sync);
  } else {
    line.span({{"rollout", "generate"}, {"trainer", "wait"}}, r.generation - r.tail);
    line.span({{"rollout", "stragglers"}, {"trainer", "wait"}}, r.tail);
    line.span({{"rollout", "wait"}, {"trainer", "wait"}}, r.scoring);
    line.span({{"rollout", "wait"}, {"trainer", "train"}}, training);
    line.span({{"rollout", "sync"}, {"trainer", "sync"}}, r.sync);
  }
  r.limit = largest({{"generation", r.generation - r.tail},
                     {"stragglers", r.tail},
                     {"scoring", r.scoring},
                     {"training", parts.passes.total()},
                     {"sync", r.sync},
                     {"swap", r.swap * 2.0 + parts.wake},
                     {"controller", r.controller}});
}

void run_apart(StepParts& parts, OverlapRun run) {
  RlStep& r = parts.result;
  Breakdown& tree = r.time;
  tree.id = "step";
  tree.label = "RL step";
  constexpr double mostly_idle = 0.3;  // engines wait for their last samples, not for room
  const bool stragglers = run.rollout_idle > mostly_idle || r.tail > r.generation / 2.0;
  const char* generating = stragglers ? "stragglers" : "generation";
  add_leaf(tree, "step.wait", "Trainer waits for samples", run.waiting,
           stragglers ? "longest responses" : "decoding", stragglers ? "decoding" : "training",
           fmt::format("a batch alone takes {:.4g} s to generate, {:.4g} s to train on",
                       r.generation.value(), parts.training().value()));
  add_training(parts, tree);
  tree.children.push_back(parts.sync.parts);
  r.step = tree.time();
  r.mean_staleness = run.mean_staleness;
  r.most_staleness = run.most_staleness;
  r.staleness_grows = run.staleness_grows;
  r.most_is_open = run.most_is_open;
  r.pools = {{"trainer", parts.trainer_gpus, run.trainer_idle},
             {"rollout", parts.rollout_gpus, run.rollout_idle}};
  r.timeline = std::move(run.timeline);
  // The pool that the other one waits for: a trainer that is hardly idle is the limit itself.
  constexpr double hardly_idle = 0.05;
  if (run.trainer_idle > std::max(hardly_idle, run.rollout_idle)) {
    r.limit = generating;
  } else {
    r.limit = largest({{generating, run.waiting},
                       {"training", parts.passes.total()},
                       {"sync", r.sync},
                       {"controller", r.controller}});
  }
}

}  // namespace flowplan::posttraining
