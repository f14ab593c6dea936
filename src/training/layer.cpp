#include "layer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace flowplan::training {

namespace {

double real(std::int64_t n) {
  return static_cast<double>(n);
}

/// Sizes of one rank's share of a layer.
struct Share {
  std::int64_t tokens = 0;  ///< of the micro-batch
  std::int64_t hidden = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t mlp_in = 0;     ///< columns of the first MLP matrix: two halves when gated
  std::int64_t mlp = 0;        ///< rows of the second
  double hidden_elements = 0;  ///< a token, of what sequence parallelism divides

  [[nodiscard]] std::int64_t queries() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t qkv() const { return (heads + 2 * kv_heads) * head_dim; }
};

Share share_of(const Job& job) {
  const model::Transformer& m = job.model;
  const std::int64_t tp = job.layout.tp;
  Share s;
  s.tokens = job.micro_batch * job.seq_len / job.layout.cp;
  s.hidden = m.hidden;
  s.heads = std::max<std::int64_t>(1, m.heads / tp);
  s.kv_heads = kv_heads_per_rank(job);
  s.head_dim = m.head_dim;
  s.mlp = std::max<std::int64_t>(1, m.ffn / tp);
  s.mlp_in = s.mlp * (m.gated_mlp ? 2 : 1);
  s.hidden_elements = real(m.hidden) / (job.layout.sequence_parallel ? real(tp) : 1.0);
  return s;
}

/// y = x W with W of `in` rows and `out` columns: its forward GEMM, then those for the gradients of
/// input and weight.
Work linear(const compute::Kernels& kernels, model::Precision precision, std::int64_t tokens,
            std::int64_t in, std::int64_t out) {
  const auto forward = kernels.gemm({tokens, out, in}, precision);
  const auto input_gradient = kernels.gemm({tokens, in, out}, precision);
  const auto weight_gradient = kernels.gemm({out, in, tokens}, precision);
  const double factor = kernels.in_step(precision).gemm;
  return {forward.time * factor, (input_gradient.time + weight_gradient.time) * factor,
          forward.limit, forward.next};
}

Work gemm_work(const compute::Kernels& kernels, const Job& job, const Share& s) {
  const std::array<Work, 4> linears{linear(kernels, job.precision, s.tokens, s.hidden, s.qkv()),
                                    linear(kernels, job.precision, s.tokens, s.queries(), s.hidden),
                                    linear(kernels, job.precision, s.tokens, s.hidden, s.mlp_in),
                                    linear(kernels, job.precision, s.tokens, s.mlp, s.hidden)};
  // The largest of them names the limit.
  Work total;
  Seconds largest{};
  for (const Work& one : linears) {
    total.forward += one.forward;
    total.backward += one.backward;
    if (one.forward > largest) {
      largest = one.forward;
      total.limit = one.limit;
      total.next = one.next;
    }
  }
  return total;
}

Work attention_work(const compute::Kernels& kernels, const Framework& framework, const Job& job,
                    const Share& s) {
  const compute::AttentionShape shape{job.micro_batch, s.heads, s.kv_heads, s.head_dim,
                                      job.seq_len};
  if (!framework.fused_attention) {
    constexpr double forward_products = 2, backward_products = 4;
    const auto forward =
        kernels.attention_unfused(shape, forward_products, framework.unfused_forward_passes);
    const auto backward =
        kernels.attention_unfused(shape, backward_products, framework.unfused_backward_passes);
    return {forward.time, backward.time, forward.limit, forward.next};
  }
  const compute::StepFactors step = kernels.in_step(job.precision);
  const auto forward = kernels.attention_forward(shape);
  const auto backward = kernels.attention_backward(shape);
  return {forward.time * step.attention_forward, backward.time * step.attention_backward,
          forward.limit, forward.next};
}

Work memory_work(const compute::Kernels& kernels, const Framework& framework, const Job& job,
                 const Share& s) {
  const Framework::MemoryBound& f = framework.memory_bound;
  const bool gated = job.model.gated_mlp;
  const double attention = real(s.queries() + s.kv_heads * s.head_dim);
  const double dropout =
      gated ? 0.0 : f.dropout_hidden * s.hidden_elements + f.dropout_mlp * real(s.mlp);
  const double forward = f.hidden_forward * s.hidden_elements +
                         (gated ? f.gated_forward : f.plain_forward) * real(s.mlp) +
                         f.attention_forward * attention + dropout;
  const double backward = f.hidden_backward * s.hidden_elements +
                          (gated ? f.gated_backward : f.plain_backward) * real(s.mlp) +
                          f.attention_backward * attention + dropout;
  const double tokens = real(s.tokens);
  return {kernels.memory_bound(Bytes(forward * tokens)).time * f.factor,
          kernels.memory_bound(Bytes(backward * tokens)).time * f.factor, "HBM", "launch"};
}

/// Conversion of GEMM inputs to fewer than 16 bits.
Work cast_work(const compute::Kernels& kernels, const Framework& framework, const Job& job,
               const Share& s) {
  constexpr double wide = 2.0;
  if (model::bytes_per_element(job.precision) >= wide) return {{}, {}, "HBM", "launch"};
  const double tokens = real(s.tokens);
  const double forward = 2.0 * s.hidden_elements + real(s.queries() + s.mlp);
  const double backward = 2.0 * s.hidden_elements + real(s.qkv() + s.mlp_in);
  const auto time = [&](double elements) {
    return kernels.memory_bound(Bytes(framework.cast_bytes * elements * tokens)).time *
           framework.cast_factor;
  };
  return {time(forward), time(backward), "HBM", "launch"};
}

}  // namespace

Seconds LayerWork::forward() const {
  return gemm.forward + attention.forward + memory_bound.forward + casts.forward;
}

Seconds LayerWork::backward() const {
  return gemm.backward + attention.backward + memory_bound.backward + casts.backward;
}

Seconds HeadWork::total() const {
  return gemm.forward + gemm.backward + loss;
}

LayerWork layer_work(const compute::Kernels& kernels, const Framework& framework, const Job& job) {
  const Share share = share_of(job);
  return {gemm_work(kernels, job, share), attention_work(kernels, framework, job, share),
          memory_work(kernels, framework, job, share), cast_work(kernels, framework, job, share)};
}

Seconds recomputation(const LayerWork& layer, Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
      return Seconds(0);
    case Recompute::selective:
      return layer.attention.forward;
    case Recompute::full:
      return layer.forward();
  }
  return Seconds(0);
}

HeadWork head_work(const compute::Kernels& kernels, const Framework& framework, const Job& job) {
  const std::int64_t tokens = job.micro_batch * job.seq_len / job.layout.cp;
  const std::int64_t vocab = std::max<std::int64_t>(1, job.model.vocab / job.layout.tp);
  HeadWork head;
  head.gemm = linear(kernels, model::Precision::bf16, tokens, job.model.hidden, vocab);
  head.loss = kernels.memory_bound(Bytes(framework.logit_bytes * real(tokens) * real(vocab))).time;
  return head;
}

std::int64_t kv_heads_per_rank(const Job& job) {
  return std::max<std::int64_t>(1, job.model.kv_heads / job.layout.tp);
}

double layer_parameters_per_rank(const Job& job) {
  const Share s = share_of(job);
  const double gemms = real(s.hidden) * real(s.qkv() + s.queries() + s.mlp_in + s.mlp);
  const model::Parameters whole = model::count_parameters(job.model);
  return gemms + whole.norms;
}

double vocabulary_parameters_per_rank(const Job& job) {
  return real(job.model.vocab) * real(job.model.hidden) / job.layout.tp;
}

}  // namespace flowplan::training
