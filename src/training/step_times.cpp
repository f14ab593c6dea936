#include "step_times.hpp"

#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"

namespace flowplan::training {

namespace {

using collective::Operation;
using collective::Outcome;
using topology::Axis;

constexpr double activation_bytes = 2.0;  // of an element that travels between ranks, bf16

/// Runs of each operation that tensor parallelism makes in one layer.
struct TpRuns {
  double gathers = 0, scatters = 0, reductions = 0;
};

/// Megatron's sequence parallelism: two gathers and two scatters forward, the same backward and one
/// more gather of a saved input; without it two all-reduces each way. Full recomputation repeats
/// the forward ones.
TpRuns tp_runs(const Job& job) {
  const double forwards = job.recompute == Recompute::full ? 2.0 : 1.0;
  if (job.layout.sequence_parallel) return {2.0 * forwards + 3.0, 2.0 * forwards + 2.0, 0.0};
  return {0.0, 0.0, 2.0 * forwards + 2.0};
}

Exposed tp_exposed(const Framework& framework, const Job& job, double layer_runs,
                   Communication& communication) {
  Exposed result;
  if (job.layout.tp == 1) return result;
  result.bytes = activation_bytes * static_cast<double>(job.micro_batch * job.seq_len) *
                 static_cast<double>(job.model.hidden) / job.layout.cp;
  const TpRuns runs = tp_runs(job);
  const auto add = [&](Operation operation, double times) {
    if (times == 0.0) return;
    const Outcome& outcome = communication.predict(Axis::tp, operation, Bytes(result.bytes));
    communication.count(outcome, times * layer_runs);
    result.whole += outcome.time * times;
    result.limit = resource(outcome.limit);
    result.next = resource(outcome.next);
  };
  add(Operation::all_gather, runs.gathers);
  add(Operation::reduce_scatter, runs.scatters);
  add(Operation::all_reduce, runs.reductions);
  result.time = result.whole * framework.tp_exposed;
  return result;
}

Exposed pp_transfer(const Framework& framework, const Job& job, double transfers,
                    Communication& communication) {
  Exposed result;
  if (job.layout.pp == 1) return result;
  const double split = job.layout.sequence_parallel ? job.layout.tp : 1.0;
  result.bytes = activation_bytes * static_cast<double>(job.micro_batch * job.seq_len) *
                 static_cast<double>(job.model.hidden) / (split * job.layout.cp);
  const Outcome& outcome =
      communication.predict(Axis::pp, Operation::send_recv, Bytes(result.bytes));
  communication.count(outcome, transfers);
  result.whole = outcome.time;
  result.time = outcome.time * framework.pp_exposed;
  result.limit = resource(outcome.limit);
  result.next = resource(outcome.next);
  return result;
}

Exposed dp_exposed(const Framework& framework, const Job& job, double parameters,
                   Communication& communication) {
  Exposed result;
  if (job.layout.dp == 1) return result;
  result.bytes = framework.gradient_bytes * parameters;
  const auto add = [&](Operation operation, double bytes) {
    const Outcome& outcome = communication.predict(Axis::dp, operation, Bytes(bytes));
    communication.count(outcome, 1.0);
    result.whole += outcome.time;
    result.limit = resource(outcome.limit);
    result.next = resource(outcome.next);
  };
  if (job.sharding == Sharding::distributed_optimizer) {
    add(Operation::reduce_scatter, result.bytes);
    add(Operation::all_gather, framework.gather_bytes(job.precision) * parameters);
  } else {
    add(Operation::all_reduce, result.bytes);
  }
  result.time = result.whole * framework.dp_exposed;
  return result;
}

double p_norm(double a, double b, double p) {
  const double most = std::max(a, b);
  if (most <= 0.0) return 0.0;
  return most * std::pow(std::pow(a / most, p) + std::pow(b / most, p), 1.0 / p);
}

/// Host time of a stage for one micro-batch.
Seconds host_time(const Framework& framework, const Job& job, double layers) {
  const Seconds layer =
      job.recompute == Recompute::full ? framework.host_recompute_layer : framework.host_layer;
  const double wide = job.layout.tp >= framework.wide_tp ? framework.wide_tp_factor : 1.0;
  return layer * (layers * wide) + framework.host_micro_batch;
}

std::vector<StageTime> stage_times(const Framework& framework, const Job& job,
                                   const StepTimes& times) {
  const auto layers = stage_layers(job.model.layers, job.layout.pp, job.layout.vp);
  FLOWPLAN_ASSERT(layers.has_value());
  const Seconds layer =
      times.layer.forward() + times.layer.backward() + times.recomputed + times.tp.time;
  std::vector<StageTime> stages;
  for (const std::int64_t count : *layers) {
    StageTime stage;
    stage.layers = static_cast<double>(count);
    stage.layer_work = layer * stage.layers;
    const Seconds host = host_time(framework, job, stage.layers);
    const double joined = p_norm(stage.layer_work.value(), host.value(), framework.host_norm);
    stage.host_excess = Seconds(joined) - stage.layer_work;
    stages.push_back(stage);
  }
  stages.back().head = times.head.total();
  return stages;
}

/// Parameters of the rank that holds most of them.
double most_parameters(const Job& job) {
  const auto layers = stage_layers(job.model.layers, job.layout.pp, job.layout.vp);
  FLOWPLAN_ASSERT(layers.has_value());
  const double vocabulary = vocabulary_parameters_per_rank(job);
  const bool alone = job.layout.pp == 1;
  const double ends = alone && !job.model.tied_embeddings ? 2.0 : 1.0;
  const double outer =
      static_cast<double>(layers->front()) * layer_parameters_per_rank(job) + ends * vocabulary;
  if (job.layout.pp < 3) return outer;
  return std::max(outer, static_cast<double>((*layers)[1]) * layer_parameters_per_rank(job));
}

}  // namespace

StepTimes step_times(const compute::Kernels& kernels, const Framework& framework, const Job& job,
                     Communication& communication) {
  const Layout& layout = job.layout;
  StepTimes times;
  times.micro_batches = job.global_batch / (job.micro_batch * layout.dp);
  const auto micro_batches = static_cast<double>(times.micro_batches);
  times.layer = layer_work(kernels, framework, job);
  times.recomputed = recomputation(times.layer, job.recompute);
  times.head = head_work(kernels, framework, job);
  const double layers_a_stage = static_cast<double>(job.model.layers) / layout.pp;
  times.tp = tp_exposed(framework, job, layers_a_stage * micro_batches, communication);
  times.stages = stage_times(framework, job, times);

  std::vector<Seconds> totals;
  for (const StageTime& stage : times.stages)
    totals.push_back(stage.total());
  times.pipeline = pipeline_time(totals, times.micro_batches, layout.vp);

  // Forward and backward, each chunk; the fill and drain ones are not hidden.
  const double steady_transfers = layout.pp > 1 ? 2.0 * layout.vp * micro_batches : 0.0;
  const double fill_transfers = 2.0 * (layout.pp - 1.0);
  times.pp_transfer = pp_transfer(framework, job, steady_transfers, communication);
  times.pp = times.pp_transfer.time * steady_transfers + times.pp_transfer.whole * fill_transfers;

  times.parameters = most_parameters(job);
  times.dp = dp_exposed(framework, job, times.parameters, communication);
  const bool sharded = job.sharding == Sharding::distributed_optimizer;
  const double shards = sharded ? static_cast<double>(layout.dp) * layout.cp : 1.0;
  times.optimizer =
      kernels.memory_bound(Bytes(framework.optimizer_bytes * times.parameters / shards)).time;
  times.overhead = framework.step_overhead;
  return times;
}

}  // namespace flowplan::training
