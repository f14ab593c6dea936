#include "run_posttraining.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "flowplan/inference/engine_profile.hpp"
#include "flowplan/operations/money.hpp"
#include "flowplan/posttraining/profile.hpp"
#include "flowplan/scenario/resolve.hpp"
#include "flowplan/topology/tier_name.hpp"
#include "places.hpp"
#include "posttraining_links.hpp"
#include "run_operations.hpp"
#include "trace.hpp"

namespace flowplan::scenario {

namespace {

namespace post = flowplan::posttraining;

constexpr std::int64_t default_pack_tokens = 8192;
constexpr std::int64_t default_samples = 128;
constexpr std::uint32_t default_prompts = 64, default_group = 8;
/// Samples of the longest length that an engine whose layout nobody stated has room for.
constexpr double default_engine_sequences = 16.0;

/// Fills in one answer, part by part.
class PosttrainingRunner {
 public:
  PosttrainingRunner(const catalog::Catalog& catalog, const Scenario& scenario, const Answer* like)
      : catalog_(catalog), scenario_(scenario), section_(*scenario.posttraining), like_(like) {}

  Result<Answer> run() {
    sizes();
    if (auto fault = empty_pool()) return fail(std::move(*fault));
    auto resolved = resolve(catalog_, training_scenario());
    if (!resolved) return fail(std::move(resolved.error()));
    for (Defaulted& one : resolved->defaulted) {
      const bool of_samples = one.path == "workload.seq_len" || one.path == "workload.global_batch";
      if (!of_samples) answer_.estimate.defaulted.push_back(std::move(one));
    }
    cluster_ = &resolved->cluster;
    answer_.job = resolved->job;
    answer_.gpus = cluster_->gpus();
    answer_.region = resolved->region;
    answer_.network = topology::summarise(*cluster_);
    answer_.posttraining.emplace();
    out().batching = section_.batching;
    out().steps = section_.steps;
    out().method = section_.has_rollouts()
                       ? std::string(post::name(std::get<post::Algorithm>(section_.method)))
                       : std::string(post::name(std::get<post::Method>(section_.method)));
    auto done = section_.has_rollouts() ? reinforce() : tune();
    if (!done) return fail(placed(std::move(done.error()), scenario_.document));
    return std::move(answer_);
  }

 private:
  PosttrainingAnswer& out() { return *answer_.posttraining; }

  /// Both pools need GPUs before a layout can be chosen for the trainer's.
  [[nodiscard]] std::optional<Diagnostic> empty_pool() const {
    if (!section_.has_rollouts() || section_.placement == post::Placement::colocated)
      return std::nullopt;
    if (rollout_gpus_ >= 1 && rollout_gpus_ < all_gpus()) return std::nullopt;
    return error(Code::layout_mismatch, scenario_.document.place("/workload/pools/rollout_gpus"),
                 fmt::format("{} of {} GPUs make rollouts; each pool needs some", rollout_gpus_,
                             all_gpus()));
  }

  void note(bool open, const char* path, std::string value, const char* reason) {
    if (open)
      answer_.estimate.defaulted.push_back(
          {fmt::format("workload.{}", path), std::move(value), reason});
  }

  /// Lengths and counts that the rest follows from.
  void sizes() {
    const double longest = std::min(most(section_.prompt) + most(section_.response), 1e8);
    pack_ = section_.pack_tokens.value_or(
        std::max(default_pack_tokens, static_cast<std::int64_t>(longest)));
    note(!section_.pack_tokens && section_.batching == post::Batching::packed, "pack_tokens",
         fmt::format("{}", pack_), "8192, or the longest sample");
    if (!section_.has_rollouts()) return;
    const bool ppo = std::get<post::Algorithm>(section_.method) == post::Algorithm::ppo;
    prompts_ = section_.prompts.value_or(default_prompts);
    group_ = section_.group.value_or(ppo ? 1 : default_group);
    note(!section_.prompts, "rollout.prompts", fmt::format("{}", prompts_), "a usual batch");
    note(!section_.group, "rollout.group", fmt::format("{}", group_), "a usual group");
    const std::uint32_t all = all_gpus();
    rollout_gpus_ = section_.placement == post::Placement::colocated
                        ? all
                        : section_.rollout_gpus.value_or(all / 2);
    note(section_.placement != post::Placement::colocated && !section_.rollout_gpus,
         "pools.rollout_gpus", fmt::format("{}", rollout_gpus_), "half of the GPUs");
  }

  /// The longest that a draw of it usually is, where it has no cut.
  static double most(const inference::TokenCount& count) {
    constexpr double deviations = 4.0;
    const double usual = count.kind == inference::TokenCount::Kind::fixed
                             ? count.mean
                             : count.mean * (1.0 + deviations * std::max(1.0, count.spread));
    return std::min(usual, count.most);
  }

  [[nodiscard]] std::uint32_t all_gpus() const {
    const catalog::Instance& instance = *scenario_.cluster.instance;
    return static_cast<std::uint32_t>(instance.gpus * scenario_.cluster.count);
  }

  /// A scenario of training on the trainer's GPUs with rows of the usual length: chooses the layout
  /// by the rules of pretraining.
  [[nodiscard]] Scenario training_scenario() const {
    Scenario training = scenario_;
    training.posttraining.reset();
    training.workload.seq_len = pack_;
    if (section_.has_rollouts() && section_.placement != post::Placement::colocated)
      training.workload.gpus = static_cast<int>(all_gpus() - rollout_gpus_);
    return training;
  }

  void take_iteration(const training::Iteration& iteration) {
    answer_.iteration = iteration;
    answer_.estimate.provenance.profiles = iteration.profiles;
    for (const Warning& warning : iteration.warnings)
      answer_.estimate.warnings.push_back(warning);
    Bytes peak{};
    for (const training::StageMemory& stage : iteration.memory)
      peak = std::max(peak, stage.total());
    if (iteration.memory.empty()) return;
    answer_.estimate.add("training.memory_peak", peak.value());
    answer_.estimate.add("training.memory_headroom", (iteration.hbm - peak).value());
  }

  Result<void> tune() {
    post::FineTuning tuning;
    tuning.method = std::get<post::Method>(section_.method);
    tuning.job = answer_.job;
    tuning.batching = section_.batching;
    tuning.pack_tokens = pack_;
    tuning.prompt = section_.prompt;
    tuning.response = section_.response;
    tuning.samples = section_.samples.value_or(default_samples);
    note(!section_.samples, "samples_per_step", fmt::format("{}", tuning.samples), "a usual batch");
    tuning.seed = section_.seed;
    tuning.precomputed_reference = section_.precomputed_reference;
    if (section_.teacher) tuning.teacher = teacher();
    auto step = post::estimate(catalog_, *cluster_, tuning);
    if (!step) return fail(std::move(step.error()));
    answer_.job.seq_len = step->rows.row_tokens;
    answer_.job.global_batch = step->rows.rows;
    take_iteration(step->iteration);
    answer_.estimate.band = step->iteration.band;
    answer_.estimate.time = step->time;
    out().does_not_fit = step->does_not_fit;
    if (!step->does_not_fit.empty()) {
      out().binding = "memory";
      answer_.least_change = training::least_change_that_fits(catalog_, *cluster_, answer_.job);
    }
    out().tuning = std::move(*step);
    return {};
  }

  [[nodiscard]] training::Job teacher() const {
    training::Job job = answer_.job;
    job.model = *section_.teacher;
    job.adapters.reset();
    job.layout.vp = 1;
    job.layout.uneven_stages = true;
    job.layout.tp = section_.teacher_tp.value_or(job.layout.tp);
    job.layout.pp = section_.teacher_pp.value_or(job.layout.pp);
    job.layout.dp =
        std::max(1, static_cast<int>(job.gpus) / (job.layout.tp * job.layout.pp * job.layout.cp));
    if (!job.model.experts) job.layout.ep = job.layout.etp = 1;
    return job;
  }

  [[nodiscard]] training::Job like_actor(const std::optional<model::Transformer>& model) const {
    training::Job job = answer_.job;
    if (model) job.model = *model;
    if (!job.model.experts) job.layout.ep = job.layout.etp = 1;
    job.layout.uneven_stages = true;
    return job;
  }

  Result<void> reinforce() {
    post::RlJob& job = out().job;
    job.algorithm = std::get<post::Algorithm>(section_.method);
    job.actor = answer_.job;
    if (section_.critic) job.critic = like_actor(section_.critic);
    if (section_.reward_model) {
      job.reward_model = like_actor(section_.reward_model);
      job.reward_model->adapters.reset();
    }
    job.reference = section_.reference.value_or(job.algorithm != post::Algorithm::dapo);
    job.old_log_prob = section_.old_log_prob;
    job.log_prob_micro_batch = section_.log_prob_micro_batch.value_or(job.actor.micro_batch);
    job.batching = section_.batching;
    job.pack_tokens = pack_;
    job.mini_batch = section_.mini_batch;
    job.epochs = section_.epochs;
    job.load.prompts = prompts_;
    job.load.group = group_;
    job.load.prompt = section_.prompt;
    job.load.response = section_.response;
    job.load.tools = section_.tools;
    job.load.shared_prompts = section_.shared_prompts;
    job.load.seed = section_.seed;
    job.over_sampling = section_.over_sampling;
    job.stop_early = section_.stop_early;
    job.verifier = section_.verifier;
    job.placement = section_.placement;
    job.rollout_gpus = section_.placement == post::Placement::colocated ? 0 : rollout_gpus_;
    job.staleness = section_.staleness;
    job.partial = section_.partial;
    job.in_order = section_.in_order;
    job.in_flight = section_.in_flight;
    job.streamed = section_.streamed;
    job.swap = section_.swap;
    job.sync = section_.sync;
    if (scenario_.storage && scenario_.storage->checkpoint)
      job.mount = &scenario_.storage->checkpoint->mount;
    job.profile = section_.profile;
    if (like_ != nullptr && like_->posttraining && like_->posttraining->rl)
      job.known = like_->posttraining->rl->played.get();
    if (auto chosen = engines(job); !chosen) return chosen;
    auto step = post::estimate(catalog_, *cluster_, job);
    if (!step) return fail(std::move(step.error()));
    answer_.job.seq_len = std::max<std::int64_t>(1, step->rows.row_tokens);
    answer_.job.global_batch = std::max<std::int64_t>(1, step->rows.rows);
    answer_.job.attention_share = step->rows.attention_share;
    take_iteration(step->iteration);
    auto& profiles = answer_.estimate.provenance.profiles;
    profiles.insert(profiles.begin(), step->profiles.front());
    profiles.push_back(fmt::format("engine-{}", job.engine));
    answer_.estimate.band = step->band;
    answer_.estimate.time = step->time;
    out().does_not_fit = step->does_not_fit;
    out().binding = step->binding;
    out().rl = std::move(*step);
    job.mount = nullptr;  // the scenario's, which the answer may outlive
    job.known = nullptr;
    return {};
  }

  /// Engine, formats and layout of a replica.
  Result<void> engines(post::RlJob& job) {
    job.engine = section_.engine.value_or("vllm");
    note(!section_.engine, "rollout.engine", job.engine, "the most used open engine");
    const auto weights = section_.weights.value_or(inference::WeightFormat::bf16);
    note(!section_.weights, "rollout.precision", "bf16", "as the trainer sends them");
    job.formats = inference::usual_formats(job.actor.model, weights);
    if (section_.narrow_kv) job.formats.narrow_kv = *section_.narrow_kv;
    job.engine_memory = section_.engine_memory;
    job.max_sequences = section_.max_sequences;
    job.engine_layout = section_.engine_layout;
    if (section_.engine_layout_stated) return {};
    const catalog::Instance& instance = *scenario_.cluster.instance;
    auto engine =
        inference::engine_profile(catalog_, job.engine, catalog_.gpu_of(instance).generation);
    if (!engine) return fail(engine.error());
    const auto profile = post::profile(catalog_, job.profile);
    if (!profile) return fail(profile.error());
    engine->hbm_fraction = job.engine_memory.value_or(job.placement == post::Placement::colocated
                                                          ? profile->colocated_memory
                                                          : profile->apart_memory);
    const double longest = most(section_.prompt) + most(section_.response);
    inference::Layout layout;
    for (layout.tp = 1; layout.tp <= instance.nvlink_domain_gpus; layout.tp *= 2) {
      if (rollout_gpus_ % static_cast<std::uint32_t>(layout.tp) != 0) break;
      if (!inference::check_layout(layout, job.actor.model)) continue;
      job.engine_layout = layout;
      if (inference::serving_memory(instance, job.actor.model, layout, job.formats, *engine,
                                    {default_engine_sequences, longest})
              .fits)
        break;
    }
    note(true, "rollout.parallelism.tp", fmt::format("{}", job.engine_layout.tp),
         "the smallest with room for 16 of the longest samples");
    return {};
  }

  const catalog::Catalog& catalog_;
  const Scenario& scenario_;
  const PosttrainingSection& section_;
  const Answer* like_;
  const topology::Cluster* cluster_ = nullptr;
  Answer answer_;
  std::int64_t pack_ = default_pack_tokens;
  std::uint32_t prompts_ = 1, group_ = 1, rollout_gpus_ = 0;
};

void add_posttraining_metrics(Answer& answer) {
  if (!answer.feasible()) return;
  const PosttrainingAnswer& post = *answer.posttraining;
  Estimate& estimate = answer.estimate;
  const double step = post.step().value();
  estimate.add("posttraining.step_time", step);
  estimate.add("posttraining.samples_per_second", post.samples() / step);
  estimate.add("posttraining.tokens_per_second", post.tokens() / step);
  estimate.add("posttraining.tokens_per_second_per_gpu", post.tokens() / step / answer.gpus);
  estimate.add("posttraining.padding_waste", post.rows().waste());
  if (post.tuning) {
    estimate.add("posttraining.response_share", post.tuning->response_share);
    estimate.add("posttraining.reference_time",
                 (post.tuning->reference + post.tuning->teacher).value());
    estimate.add("posttraining.update_time", post.tuning->iteration.step.value());
  } else {
    const posttraining::RlStep& rl = *post.rl;
    estimate.add("posttraining.rollout_tokens_per_second", rl.generated_tokens / step);
    estimate.add("posttraining.generation_time", rl.generation.value());
    estimate.add("posttraining.tail_time", rl.tail.value());
    estimate.add("posttraining.reference_time",
                 (rl.log_prob + rl.reference + rl.values + rl.reward_model).value());
    estimate.add("posttraining.update_time", rl.update.value());
    estimate.add("posttraining.sync_time", rl.sync.value());
    estimate.add("posttraining.trainer_idle_share", rl.pools.front().idle_share);
    estimate.add("posttraining.rollout_idle_share", rl.pools.back().idle_share);
    if (!rl.staleness_grows) {
      estimate.add("posttraining.staleness_mean", rl.mean_staleness);
      if (!rl.most_is_open) estimate.add("posttraining.staleness_max", rl.most_staleness);
    }
  }
}

void add_posttraining_money(const catalog::Catalog& catalog, const Scenario& scenario,
                            Answer& answer) {
  std::optional<Seconds> time;
  if (answer.posttraining->steps)
    time = answer.posttraining->step() * static_cast<double>(*answer.posttraining->steps);
  answer.costs =
      operations::costs(catalog, *scenario.cluster.instance, answer.count, answer.region, time);
  const std::vector<std::string> order =
      scenario.cluster.purchase ? std::vector<std::string>{*scenario.cluster.purchase}
                                : std::vector<std::string>{"on_demand", "capacity_block"};
  const operations::PurchaseCost* chosen = nullptr;
  for (const std::string& purchase : order)
    for (const operations::PurchaseCost& cost : answer.costs)
      if (chosen == nullptr && cost.purchase == purchase) chosen = &cost;
  if (time) {
    TokenBudget budget;
    budget.tokens =
        answer.posttraining->tokens() * static_cast<double>(*answer.posttraining->steps);
    budget.steps = *answer.posttraining->steps;
    budget.time = *time;
    answer.budget = budget;
    answer.estimate.add("posttraining.days", time->value() / operations::seconds_per_day);
  }
  if (chosen == nullptr) return;
  answer.purchase = chosen->purchase;
  if (chosen->total) answer.estimate.add("posttraining.cost_usd", chosen->total->value());
}

/// A failure in any pool stops the step: every GPU of the cluster takes part.
InterruptedWork interrupted_steps(const Answer& answer) {
  const PosttrainingAnswer& post = *answer.posttraining;
  InterruptedWork work;
  work.gpus = answer.gpus;
  work.step = post.step();
  work.tokens_per_second = post.tokens() / work.step.value();
  work.parameters = answer.parameters;
  const bool critic = !post.tuning && post.job.algorithm == posttraining::Algorithm::ppo;
  if (critic)
    work.parameters +=
        model::count_parameters((post.job.critic ? *post.job.critic : answer.job).model).total;
  return work;
}

}  // namespace

Result<Answer> run_posttraining(const catalog::Catalog& catalog, const Scenario& scenario,
                                const std::string& program_version, const Answer* like) {
  auto done = PosttrainingRunner(catalog, scenario, like).run();
  if (!done) return done;
  Answer& answer = *done;
  const catalog::Instance& instance = *scenario.cluster.instance;
  answer.about = scenario.about;
  answer.kind = "posttraining";
  answer.instance = instance.id;
  answer.nic_kind = topology::nic_kind(instance);
  answer.gpu = instance.gpu;
  answer.count = scenario.cluster.count;
  answer.ec2_instances = instance.instances * answer.count;
  answer.parameters = model::count_parameters(answer.job.model).total;
  answer.name = scenario.name.empty()
                    ? fmt::format("{} of {} on {} x {}", answer.posttraining->method,
                                  answer.job.model.name, answer.count, answer.instance)
                    : scenario.name;
  add_posttraining_metrics(answer);
  if (answer.feasible()) {
    add_posttraining_money(catalog, scenario, answer);
    answer.links = posttraining_links(answer);
    if (scenario.operations) {
      Diagnostics faults =
          add_operations(catalog, scenario, interrupted_steps(answer), std::nullopt, answer);
      if (!faults.empty()) return fail(std::move(faults));
    }
  }
  const std::vector<std::string> profiles = answer.estimate.provenance.profiles;
  add_trace(catalog, scenario, program_version, answer);
  answer.estimate.provenance.profiles = profiles;
  return done;
}

}  // namespace flowplan::scenario
