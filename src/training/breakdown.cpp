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

void add_if(std::vector<Breakdown>& children, Breakdown part) {
  if (part.leaf_time.value() > 0.0) children.push_back(std::move(part));
}

/// Leaves of what the layers of the slowest stage do for every micro-batch.
class LayerLeaves {
 public:
  explicit LayerLeaves(const StepTimes& times) : times_(times) {}

  /// `part` gives the time of one layer, `kind_of` what limits it.
  template <class Part>
  void add(std::vector<Breakdown>& children, const char* id, const char* label, Part part,
           const char* limit, const char* next, model::Precision precision) const {
    Seconds all{};
    std::string text;
    for (std::size_t kind = 0; kind < times_.layer.size(); ++kind) {
      const double layers = times_.busiest.layers[kind];
      if (layers == 0.0) continue;
      const Seconds once = part(times_.layer[kind]);
      all += once * layers;
      if (once.value() <= 0.0) continue;
      if (!text.empty()) text += " + ";
      text += fmt::format("{} {}layers x {:.4g} ms", layers,
                          times_.layer[0].gpu().value() > 0.0 && times_.layer[1].gpu().value() > 0.0
                              ? (kind == 1 ? "expert " : "dense ")
                              : "",
                          ms(once));
    }
    const auto micro_batches = static_cast<double>(times_.micro_batches);
    add_if(children, leaf(id, label, all * micro_batches, tensor_cores(limit, precision),
                          tensor_cores(next, precision),
                          fmt::format("{} micro-batches x ({})", times_.micro_batches, text)));
  }

  /// The kind of layer that the slowest stage has more of.
  [[nodiscard]] const LayerTimes& main() const {
    const StageTime& slowest = times_.busiest;
    return times_.layer[slowest.layers[1] > slowest.layers[0] ? 1 : 0];
  }

 private:
  const StepTimes& times_;
};

Breakdown head(const StepTimes& times) {
  const double m = static_cast<double>(times.micro_batches);
  const double repeats = m * times.busiest.head_share;
  const Seconds gemm = times.head.gemm.forward + times.head.gemm.backward;
  const Seconds loss = times.head.loss_forward + times.head.loss_backward;
  const Seconds prediction = times.head.prediction.forward + times.head.prediction.backward;
  std::vector<Breakdown> children;
  const auto each = [&](Seconds once) {
    return fmt::format("{} micro-batches x {:.4g} ms", times.micro_batches, ms(once));
  };
  add_if(children, leaf("step.compute.head.gemm", "Output projection", gemm * repeats,
                        tensor_cores(times.head.gemm.limit, model::Precision::bf16),
                        times.head.gemm.next, each(gemm)));
  add_if(children,
         leaf("step.compute.head.loss", "Loss", loss * repeats, "HBM", "launch", each(loss)));
  add_if(children, leaf("step.compute.head.prediction", "Prediction modules", prediction * repeats,
                        times.head.prediction.limit, times.head.prediction.next, each(prediction)));
  return node("step.compute.head", "Output head", std::move(children));
}

Breakdown compute(const StepTimes& times, const Job& job) {
  const LayerLeaves layers(times);
  const LayerWork& w = layers.main().work;
  std::vector<Breakdown> c;
  // Attention multiplies in 16 bits whatever the GEMMs do.
  const auto add = [&](const char* id, const char* label, auto part, const Work& work) {
    const bool narrow = &work != &w.attention;
    layers.add(c, id, label, part, work.limit, work.next,
               narrow ? job.precision : model::Precision::bf16);
  };
  add(
      "step.compute.gemm_forward", "GEMMs, forward",
      [](const LayerTimes& t) { return t.work.gemm.forward; }, w.gemm);
  add(
      "step.compute.gemm_backward", "GEMMs, backward",
      [](const LayerTimes& t) { return t.work.gemm.backward; }, w.gemm);
  add(
      "step.compute.experts", "Experts, forward and backward",
      [](const LayerTimes& t) { return t.work.experts.forward + t.work.experts.backward; },
      w.experts);
  add(
      "step.compute.attention_forward", "Attention, forward",
      [](const LayerTimes& t) { return t.work.attention.forward; }, w.attention);
  add(
      "step.compute.attention_backward", "Attention, backward",
      [](const LayerTimes& t) { return t.work.attention.backward; }, w.attention);
  add(
      "step.compute.memory_bound", "Norms, activations, residuals",
      [](const LayerTimes& t) {
        return t.work.memory_bound.forward + t.work.memory_bound.backward;
      },
      w.memory_bound);
  add(
      "step.compute.routing", "Permutation to experts",
      [](const LayerTimes& t) { return t.work.routing.forward + t.work.routing.backward; },
      w.routing);
  add(
      "step.compute.casts", "Precision casts",
      [](const LayerTimes& t) { return t.work.casts.forward + t.work.casts.backward; }, w.casts);
  const Work& redone = job.recompute == Recompute::selective ? w.attention : w.gemm;
  add(
      "step.compute.recompute", "Recomputation",
      [](const LayerTimes& t) { return t.work.recomputed; }, redone);
  const StageTime& slowest = times.busiest;
  if (slowest.wide.value() != 0.0) {
    c.push_back(leaf("step.compute.wide_layers", "Layers left in 16 bits, beyond the others",
                     slowest.wide * static_cast<double>(times.micro_batches),
                     tensor_cores("tensor cores", model::Precision::bf16), "HBM",
                     fmt::format("{} micro-batches x {:.4g} ms of the stage", times.micro_batches,
                                 ms(slowest.wide))));
  }
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
  const LayerLeaves layers(times);
  std::vector<Breakdown> c;
  const auto add = [&](const char* id, const char* label, auto which) {
    const Exposed& one = which(layers.main());
    layers.add(
        c, id, label, [&](const LayerTimes& t) { return which(t).time; }, one.limit.c_str(),
        one.next.c_str(), job.precision);
    if (!c.empty() && c.back().id == id) {
      c.back().formula += fmt::format("; {:.4g} ms with nothing hidden, operations of {:.4g} MB",
                                      ms(one.whole), one.bytes / 1e6);
    }
  };
  add("step.communication.tp", "Tensor parallel, exposed",
      [](const LayerTimes& t) -> const Exposed& { return t.tp; });
  add("step.communication.cp", "Context parallel, exposed",
      [](const LayerTimes& t) -> const Exposed& { return t.cp; });
  add("step.communication.ep", "Expert exchange, exposed",
      [](const LayerTimes& t) -> const Exposed& { return t.ep; });
  add("step.communication.shard", "Sharded weights and gradients, exposed",
      [](const LayerTimes& t) -> const Exposed& { return t.shard; });
  const StageTime& slowest = times.busiest;
  add_if(c, leaf("step.communication.offload", "Activations to the host and back, exposed",
                 slowest.offload * static_cast<double>(times.micro_batches), "host link", "GPU",
                 fmt::format("{} micro-batches x {:.4g} ms of the stage", times.micro_batches,
                             ms(slowest.offload))));
  if (times.busiest.head_share > 0.0) {
    const double m = static_cast<double>(times.micro_batches) * times.busiest.head_share;
    add_if(c, leaf("step.communication.head_shard", "Sharded embedding and head, exposed",
                   times.head_shard.time * m, times.head_shard.limit, times.head_shard.next,
                   fmt::format("{} micro-batches x {:.4g} ms of {:.4g} ms", times.micro_batches,
                               ms(times.head_shard.time), ms(times.head_shard.whole))));
  }
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
                        fmt::format("{}: fill and drain of {} other stages / {} virtual stages",
                                    name(job.schedule), job.layout.pp - 1, job.layout.vp)));
  add_if(children, leaf("step.optimizer", "Optimizer", times.optimizer, "HBM", "launch",
                        fmt::format("{:.4g} G parameters a rank before sharding",
                                    times.parameters.total() / 1e9)));
  add_if(children, leaf("step.overhead", "Step overhead", times.overhead, "host", "",
                        "data loading, logging, synchronisation"));
  return node("step", "Step", std::move(children));
}

}  // namespace flowplan::training
