#include "flowplan/export/observation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "flowplan/topology/tier_name.hpp"

namespace flowplan::exporting {

namespace {

constexpr double seconds_per_minute = 60.0;
constexpr double bytes_per_mib = 1024.0 * 1024.0;

class ObservationBuilder {
 public:
  ObservationBuilder(const Plan& plan, const scenario::Answer& answer)
      : plan_(plan), answer_(answer) {
    made_.title = plan.title;
    made_.slug = plan.slug;
    made_.instance = answer.instance;
    made_.model = plan.job.model.name;
    made_.ratio = plan.defaults->at("alert.ratio");
    made_.wait_minutes = static_cast<int>(plan.defaults->at("alert.wait_minutes"));
    made_.window_minutes = static_cast<int>(plan.defaults->at("rate.window_minutes"));
  }

  Observation make() {
    for (const Metric& metric : answer_.estimate.metrics)
      if (const auto info = find_metric(metric.id); info && std::isfinite(metric.value))
        predict(std::string(info->prometheus_name), std::string(info->description), metric.value);
    machines();
    network();
    computing();
    storage();
    serving();
    return std::move(made_);
  }

 private:
  void predict(std::string name, std::string help, double value, std::string tier = {}) {
    made_.predictions.push_back({std::move(name), std::move(help), value, std::move(tier)});
  }
  void compare(Comparison comparison) { made_.comparisons.push_back(std::move(comparison)); }

  [[nodiscard]] std::string rate(const std::string& counter) const {
    return fmt::format("rate({}[{}m])", counter, made_.window_minutes);
  }
  [[nodiscard]] bool predicts(std::string_view id) const {
    const double* value = answer_.estimate.value(id);
    return value != nullptr && std::isfinite(*value);
  }

  void machines() {
    const double used =
        answer_.serving ? answer_.serving->gpus : static_cast<double>(plan_.ranks());
    predict("flowplan_job_gpus", "GPUs of the job.", used);
    predict("flowplan_job_nodes", "Nodes of the job.", plan_.job_nodes);
    Comparison gpus{"Machines",
                    "GPUs at work",
                    "FlowplanGpusMissing",
                    "flowplan_job_gpus",
                    "cluster:DCGM_FI_PROF_GR_ENGINE_ACTIVE:count_busy",
                    "count(DCGM_FI_PROF_GR_ENGINE_ACTIVE > 0)",
                    "none"};
    gpus.exact = true;
    compare(gpus);
    Comparison nodes{"Machines",
                     "Nodes allocated by Slurm",
                     "FlowplanNodesMissing",
                     "flowplan_job_nodes",
                     "cluster:slurm_nodes_alloc:max",
                     "max(slurm_nodes_alloc)",
                     "none"};
    nodes.exact = true;
    compare(nodes);
  }

  /// What the tiers of links carry on the mean over a step; of reinforcement learning only the
  /// trainer's part of it is known.
  void network() {
    if (plan_.work == Plan::Work::reinforcement) return;
    for (const training::TierUse& use : answer_.iteration.tiers)
      predict("flowplan_link_utilisation_ratio",
              "Share of a tier's capacity that the job uses, mean over its links and a step.",
              use.utilisation, std::string(topology::tier_name(use.tier, answer_.nic_kind)));
    const auto efa =
        std::find_if(answer_.iteration.tiers.begin(), answer_.iteration.tiers.end(),
                     [](const training::TierUse& use) { return use.tier == topology::Tier::efa; });
    if (efa == answer_.iteration.tiers.end() || efa->utilisation <= 0) return;
    if (answer_.nic_kind != "efa") return;  // the exporters' counters are of EFA
    const double capacity = plan_.node_type->efa_per_gpu().value() * plan_.gpus_per_node();
    // The mean is over all links: those of idle nodes count there and carry nothing.
    const double share =
        efa->utilisation * plan_.nodes() / std::max<std::uint32_t>(1, plan_.job_nodes);
    for (const auto& [name, counter, title, alert] :
         {std::array<const char*, 4>{"transmit", "node_amazonefa_tx_bytes",
                                     "EFA transmit rate of an instance",
                                     "FlowplanEfaTransmitBelowPrediction"},
          {"receive", "node_amazonefa_rx_bytes", "EFA receive rate of an instance",
           "FlowplanEfaReceiveBelowPrediction"}}) {
      const std::string predicted = fmt::format("flowplan_instance_efa_{}_bytes_per_second", name);
      predict(predicted, fmt::format("{}, mean over a step.", title), share * capacity);
      compare({"Network", title, alert, predicted,
               fmt::format("instance:{}:rate{}m", counter, made_.window_minutes),
               fmt::format("sum without (device, port) ({})", rate(counter)), "Bps"});
    }
  }

  void computing() {
    // MFU counts useful work at the peak clock: tensor cores are active at least as long.
    if (predicts("training.mfu"))
      compare(
          {"GPUs", "Tensor cores active, and predicted MFU", "FlowplanTensorActivityBelowMfu",
           "flowplan_training_mfu_ratio",
           fmt::format("hostname:DCGM_FI_PROF_PIPE_TENSOR_ACTIVE:avg{}m", made_.window_minutes),
           fmt::format("avg by (Hostname) (avg_over_time(DCGM_FI_PROF_PIPE_TENSOR_ACTIVE[{}m]))",
                       made_.window_minutes),
           "percentunit"});
    // Engines that share the GPUs of reinforcement learning take memory of their own.
    if (!predicts("training.memory_peak") || plan_.work == Plan::Work::reinforcement) return;
    Comparison memory{"GPUs",
                      "Memory of the fullest GPU",
                      "FlowplanMemoryAbovePrediction",
                      "flowplan_training_memory_peak_bytes",
                      "cluster:DCGM_FI_DEV_FB_USED:max_bytes",
                      fmt::format("{:.0f} * max(DCGM_FI_DEV_FB_USED)", bytes_per_mib),
                      "bytes"};
    memory.higher_is_better = false;
    compare(memory);
  }

  /// CloudWatch sums over a period: a save shorter than it shows diluted.
  void storage() {
    const double* bytes = answer_.estimate.value("storage.checkpoint_bytes");
    const double* persist = answer_.estimate.value("storage.checkpoint_persist");
    if (bytes == nullptr || persist == nullptr || !plan_.shared || *persist <= 0) return;
    const double period = plan_.defaults->at("cloudwatch.period_s");
    predict("flowplan_storage_checkpoint_write_bytes_per_second",
            fmt::format("Rate of a save to FSx in the busiest {:.0f} s.", period),
            *bytes / std::max(*persist, period));
    Comparison save{"Storage",
                    "FSx write rate",
                    "FlowplanCheckpointWriteBelowPrediction",
                    "flowplan_storage_checkpoint_write_bytes_per_second",
                    "cluster:aws_fsx_data_write_bytes:rate1m",
                    fmt::format("sum(aws_fsx_data_write_bytes_sum) / {:g}", period),
                    "Bps"};
    save.over = fmt::format("{}m", window_of_saves());
    compare(save);
  }

  /// Two intervals between saves, in minutes: one save at least is in them.
  [[nodiscard]] long window_of_saves() const {
    double interval = 0.0;
    if (const double* chosen = answer_.estimate.value("operations.checkpoint_interval"))
      interval = *chosen;
    else if (answer_.storage)
      interval = answer_.storage->interval_steps * answer_.iteration.step.value();
    return std::max(2L * made_.wait_minutes,
                    std::lround(std::ceil(2.0 * interval / seconds_per_minute)));
  }

  void serving() {
    struct Latency {
      const char *id, *name, *histogram;
    };
    constexpr Latency latencies[] = {
        {"ttft", "Time to first token", "vllm:time_to_first_token_seconds"},
        {"tpot", "Time per output token", "vllm:time_per_output_token_seconds"},
        {"e2e", "Time of a request", "vllm:e2e_request_latency_seconds"}};
    for (const Latency& one : latencies)
      for (const int percent : {50, 90, 95, 99})
        latency(one.id, one.name, one.histogram, percent);
  }

  void latency(const std::string& id, const std::string& name, const std::string& histogram,
               int percent) {
    const auto info = find_metric(fmt::format("inference.{}_p{}", id, percent));
    if (!info || !predicts(info->id)) return;
    std::string recorded = histogram;
    std::replace(recorded.begin(), recorded.end(), ':', '_');
    Comparison one{"Serving",
                   fmt::format("{}, {} % of requests", name, percent),
                   fmt::format("Flowplan{}P{}AbovePrediction",
                               id == "ttft"   ? "Ttft"
                               : id == "tpot" ? "Tpot"
                                              : "E2e",
                               percent),
                   std::string(info->prometheus_name),
                   fmt::format("job:{}:p{}_{}m", recorded, percent, made_.window_minutes),
                   fmt::format("histogram_quantile(0.{}, sum by (job, le) ({}))", percent,
                               rate(histogram + "_bucket")),
                   "s"};
    one.higher_is_better = false;
    compare(one);
  }

  const Plan& plan_;
  const scenario::Answer& answer_;
  Observation made_;
};

}  // namespace

Observation observation_of(const Plan& plan, const scenario::Answer& answer,
                           std::optional<double> ratio) {
  Observation observation = ObservationBuilder(plan, answer).make();
  if (ratio) observation.ratio = *ratio;
  return observation;
}

const std::vector<std::string>& exporter_metrics() {
  static const std::vector<std::string> names{
      // NVIDIA's DCGM exporter, its default counters
      "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "DCGM_FI_DEV_FB_USED",
      // node_exporter with the EFA collector
      "node_amazonefa_tx_bytes", "node_amazonefa_rx_bytes",
      // Slurm's own OpenMetrics end points
      "slurm_nodes_alloc",
      // CloudWatch exporter, FSx
      "aws_fsx_data_write_bytes_sum",
      // vLLM
      "vllm:time_to_first_token_seconds_bucket", "vllm:time_per_output_token_seconds_bucket",
      "vllm:e2e_request_latency_seconds_bucket"};
  return names;
}

}  // namespace flowplan::exporting
