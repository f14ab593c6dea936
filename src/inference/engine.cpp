#include "flowplan/inference/engine.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "range_error.hpp"

namespace flowplan::inference {

namespace {

class InstanceCheck {
 public:
  void at_least(std::string_view what, double value, double least) {
    if (!(value >= least)) add(fmt::format("{} is {}, it must be at least {}", what, value, least));
  }
  void within(std::string_view what, double value, double low, double high) {
    if (!(value >= low && value <= high))
      add(fmt::format("{} is {}, it must be between {} and {}", what, value, low, high));
  }
  void add(std::string message) { found_.push_back(out_of_range("/workload", std::move(message))); }
  [[nodiscard]] Diagnostics take() { return std::move(found_); }

 private:
  Diagnostics found_;
};

void check_tiers(const EngineSpec& engine, InstanceCheck& check) {
  if (!engine.tiers.empty() && !engine.prefix_caching)
    check.add("KV tiers keep prefix blocks: they need prefix caching");
  for (const KvTier& tier : engine.tiers)
    if (!(tier.read.value() > 0.0))
      check.add(fmt::format("KV tier {} has no read rate", tier.name));
}

}  // namespace

double tokens_per_pass(double alpha, std::int64_t draft_tokens) {
  double sum = 1.0, power = 1.0;
  for (std::int64_t g = 0; g < draft_tokens; ++g)
    sum += power *= alpha;
  return sum;
}

double tokens_per_pass(const std::vector<double>& accepted, std::int64_t draft_tokens) {
  if (draft_tokens <= 0 || accepted.empty()) return 1.0;
  return accepted[std::min(accepted.size(), static_cast<std::size_t>(draft_tokens)) - 1];
}

Diagnostics check(const Instance& instance) {
  InstanceCheck check;
  const EngineSpec& engine = instance.engine;
  check.at_least("the token budget", static_cast<double>(engine.token_budget), 1);
  check.at_least("the sequence budget", static_cast<double>(engine.max_sequences), 1);
  check.at_least("the context limit", static_cast<double>(engine.context_limit), 1);
  check.at_least("the number of attention ranks", instance.table.attention_ranks, 1);
  check.at_least("the number of micro-batches", instance.table.micro_batches, 1);
  check.at_least("the KV block size", static_cast<double>(instance.kv.block_size_tokens), 1);
  check.at_least("the KV capacity in blocks", static_cast<double>(instance.kv.capacity_blocks), 1);
  check.within("the share of KV kept free", engine.free_share, 0, 1);
  const Speculation& draft = engine.speculation;
  check.at_least("the number of draft tokens", static_cast<double>(draft.draft_tokens), 0);
  check.within("the number of tokens a pass", draft.tokens_per_pass, 1,
               1.0 + static_cast<double>(draft.draft_tokens));
  if (engine.preemption == Preemption::swap && !(engine.swap_rate.value() > 0.0))
    check.add("preemption by swap needs a swap rate");
  if (instance.table.dense_s.empty()) check.add("the step table is empty");
  check_tiers(engine, check);
  return check.take();
}

}  // namespace flowplan::inference
