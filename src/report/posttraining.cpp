#include "posttraining.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include <fmt/format.h>

#include "flowplan/model/precision.hpp"
#include "flowplan/report/format.hpp"
#include "operations.hpp"
#include "posttraining_timeline.hpp"

namespace flowplan::report {

namespace {

using posttraining::RlStep;
using scenario::Answer;
using scenario::PosttrainingAnswer;

std::string trainer_layout(const training::Job& job) {
  const training::Layout& l = job.layout;
  std::string text = fmt::format("TP {} x PP {}", l.tp, l.pp);
  if (l.cp > 1) text += fmt::format(" x CP {}", l.cp);
  text += fmt::format(" x DP {}", l.dp);
  if (job.model.experts) text += fmt::format(", EP {}", l.ep);
  text += fmt::format(", {}, {}, recompute {}", model::name(job.precision),
                      training::name(job.sharding), training::name(job.recompute));
  if (job.adapters) {
    text += fmt::format(", LoRA of rank {}", job.adapters->rank);
    constexpr double wide = 2.0, bits = 8.0;
    if (job.adapters->frozen_bytes < wide)
      text += fmt::format(" on {:.3g}-bit weights", job.adapters->frozen_bytes * bits);
  }
  return text;
}

std::string engine_layout(const PosttrainingAnswer& post) {
  const inference::Layout& l = post.job.engine_layout;
  std::string text = fmt::format("{} x {} (TP {}", post.rl->replicas, post.job.engine, l.tp);
  if (l.pp > 1) text += fmt::format(", PP {}", l.pp);
  if (l.attention_dp > 1) text += fmt::format(", attention DP {}", l.attention_dp);
  if (l.ep > 1) text += fmt::format(", EP {}", l.ep);
  return text + fmt::format("), {}", inference::name(post.job.formats.ffn));
}

std::string placement_text(const PosttrainingAnswer& post, std::uint32_t gpus) {
  const posttraining::RlJob& job = post.job;
  if (job.placement == posttraining::Placement::colocated)
    return fmt::format("colocated: {} GPUs do everything in turns", gpus);
  std::string text = fmt::format("{}: {} GPUs train, {} generate", name(job.placement),
                                 gpus - job.rollout_gpus, job.rollout_gpus);
  if (job.placement == posttraining::Placement::asynchronous)
    text += fmt::format(", samples {} {:g} version{}{}{}",
                        job.in_order ? "at most" : "let in at most", job.staleness,
                        job.staleness == 1.0 ? "" : "s", job.in_order ? " old" : " ahead",
                        job.partial ? "" : ", drained at each update");
  return text;
}

std::string range_of(Seconds time, const Band& band) {
  if (band.low >= band.high) return duration(time);
  return fmt::format("{} ({} to {})", duration(time), duration(time * band.low),
                     duration(time * band.high));
}

std::string rows_text(const PosttrainingAnswer& post) {
  const posttraining::Rows& rows = post.rows();
  return fmt::format("{} rows of {} tokens ({}), {} padding", grouped(rows.rows),
                     grouped(rows.row_tokens), posttraining::name(post.batching),
                     percent(rows.waste()));
}

}  // namespace

Section posttraining_summary(const Answer& answer) {
  const PosttrainingAnswer& post = *answer.posttraining;
  Section section;
  auto& facts = section.facts;
  facts.emplace_back("model", fmt::format("{}, {} parameters", answer.job.model.name,
                                          short_count(answer.parameters)));
  facts.emplace_back("cluster", fmt::format("{} x {}, {} {}", grouped(answer.count),
                                            answer.instance, grouped(answer.gpus), answer.gpu));
  facts.emplace_back("method", post.method);
  facts.emplace_back("trainer", trainer_layout(answer.job));
  if (!answer.feasible()) {
    facts.emplace_back("fits", "NO: " + answer.reason());
    if (!answer.least_change.empty())
      facts.emplace_back("least change that fits", answer.least_change);
    return section;
  }
  const Band& band = answer.estimate.band;
  const double step = post.step().value();
  if (post.rl) {
    const RlStep& rl = *post.rl;
    facts.emplace_back("engines", engine_layout(post));
    facts.emplace_back("placement", placement_text(post, answer.gpus));
    facts.emplace_back(
        "samples",
        fmt::format("{} a step ({} prompts x {}), answers of {} tokens on average, "
                    "at most {}",
                    grouped(static_cast<std::int64_t>(rl.samples)), post.job.load.prompts,
                    post.job.load.group, grouped(std::llround(rl.mean_response)),
                    grouped(std::llround(rl.longest_response))));
  } else {
    facts.emplace_back("samples",
                       fmt::format("{} a step, {} tokens, {} of them answers",
                                   grouped(static_cast<std::int64_t>(post.tuning->samples)),
                                   grouped(std::llround(post.tuning->tokens)),
                                   percent(post.tuning->response_share)));
  }
  facts.emplace_back("update", rows_text(post));
  facts.emplace_back("step", range_of(post.step(), band));
  facts.emplace_back("throughput", fmt::format("{} samples/s, {} tokens/s, {} per GPU",
                                               significant(post.samples() / step),
                                               significant(post.tokens() / step),
                                               significant(post.tokens() / step / answer.gpus)));
  if (post.rl) {
    const RlStep& rl = *post.rl;
    facts.emplace_back("what limits", rl.limit);
    facts.emplace_back("rollout", fmt::format("{} to generate, {} of it stragglers",
                                              duration(rl.generation), duration(rl.tail)));
    facts.emplace_back(
        "training",
        fmt::format("{}: {} updates {}, passes without gradients {}",
                    duration(rl.update + rl.log_prob + rl.reference + rl.values + rl.reward_model),
                    rl.updates, duration(rl.update),
                    duration(rl.log_prob + rl.reference + rl.values + rl.reward_model)));
    facts.emplace_back("weight sync",
                       fmt::format("{} by {}; {} to {} by what was measured of a tensor",
                                   duration(rl.sync), posttraining::name(post.job.sync),
                                   duration(rl.sync_least), duration(rl.sync_most)));
    if (post.job.placement != posttraining::Placement::colocated)
      facts.emplace_back(
          "staleness",
          rl.staleness_grows
              ? "grows with every step: generation is ahead, and the bound is far"
              : fmt::format("{} versions on average, {} {}", significant(rl.mean_staleness),
                            rl.most_is_open ? "some at least" : "at most",
                            significant(rl.most_staleness)));
  }
  if (answer.budget)
    facts.emplace_back("run", fmt::format("{} steps: {}", grouped(answer.budget->steps),
                                          duration(answer.budget->time)));
  if (const double* cost = answer.estimate.value("posttraining.cost_usd"))
    facts.emplace_back("money",
                       fmt::format("{} USD ({}, list price)", significant(*cost), answer.purchase));
  if (answer.operations) {
    for (auto& fact : operations_facts(answer, *answer.operations))
      facts.push_back(std::move(fact));
  }
  facts.emplace_back(
      "ranges", band.regime.empty()
                    ? "none: no run like this one was measured"
                    : fmt::format("{:.0f} % confidence; {}", 100 * band.confidence, band.regime));
  return section;
}

std::vector<Section> posttraining_sections(const Answer& answer) {
  const PosttrainingAnswer& post = *answer.posttraining;
  if (!post.rl || !answer.feasible()) return {};
  return rl_pool_sections(*post.rl);
}

Json posttraining_workload_json(const Answer& answer) {
  const PosttrainingAnswer& post = *answer.posttraining;
  const training::Layout& l = answer.job.layout;
  Json json{{"kind", answer.kind},
            {"model", answer.job.model.name},
            {"parameters", answer.parameters},
            {"method", post.method},
            {"batching", posttraining::name(post.batching)},
            {"micro_batch", answer.job.micro_batch},
            {"precision", model::name(answer.job.precision)},
            {"recompute", training::name(answer.job.recompute)},
            {"sharding", training::name(answer.job.sharding)},
            {"framework", answer.job.framework},
            {"parallelism",
             {{"tp", l.tp}, {"pp", l.pp}, {"vp", l.vp}, {"cp", l.cp}, {"dp", l.dp}, {"ep", l.ep}}}};
  if (answer.job.adapters) {
    constexpr double bits = 8.0;
    json["lora"] = {{"rank", answer.job.adapters->rank},
                    {"trainable_parameters", training::trainable_parameters(answer.job)},
                    {"frozen_bits", answer.job.adapters->frozen_bytes * bits}};
  }
  if (!post.rl) return json;
  const posttraining::RlJob& job = post.job;
  json["rollout"] = {{"prompts", job.load.prompts},
                     {"group", job.load.group},
                     {"engine", job.engine},
                     {"precision", inference::name(job.formats.ffn)},
                     {"parallelism",
                      {{"tp", job.engine_layout.tp},
                       {"pp", job.engine_layout.pp},
                       {"attention_dp", job.engine_layout.attention_dp},
                       {"ep", job.engine_layout.ep}}},
                     {"replicas", post.rl->replicas}};
  json["pools"] = {{"kind", posttraining::name(job.placement)},
                   {"rollout_gpus", job.rollout_gpus},
                   {"staleness", job.staleness},
                   {"partial", job.partial}};
  json["sync"] = posttraining::name(job.sync);
  return json;
}

Json posttraining_json(const Answer& answer) {
  const PosttrainingAnswer& post = *answer.posttraining;
  const posttraining::Rows& rows = post.rows();
  Json json{{"step_s", post.step().value()}, {"samples", post.samples()},
            {"tokens", post.tokens()},       {"rows", rows.rows},
            {"row_tokens", rows.row_tokens}, {"padding_waste", rows.waste()}};
  if (post.tuning) {
    json["response_share"] = post.tuning->response_share;
    json["reference_s"] = post.tuning->reference.value();
    json["teacher_s"] = post.tuning->teacher.value();
  } else {
    const RlStep& rl = *post.rl;
    json["limit"] = rl.limit;
    json["generation_s"] = rl.generation.value();
    json["tail_s"] = rl.tail.value();
    json["scoring_s"] = rl.scoring.value();
    json["log_prob_s"] = rl.log_prob.value();
    json["reference_s"] = rl.reference.value();
    json["values_s"] = rl.values.value();
    json["reward_model_s"] = rl.reward_model.value();
    json["update_s"] = rl.update.value();
    json["updates"] = rl.updates;
    json["sync_s"] = rl.sync.value();
    json["sync_least_s"] = rl.sync_least.value();
    json["sync_most_s"] = rl.sync_most.value();
    json["swap_s"] = rl.swap.value();
    json["generated_tokens"] = rl.generated_tokens;
    json["mean_response_tokens"] = rl.mean_response;
    json["longest_response_tokens"] = rl.longest_response;
    json["staleness"] = {{"mean", rl.mean_staleness},
                         {"most", rl.most_staleness},
                         {"grows", rl.staleness_grows},
                         {"most_is_open", rl.most_is_open}};
    Json pools = Json::array();
    for (const posttraining::PoolUse& pool : rl.pools)
      pools.push_back({{"pool", pool.pool}, {"gpus", pool.gpus}, {"idle_share", pool.idle_share}});
    json["pools"] = std::move(pools);
    Json timeline = Json::array();
    for (const posttraining::Interval& one : rl.timeline)
      timeline.push_back({{"pool", one.pool},
                          {"activity", one.activity},
                          {"from_s", one.from_s},
                          {"to_s", one.to_s}});
    json["timeline"] = std::move(timeline);
  }
  json["breakdown"] = breakdown_json(answer.estimate.time);
  return json;
}

}  // namespace flowplan::report
