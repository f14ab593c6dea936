#include "base_job.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flowplan::planner {

namespace {

// The rules of docs/scenario.md, "Defaults".
constexpr std::int64_t default_seq_len = 8192;
constexpr std::int64_t default_batch_tokens = std::int64_t{4} << 20;
constexpr const char* default_framework = "megatron-core";

/// A list that the search leaves open takes the value that the workload states.
template <class T, class U>
void state(std::vector<T>& list, const std::optional<U>& stated) {
  if (list.empty() && stated) list.push_back(static_cast<T>(*stated));
}

}  // namespace

BaseJob base_job(const scenario::Scenario& scenario) {
  const scenario::PretrainingSection& work = scenario.workload;
  BaseJob base;
  training::Job& job = base.job;
  const auto note = [&](bool open, const char* key, std::string value, const char* reason) {
    if (open) {
      base.defaulted.push_back(
          {fmt::format("workload.{}", key), std::move(value), std::string(reason)});
    }
  };
  job.model = work.model;
  const std::int64_t context = work.model.context;
  job.seq_len =
      work.seq_len.value_or(context > 0 ? std::min(context, default_seq_len) : default_seq_len);
  note(!work.seq_len, "seq_len", fmt::format("{}", job.seq_len),
       context > 0 && context < default_seq_len ? "the model's context"
                                                : "the usual pretraining length");
  job.framework = work.framework.value_or(default_framework);
  note(!work.framework, "framework", job.framework, "the reference software profile");
  job.placement = work.placement;

  scenario::LayoutSpace& space = base.space;
  space = scenario.search.space;
  state(space.tp, work.tp);
  state(space.pp, work.pp);
  state(space.vp, work.vp);
  state(space.cp, work.cp);
  state(space.dp, work.dp);
  state(space.micro_batch, work.micro_batch);
  state(space.global_batch, work.global_batch);
  state(space.precision, work.precision);
  state(space.recompute, work.recompute);
  state(space.sharding, work.sharding);
  state(space.sequence_parallel, work.sequence_parallel);
  if (space.global_batch.empty()) {
    const double sequences =
        static_cast<double>(default_batch_tokens) / static_cast<double>(job.seq_len);
    space.global_batch.push_back(std::max<std::int64_t>(1, std::llround(sequences)));
    note(true, "global_batch", fmt::format("{}", space.global_batch.front()),
         "about 4 Mi tokens; `search.space.global_batch` may list several");
  }
  if (space.precision.empty()) {
    space.precision = {model::Precision::bf16, model::Precision::fp8};
    note(true, "precision", "bf16 and fp8",
         "both are searched where the GPU has them; state one to fix it");
  }
  job.global_batch = space.global_batch.front();
  job.precision = space.precision.front();
  return base;
}

}  // namespace flowplan::planner
