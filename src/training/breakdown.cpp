#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "step_times.hpp"

namespace flowplan::training {

namespace {

Breakdown leaf(std::string id, std::string label, Seconds time, std::string limit, std::string next,
               std::string formula) {
  return {std::move(id),   std::move(label),   time, std::move(limit),
          std::move(next), std::move(formula), {}};
}

Breakdown node(std::string id, std::string label, std::vector<Breakdown> children) {
  return {std::move(id), std::move(label), {}, {}, {}, {}, std::move(children)};
}

double ms(Seconds time) {
  return time / milliseconds(1.0);
}

std::string tensor_cores(const std::string& limit, model::Precision precision) {
  if (limit != "tensor cores") return limit;
  return fmt::format("tensor cores ({})", model::name(precision));
}

/// Leaves of the work that every layer of the slowest stage does for every micro-batch.
class LayerLeaves {
 public:
  LayerLeaves(const StepTimes& times, const Job& job)
      : repeats_(static_cast<double>(times.micro_batches) * times.slowest().layers),
        text_(fmt::format("{} micro-batches x {} layers x", times.micro_batches,
                          times.slowest().layers)),
        precision_(job.precision) {}

  [[nodiscard]] Breakdown operator()(std::string id, std::string label, Seconds once,
                                     const std::string& limit, const std::string& next) const {
    return leaf(std::move(id), std::move(label), once * repeats_, tensor_cores(limit, precision_),
                tensor_cores(next, precision_), fmt::format("{} {:.4g} ms", text_, ms(once)));
  }

 private:
  double repeats_;
  std::string text_;
  model::Precision precision_;
};

void add_if(std::vector<Breakdown>& children, Breakdown part) {
  if (part.leaf_time.value() > 0.0) children.push_back(std::move(part));
}

Breakdown head(const StepTimes& times) {
  const double m = static_cast<double>(times.micro_batches);
  const Seconds gemm = times.head.gemm.forward + times.head.gemm.backward;
  const bool on_path = times.slowest().head.value() > 0.0;
  const double repeats = on_path ? m : 0.0;
  std::vector<Breakdown> children;
  add_if(children,
         leaf("step.compute.head.gemm", "Output projection", gemm * repeats,
              tensor_cores(times.head.gemm.limit, model::Precision::bf16), times.head.gemm.next,
              fmt::format("{} micro-batches x {:.4g} ms", times.micro_batches, ms(gemm))));
  add_if(
      children,
      leaf("step.compute.head.loss", "Loss", times.head.loss * repeats, "HBM", "launch",
           fmt::format("{} micro-batches x {:.4g} ms", times.micro_batches, ms(times.head.loss))));
  return node("step.compute.head", "Output head", std::move(children));
}

Breakdown compute(const StepTimes& times, const Job& job) {
  const LayerLeaves layers(times, job);
  const LayerWork& w = times.layer;
  std::vector<Breakdown> c;
  c.push_back(layers("step.compute.gemm_forward", "GEMMs, forward", w.gemm.forward, w.gemm.limit,
                     w.gemm.next));
  c.push_back(layers("step.compute.gemm_backward", "GEMMs, backward", w.gemm.backward, w.gemm.limit,
                     w.gemm.next));
  c.push_back(layers("step.compute.attention_forward", "Attention, forward", w.attention.forward,
                     w.attention.limit, w.attention.next));
  c.push_back(layers("step.compute.attention_backward", "Attention, backward", w.attention.backward,
                     w.attention.limit, w.attention.next));
  c.push_back(layers("step.compute.memory_bound", "Norms, activations, residuals",
                     w.memory_bound.forward + w.memory_bound.backward, w.memory_bound.limit,
                     w.memory_bound.next));
  add_if(c, layers("step.compute.casts", "Precision casts", w.casts.forward + w.casts.backward,
                   w.casts.limit, w.casts.next));
  const Work& redone = job.recompute == Recompute::full ? w.gemm : w.attention;
  add_if(c, layers("step.compute.recompute", "Recomputation", times.recomputed, redone.limit,
                   redone.next));
  const StageTime& slowest = times.slowest();
  add_if(c,
         leaf("step.compute.host", "Host excess",
              slowest.host_excess * static_cast<double>(times.micro_batches), "host launch", "GPU",
              fmt::format("{} micro-batches x {:.4g} ms beyond the GPU's {:.4g} ms",
                          times.micro_batches, ms(slowest.host_excess), ms(slowest.layer_work))));
  Breakdown output = head(times);
  if (!output.children.empty()) c.push_back(std::move(output));
  return node("step.compute", "Computation", std::move(c));
}

Breakdown communication(const StepTimes& times, const Job& job) {
  std::vector<Breakdown> c;
  const double repeats = static_cast<double>(times.micro_batches) * times.slowest().layers;
  add_if(c, leaf("step.communication.tp", "Tensor parallel, exposed", times.tp.time * repeats,
                 times.tp.limit, times.tp.next,
                 fmt::format("{} micro-batches x {} layers x {:.4g} ms of {:.4g} ms; operations "
                             "of {:.4g} MB",
                             times.micro_batches, times.slowest().layers, ms(times.tp.time),
                             ms(times.tp.whole), times.tp.bytes / 1e6)));
  add_if(c, leaf("step.communication.pp", "Pipeline transfers, exposed", times.pp,
                 times.pp_transfer.limit, times.pp_transfer.next,
                 fmt::format("{} micro-batches x 2 x {} chunks x {:.4g} ms of {:.4g} ms, and fill "
                             "and drain; {:.4g} MB each",
                             times.micro_batches, job.layout.vp, ms(times.pp_transfer.time),
                             ms(times.pp_transfer.whole), times.pp_transfer.bytes / 1e6)));
  add_if(c, leaf("step.communication.dp", "Data parallel, exposed", times.dp.time, times.dp.limit,
                 times.dp.next,
                 fmt::format("{:.4g} ms of {:.4g} ms; gradients of {:.4g} GB", ms(times.dp.time),
                             ms(times.dp.whole), times.dp.bytes / 1e9)));
  return node("step.communication", "Communication", std::move(c));
}

}  // namespace

Breakdown breakdown(const StepTimes& times, const Job& job) {
  std::vector<Breakdown> children;
  children.push_back(compute(times, job));
  Breakdown exposed = communication(times, job);
  if (!exposed.children.empty()) children.push_back(std::move(exposed));
  add_if(children, leaf("step.pipeline_bubble", "Pipeline bubble", times.pipeline.bubble,
                        "pipeline schedule", "",
                        fmt::format("fill and drain of {} other stages / {} virtual stages",
                                    job.layout.pp - 1, job.layout.vp)));
  add_if(children,
         leaf("step.optimizer", "Optimizer", times.optimizer, "HBM", "launch",
              fmt::format("{:.4g} G parameters a rank before sharding", times.parameters / 1e9)));
  add_if(children, leaf("step.overhead", "Step overhead", times.overhead, "host", "",
                        "data loading, logging, synchronisation"));
  return node("step", "Step", std::move(children));
}

}  // namespace flowplan::training
