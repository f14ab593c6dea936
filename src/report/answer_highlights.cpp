#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "answer_charts.hpp"
#include "flowplan/report/format.hpp"

namespace flowplan::report {

namespace {

using scenario::Answer;

/// A value with its band around it, where it has one. `show` words a value of that unit.
template <class Show>
Highlight banded(std::string label, double value, const Band& band, const Show& show,
                 const std::string& assumed = {}) {
  if (band.low >= band.high) return {std::move(label), show(value), assumed};
  std::string note = fmt::format("{} to {}", show(value * band.low), show(value * band.high));
  if (!assumed.empty()) note += "; " + assumed;
  return {std::move(label), show(value), std::move(note),
          Highlight::Range{value * band.low, value, value * band.high}};
}

std::string seconds_text(double seconds) {
  return duration(Seconds(seconds));
}
std::string money_text(double usd) {
  constexpr double million = 1e6;
  return usd >= million ? significant(usd / million, 4) + " M USD" : significant(usd, 4) + " USD";
}

std::string plain_words(std::string_view id) {
  std::string text(id);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

const operations::PurchaseCost* chosen_cost(const Answer& answer) {
  for (const operations::PurchaseCost& cost : answer.costs)
    if (cost.purchase == answer.purchase) return &cost;
  return nullptr;
}

Highlight limit_highlight(const Estimate& estimate) {
  const auto shares = limits(estimate.time);
  const double whole = estimate.time.time().value();
  if (shares.empty() || whole <= 0.0) return {"limited by", "nothing", {}};
  Highlight highlight{"limited by", shares[0].limit,
                      fmt::format("{} of the time", percent(shares[0].time.value() / whole))};
  if (shares.size() > 1)
    highlight.note +=
        fmt::format("; next {}: {}", shares[1].limit, percent(shares[1].time.value() / whole));
  return highlight;
}

Bytes fullest_stage(const training::Iteration& iteration) {
  Bytes peak{};
  for (const training::StageMemory& stage : iteration.memory)
    peak = std::max(peak, stage.total());
  return peak;
}

/// A band of times is the other way round for speeds.
Band of_speeds(const Band& band) {
  return {1.0 / band.high, 1.0 / band.low, band.confidence, band.regime};
}

/// Time and money of what the scenario has to do, or an hour's.
void add_budget(const Answer& answer, const std::string& of_what, std::vector<Highlight>& all) {
  const Band& band = answer.estimate.band;
  if (answer.budget)
    all.push_back(
        banded("time, 100 % goodput", answer.budget->time.value(), band, seconds_text, of_what));
  if (const auto* cost = chosen_cost(answer)) {
    const std::string assumed = fmt::format("{}, {}", plain_words(cost->purchase), cost->region);
    if (cost->total)
      all.push_back(
          banded("money, 100 % goodput", cost->total->value(), band, money_text, assumed));
    else
      all.push_back({"money", money_text(cost->per_hour.value()) + " an hour", assumed});
  }
}

void add_memory(const training::Iteration& iteration, std::vector<Highlight>& all) {
  if (iteration.memory.empty()) return;
  const Bytes fullest = fullest_stage(iteration);
  all.push_back({"memory", percent(fullest / iteration.hbm),
                 fmt::format("{} of {} on the fullest GPU", binary_bytes(fullest),
                             binary_bytes(iteration.hbm))});
}

std::string rate_text(double tokens) {
  return significant(tokens) + " tokens/s";
}

void add_failures(const Answer& answer, std::vector<Highlight>& all) {
  if (!answer.operations) return;
  const scenario::OperationsAnswer& run = *answer.operations;
  all.push_back({"goodput", percent(run.goodput.ettr()),
                 fmt::format("{} to {} over the band of failure rates", percent(run.at_high.ettr()),
                             percent(run.at_low.ettr())),
                 Highlight::Range{run.at_high.ettr(), run.goodput.ettr(), run.at_low.ettr()}});
  if (run.wall) {
    Highlight wall{"time with failures", duration(*run.wall), {}};
    if (run.days) {
      constexpr double day = operations::seconds_per_day;
      wall.note = fmt::format("{} to {} in 90 % of simulated runs",
                              seconds_text(run.days->p5 * day), seconds_text(run.days->p95 * day));
      wall.range = Highlight::Range{run.days->p5 * day, run.wall->value(), run.days->p95 * day};
    }
    all.push_back(std::move(wall));
  }
  for (const operations::RunCost& cost : run.costs)
    if (cost.purchase == answer.purchase && !cost.refused)
      all.push_back({"money with failures", money_text(cost.total.value()),
                     fmt::format("{}, {} per 10^12 tokens", plain_words(cost.purchase),
                                 money_text(cost.per_trillion_tokens.value()))});
}

void add_training(const Answer& answer, std::vector<Highlight>& all) {
  const training::Iteration& iteration = answer.iteration;
  const Band& band = answer.estimate.band;
  add_budget(answer, answer.budget ? short_count(answer.budget->tokens) + " tokens" : "", all);
  add_failures(answer, all);
  all.push_back(banded("speed", iteration.tokens_per_second, of_speeds(band), rate_text));
  all.push_back(banded("step", iteration.step.value(), band, seconds_text));
  all.push_back({"model FLOPs utilisation", percent(iteration.mfu),
                 fmt::format("{} TFLOP/s a GPU", significant(iteration.model_tflops_per_gpu))});
  all.push_back(limit_highlight(answer.estimate));
  if (answer.storage && answer.storage->step.value() > 0.0) {
    const scenario::StorageAnswer& storage = *answer.storage;
    all.push_back({"storage", storage.io_bound ? "I/O bound" : "not I/O bound",
                   fmt::format("{} of the step waits for it",
                               percent((storage.step - storage.step_computing) / storage.step))});
  }
  add_memory(iteration, all);
}

void add_posttraining(const Answer& answer, std::vector<Highlight>& all) {
  const scenario::PosttrainingAnswer& post = *answer.posttraining;
  const Band& band = answer.estimate.band;
  const double step = post.step().value();
  add_budget(answer, answer.budget ? grouped(answer.budget->steps) + " steps" : "", all);
  add_failures(answer, all);
  all.push_back(banded("speed", post.tokens() / step, of_speeds(band), rate_text,
                       significant(post.samples() / step) + " samples/s"));
  all.push_back(banded("step", step, band, seconds_text));
  all.push_back(limit_highlight(answer.estimate));
  if (post.rl) {
    for (const posttraining::PoolUse& pool : post.rl->pools)
      all.push_back({"idle, " + (pool.pool == "all" ? "all GPUs" : pool.pool + " GPUs"),
                     percent(pool.idle_share), fmt::format("of {} GPUs", grouped(pool.gpus))});
  }
  add_memory(answer.iteration, all);
}

void add_serving(const Answer& answer, std::vector<Highlight>& all) {
  const scenario::ServingAnswer& serving = *answer.serving;
  const inference::Summary& s = serving.summary;
  const Band& band = answer.estimate.band;
  all.push_back(banded("time to first token, p99", s.ttft_s.p99, band, seconds_text,
                       fmt::format("mean {}", seconds_text(s.ttft_s.mean))));
  all.push_back(banded("time per output token, p99", s.tpot_s.p99, band, seconds_text,
                       fmt::format("mean {}", seconds_text(s.tpot_s.mean))));
  all.push_back({"requests", significant(s.requests_per_s) + " a second",
                 serving.saturation_per_s
                     ? fmt::format("saturates at {}", significant(*serving.saturation_per_s))
                     : std::string()});
  all.push_back({"output", significant(s.output_tokens_per_s) + " tokens/s",
                 fmt::format("{} a GPU", significant(s.output_tokens_per_s_per_gpu))});
  if (serving.slo)
    all.push_back({"within the limits", percent(s.good_share) + " of requests",
                   fmt::format("{} asked", percent(serving.slo->share))});
  if (serving.per_million_output_tokens)
    all.push_back({"money",
                   fmt::format("{} USD", significant(serving.per_million_output_tokens->value())),
                   "a million output tokens, " + plain_words(answer.purchase)});
  all.push_back(limit_highlight(answer.estimate));
  if (!serving.pools.empty())
    all.push_back({"KV cache", percent(serving.pools.back().mean_kv_share),
                   fmt::format("at most {}", percent(serving.pools.back().peak_kv_share))});
}

std::string machines_text(const Answer& answer) {
  return fmt::format("{} x {} ({} GPUs)", grouped(answer.count), answer.instance,
                     grouped(answer.gpus));
}

}  // namespace

std::vector<Highlight> answer_highlights(const Answer& answer) {
  std::vector<Highlight> all;
  if (!answer.feasible()) {
    if (!answer.least_change.empty())
      all.push_back({"least change that fits", answer.least_change, {}});
    return all;
  }
  if (answer.serving)
    add_serving(answer, all);
  else if (answer.posttraining)
    add_posttraining(answer, all);
  else
    add_training(answer, all);
  return all;
}

Verdict answer_verdict(const Answer& answer) {
  if (!answer.feasible())
    return {false,
            fmt::format("It does not fit on {}: {}.", machines_text(answer), answer.reason())};
  if (answer.serving) {
    const scenario::ServingAnswer& serving = *answer.serving;
    if (serving.slo && !serving.summary.meets) {
      return {false,
              fmt::format("It fits on {}, but misses its limits: {} of requests keep them, {} are "
                          "asked.",
                          machines_text(answer), percent(serving.summary.good_share),
                          percent(serving.slo->share))};
    }
    return {true, fmt::format("It fits on {}{}.", machines_text(answer),
                              serving.slo ? " and keeps its limits" : "")};
  }
  std::string text = fmt::format("It fits on {}", machines_text(answer));
  if (answer.operations && answer.operations->wall)
    text += fmt::format(" and takes {} with failures", duration(*answer.operations->wall));
  else if (answer.budget)
    text += fmt::format(" and takes {}", duration(answer.budget->time));
  return {true, text + "."};
}

}  // namespace flowplan::report
