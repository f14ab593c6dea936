#include "flowplan/estimate/metric.hpp"

#include <algorithm>

namespace flowplan {

namespace {

constexpr MetricInfo registry[] = {
    {"collective.algbw", "B/s", Better::higher, "Size over time, as nccl-tests defines algbw.",
     "flowplan_collective_algbw_bytes_per_second"},
    {"collective.busbw", "B/s", Better::higher,
     "algbw times nccl-tests' factor for the operation and rank count.",
     "flowplan_collective_busbw_bytes_per_second"},
    {"collective.time", "s", Better::lower, "Time of one collective.",
     "flowplan_collective_time_seconds"},
    {"training.cost_usd", "USD", Better::lower,
     "List price of the token budget at the scenario's purchase model and 100 % goodput.",
     "flowplan_training_cost_usd"},
    {"training.days", "d", Better::lower, "Time for the token budget at 100 % goodput.",
     "flowplan_training_days"},
    {"training.memory_headroom", "B", Better::higher,
     "Memory left on the most loaded GPU; negative when the job does not fit.",
     "flowplan_training_memory_headroom_bytes"},
    {"training.memory_peak", "B", Better::lower, "Memory of the most loaded GPU.",
     "flowplan_training_memory_peak_bytes"},
    {"training.mfu", "", Better::higher,
     "Model FLOPs over time and dense peak FLOPS of the GEMM precision, causal attention counted "
     "half.",
     "flowplan_training_mfu_ratio"},
    {"training.model_tflops_per_gpu", "TFLOP/s", Better::higher,
     "Model FLOPs a second and GPU, causal attention counted half, without recomputation.",
     "flowplan_training_model_tflops_per_gpu"},
    {"training.step_time", "s", Better::lower, "Time of one optimizer step.",
     "flowplan_training_step_time_seconds"},
    {"training.tokens_per_second", "tokens/s", Better::higher,
     "Tokens a second of the whole cluster.", "flowplan_training_tokens_per_second"},
    {"training.tokens_per_second_per_gpu", "tokens/s", Better::higher, "Tokens a second and GPU.",
     "flowplan_training_tokens_per_second_per_gpu"},
};

}  // namespace

std::span<const MetricInfo> metric_registry() {
  return registry;
}

std::optional<MetricInfo> find_metric(std::string_view id) {
  const auto found =
      std::lower_bound(std::begin(registry), std::end(registry), id,
                       [](const MetricInfo& m, std::string_view i) { return m.id < i; });
  if (found == std::end(registry) || found->id != id) return std::nullopt;
  return *found;
}

}  // namespace flowplan
