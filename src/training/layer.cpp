#include "layer.hpp"

#include <algorithm>
#include <cmath>

namespace flowplan::training {

namespace {

using compute::Kernels;

double real(std::int64_t n) {
  return static_cast<double>(n);
}

constexpr double wide_bytes = 2.0;                  // of a bf16 or fp16 element
constexpr double dequantised_bytes = 2.0;           // the 16-bit copy of a narrow frozen weight
constexpr std::int64_t expert_rows_multiple = 128;  // rows of an expert are padded to whole tiles

bool narrow(model::Precision precision) {
  return model::bytes_per_element(precision) < wide_bytes;
}

/// The forward product of (m x in) by (in x out), that of the input's gradient, that of the
/// weight's, which frozen weights do not have.
Work products(const Kernels& kernels, model::Precision precision, const compute::GemmShape& shape,
              double factor, bool frozen) {
  const auto [m, n, k, groups] = shape;
  const auto forward = kernels.gemm(shape, precision);
  const auto input_gradient = kernels.gemm({m, k, n, groups}, precision);
  Work work{forward.time * factor, input_gradient.time * factor, {}, forward.limit, forward.next};
  if (!frozen) {
    work.weight = kernels.gemm({n, k, m, groups}, precision).time * factor;
    work.backward += work.weight;
  }
  return work;
}

double gemm_factor(const Kernels& kernels, const Framework& framework, model::Precision precision) {
  const double library = narrow(precision) ? framework.narrow_gemm_factor : 1.0;
  return kernels.in_step(precision).gemm * library;
}

/// A linear layer and its adapters: two thin products, 16 bits wide, trained.
Work linear(const Kernels& kernels, const Framework& framework, const Job& job, std::int64_t tokens,
            const Linear& one) {
  const auto precision = one.narrow ? job.precision : model::Precision::bf16;
  Work work = products(kernels, precision, {tokens, one.out, one.in},
                       gemm_factor(kernels, framework, precision), job.adapters.has_value());
  if (job.adapters && one.adapters > 0) {
    constexpr auto bf16 = model::Precision::bf16;
    const double factor = gemm_factor(kernels, framework, bf16);
    const std::int64_t rank = job.adapters->rank;
    work.add(products(kernels, bf16, {tokens, rank * one.adapters, one.in}, factor, false));
    work.add(products(kernels, bf16, {tokens, one.adapted_out, rank}, factor, false));
  }
  return work;
}

Work linear_work(const Kernels& kernels, const Framework& framework, const Job& job,
                 std::int64_t tokens, const Linears& linears) {
  Work total;
  for (std::size_t i = 0; i < linears.count; ++i)
    total.add(linear(kernels, framework, job, tokens, linears.list[i]));
  return total;
}

/// Products of the routed experts on one rank, one kernel for all of them.
Work expert_work(const Kernels& kernels, const Framework& framework, const Job& job,
                 const Share& s) {
  const double rows = s.routed_rows / real(s.local_experts);
  const auto padded = expert_rows_multiple *
                      static_cast<std::int64_t>(std::ceil(rows / real(expert_rows_multiple)));
  const std::int64_t each = std::max(expert_rows_multiple, padded);
  const double factor = kernels.in_step(job.precision).grouped_gemm;
  const bool frozen = job.adapters.has_value();
  const std::int64_t in = s.expert_ffn * (job.model.gated_mlp ? 2 : 1);
  Work work = products(kernels, job.precision, {each, in, s.expert_hidden, s.local_experts}, factor,
                       frozen);
  work.add(products(kernels, job.precision, {each, s.expert_hidden, s.expert_ffn, s.local_experts},
                    factor, frozen));
  constexpr double passes = 3.0;  // forward, and two backward
  const Seconds handling = framework.moe.expert * (real(s.local_experts) / passes);
  work.forward += handling;
  work.backward += handling * 2.0;
  return work;
}

/// Attention of a layer, the mean of those with a window and those without.
Work attention_work(const Kernels& kernels, const Framework& framework, const Job& job,
                    const Share& s) {
  compute::AttentionShape shape{job.micro_batch, s.heads,     s.kv_heads,
                                s.query_dim,     job.seq_len, s.value_dim};
  const double share = job.attention_share / job.layout.cp;
  if (!framework.fused_attention) {
    constexpr double forward_products = 2, backward_products = 4;
    const auto forward =
        kernels.attention_unfused(shape, forward_products, framework.unfused_forward_passes);
    const auto backward =
        kernels.attention_unfused(shape, backward_products, framework.unfused_backward_passes);
    return Work{forward.time, backward.time, {}, forward.limit, forward.next}.times(share);
  }
  const compute::StepFactors step = kernels.in_step(job.precision, framework.attention);
  const auto of = [&](std::int64_t window) {
    shape.window = window;
    const auto forward = kernels.attention_forward(shape, framework.attention);
    const auto backward = kernels.attention_backward(shape, framework.attention);
    return Work{forward.time * step.attention_forward,
                backward.time * step.attention_backward,
                {},
                forward.limit,
                forward.next};
  };
  const double windowed = job.model.sliding_window > 0 ? job.model.sliding_share : 0.0;
  Work work = of(0).times((1.0 - windowed) * share);
  if (windowed > 0.0) work.add(of(job.model.sliding_window).times(windowed * share));
  return work;
}

/// Element-wise kernels, by what they move.
struct Moved {
  double forward = 0, backward = 0;  // bytes
};

/// Of a layer with two norms and two residuals the norms move half.
double norms_alone(const Share& s) {
  return s.norms / 4.0;
}

Moved norms(const Framework::MemoryBound& f, const Share& s) {
  const double elements = (0.5 + norms_alone(s)) * real(s.hidden) * s.split_tokens;
  return {f.hidden_forward * elements, f.hidden_backward * elements};
}

/// The activation between the matrices of an MLP on `rows` rows of `width`.
Moved activation(const Framework::MemoryBound& f, bool gated, double rows, std::int64_t width) {
  return {(gated ? f.gated_forward : f.plain_forward) * rows * real(width),
          (gated ? f.gated_backward : f.plain_backward) * rows * real(width)};
}

Work moving(const Kernels& kernels, const Moved& moved, double factor) {
  return {kernels.memory_bound(Bytes(moved.forward)).time * factor,
          kernels.memory_bound(Bytes(moved.backward)).time * factor,
          {},
          "HBM",
          "launch"};
}

Moved element_wise(const Framework& framework, const Job& job, const Share& s) {
  const Framework::MemoryBound& f = framework.memory_bound;
  const double tokens = real(s.tokens);
  const double rotated = real(s.queries() + s.kv_heads * s.query_dim);
  Moved sum = norms(f, s);
  const auto add = [&](const Moved& more) {
    sum.forward += more.forward;
    sum.backward += more.backward;
  };
  add(activation(f, job.model.gated_mlp, tokens, s.mlp));
  add(activation(f, job.model.gated_mlp, s.routed_rows, s.expert_ffn));
  add({f.attention_forward * rotated * tokens * s.full,
       f.attention_backward * rotated * tokens * s.full});
  if (!job.model.gated_mlp) {
    const double dropout =
        f.dropout_hidden * real(s.hidden) * s.split_tokens + f.dropout_mlp * real(s.mlp) * tokens;
    add({dropout, dropout});
  }
  return sum;
}

/// Frozen weights stored in fewer than 16 bits: read and written as 16-bit ones for the forward
/// product and again for that of the input's gradient.
Work dequantisation(const Kernels& kernels, const Job& job, LayerKind of) {
  if (!job.adapters || job.adapters->frozen_bytes >= dequantised_bytes) return {};
  const double moved =
      layer_parameters_per_rank(job, of).total() * (job.adapters->frozen_bytes + dequantised_bytes);
  return moving(kernels, {moved, moved}, 1.0);
}

Work routing_work(const Kernels& kernels, const Framework& framework, const Share& s) {
  const double moved = framework.moe.permute_bytes * s.routed_rows * real(s.expert_hidden);
  return moving(kernels, {moved, moved}, framework.moe.permute_factor);
}

/// Conversion of GEMM inputs to fewer than 16 bits.
Work cast_work(const Kernels& kernels, const Framework& framework, const Job& job, const Share& s,
               const Linears& attention, const Linears& linear_attention, const Linears& mlp) {
  Work none{{}, {}, {}, "HBM", "launch"};
  if (!narrow(job.precision)) return none;
  const double tokens = real(s.tokens), h = real(s.expert_hidden);
  double forward = 0.0, backward = 0.0;
  const auto add = [&](const Linears& linears, double share) {
    for (std::size_t i = 0; i < linears.count; ++i) {
      const Linear& one = linears.list[i];
      if (!one.narrow) continue;
      // Inputs and output gradients as wide as the residual stream are divided with it.
      forward += share * real(one.in) * (one.in == s.hidden ? s.split_tokens : tokens);
      backward += share * real(one.out) * (one.out == s.hidden ? s.split_tokens : tokens);
    }
  };
  add(attention, s.full);
  add(linear_attention, s.linear);
  add(mlp, 1.0);
  const double gate = job.model.gated_mlp ? 2.0 : 1.0;
  forward += s.routed_rows * (h + real(s.expert_ffn));
  backward += s.routed_rows * (h + gate * real(s.expert_ffn));
  return moving(kernels, {framework.cast_bytes * forward, framework.cast_bytes * backward},
                framework.cast_factor);
}

/// The scan of linear attention, bound by HBM (arXiv 2405.21060, section 6, in chunks): the
/// convolution reads and writes its channels, the scan reads them twice and its states four times
/// a chunk in fp32, the gate and norm move the values three times. Two and a half times that
/// backward, as attention.
Work scan_work(const Kernels& kernels, const Framework& framework, const Job& job, const Share& s) {
  if (!job.model.linear_attention) return {};
  const model::LinearAttention& l = *job.model.linear_attention;
  constexpr double chunk_tokens = 128.0, state_bytes = 4.0, state_passes = 4.0;
  constexpr double channel_passes = 4.0, value_passes = 4.0, backward = 2.5;
  const double states = real(l.value_heads * l.key_dim * l.value_dim) / chunk_tokens;
  const double token =
      wide_bytes * (channel_passes * real(l.channels()) + value_passes * real(l.values())) +
      state_bytes * state_passes * states;
  const double moved = token * real(s.tokens) / job.layout.tp;
  return moving(kernels, {moved, backward * moved}, framework.scan_factor);
}

/// What the backward pass does again.
Seconds recomputation(const Kernels& kernels, const Framework& framework, const Job& job,
                      const Share& s, const LayerWork& layer, const Work& mlp) {
  const Framework::MemoryBound& f = framework.memory_bound;
  const auto moved = [&](double bytes) {
    return kernels.memory_bound(Bytes(bytes)).time * f.factor;
  };
  switch (job.recompute) {
    case Recompute::none:
      return Seconds(0);
    case Recompute::operators:
      return layer.forward() * framework.operators_share;
    case Recompute::full:
      return layer.forward();
    case Recompute::selective:
      break;
  }
  const RecomputeModules& modules = job.modules;
  const bool gated = job.model.gated_mlp;
  Seconds sum{};
  if (modules.core_attention) sum += layer.attention.forward;
  if (modules.mlp) {
    sum += mlp.forward + moved(activation(f, gated, real(s.tokens), s.mlp).forward);
  }
  if (modules.experts) sum += layer.experts.forward + layer.routing.forward;
  if (modules.experts || modules.expert_activation) {
    sum += moved(activation(f, gated, s.routed_rows, s.expert_ffn).forward);
  }
  if (modules.norms) {
    sum += moved(norms(f, s).forward * norms_alone(s) / (0.5 + norms_alone(s)));
  }
  if (modules.latent_up && job.model.latent_attention) {
    const model::LatentAttention& latent = *job.model.latent_attention;
    Linears up;
    up.add({latent.q_rank > 0 ? latent.q_rank : s.hidden, s.queries()});
    up.add({latent.kv_rank, s.heads * (latent.nope_dim + latent.value_dim)});
    sum += linear_work(kernels, framework, job, s.tokens, up).forward;
  }
  return sum;
}

}  // namespace

void Work::add(const Work& other) {
  if (other.forward > forward) {
    limit = other.limit;
    next = other.next;
  }
  forward += other.forward;
  backward += other.backward;
  weight += other.weight;
}

Work Work::times(double factor) const {
  return {forward * factor, backward * factor, weight * factor, limit, next};
}

Seconds LayerWork::forward() const {
  return gemm.forward + experts.forward + attention.forward + memory_bound.forward +
         routing.forward + casts.forward;
}

Seconds LayerWork::backward() const {
  return gemm.backward + experts.backward + attention.backward + memory_bound.backward +
         routing.backward + casts.backward;
}

Seconds LayerWork::weight() const {
  return gemm.weight + experts.weight;
}

Seconds HeadWork::forward() const {
  return gemm.forward + loss_forward + prediction.forward;
}

Seconds HeadWork::backward() const {
  return gemm.backward + loss_backward + prediction.backward;
}

LayerWork layer_work(const Kernels& kernels, const Framework& framework, const Job& job,
                     LayerKind kind) {
  const Share s = share_of(job, kind);
  const Linears attention = attention_linears(job, s);
  const Linears linear_attention = linear_attention_linears(job, s);
  const Linears mlp = mlp_linears(job, s, kind);
  LayerWork layer;
  layer.gemm = linear_work(kernels, framework, job, s.tokens, attention).times(s.full);
  if (s.linear > 0.0)
    layer.gemm.add(
        linear_work(kernels, framework, job, s.tokens, linear_attention).times(s.linear));
  const Work mlp_work = linear_work(kernels, framework, job, s.tokens, mlp);
  layer.gemm.add(mlp_work);
  layer.attention = attention_work(kernels, framework, job, s).times(s.full);
  if (s.linear > 0.0) layer.attention.add(scan_work(kernels, framework, job, s).times(s.linear));
  layer.memory_bound =
      moving(kernels, element_wise(framework, job, s), framework.memory_bound.factor);
  layer.memory_bound.add(dequantisation(kernels, job, kind));
  layer.casts = cast_work(kernels, framework, job, s, attention, linear_attention, mlp);
  layer.experts = layer.routing = Work{{}, {}, {}, "HBM", "launch"};
  if (kind == LayerKind::experts) {
    layer.experts = expert_work(kernels, framework, job, s);
    layer.routing = routing_work(kernels, framework, s);
  }
  layer.recomputed = recomputation(kernels, framework, job, s, layer, mlp_work);
  return layer;
}

HeadWork head_work(const Kernels& kernels, const Framework& framework, const Job& job,
                   const LayerWork& last_layer) {
  constexpr auto bf16 = model::Precision::bf16;
  const Share s = share_of(job, LayerKind::dense);
  const std::int64_t vocab = std::max<std::int64_t>(1, job.model.vocab / job.layout.tp);
  const double predictions = 1.0 + real(job.model.mtp_layers);
  const double factor = kernels.in_step(bf16).gemm;
  const bool frozen = job.adapters.has_value();
  HeadWork head;
  head.gemm =
      products(kernels, bf16, {s.tokens, vocab, s.hidden}, factor, frozen).times(predictions);
  const Seconds loss =
      kernels.memory_bound(Bytes(framework.logit_bytes * real(s.tokens) * real(vocab))).time *
      predictions;
  head.loss_forward = loss / 2.0;
  head.loss_backward = loss / 2.0;
  if (job.model.mtp_layers > 0) {
    const std::int64_t tokens = std::max<std::int64_t>(1, std::llround(s.split_tokens));
    Work one = products(kernels, bf16, {tokens, s.hidden, 2 * s.hidden}, factor, frozen);
    one.add({last_layer.forward(), last_layer.backward() + last_layer.recomputed,
             last_layer.weight(), "tensor cores", "HBM"});
    head.prediction = one.times(real(job.model.mtp_layers));
  }
  return head;
}

}  // namespace flowplan::training
