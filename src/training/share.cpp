#include <algorithm>
#include <initializer_list>

#include "flowplan/base/assert.hpp"
#include "layer.hpp"

namespace flowplan::training {

namespace {

double count_of(std::int64_t n) {
  return static_cast<double>(n);
}

std::int64_t divided(std::int64_t n, std::int64_t by) {
  return std::max<std::int64_t>(1, n / by);
}

}  // namespace

std::int64_t kv_heads_per_rank(const Job& job) {
  return divided(job.model.kv_heads, job.layout.tp);
}

double routed_copies(const Job& job) {
  if (!job.model.experts) return 0.0;
  const auto k = count_of(job.model.experts->per_token);
  const double load = job.routing.capacity > 0.0
                          ? std::min(job.routing.capacity, job.routing.imbalance)
                          : job.routing.imbalance;
  return k * load;
}

Share share_of(const Job& job, LayerKind kind) {
  const model::Transformer& m = job.model;
  const Layout& l = job.layout;
  Share s;
  s.tokens = divided(job.micro_batch * job.seq_len, l.cp);
  s.split_tokens = count_of(s.tokens) / (l.sequence_parallel ? l.tp : 1.0);
  s.hidden = m.hidden;
  s.norms = m.norms_per_layer;
  s.full = m.full_share();
  s.linear = m.linear_share();
  s.expert_hidden = m.expert_hidden();
  s.heads = divided(m.heads, l.tp);
  s.kv_heads = kv_heads_per_rank(job);
  s.query_dim = s.value_dim = m.head_dim;
  if (m.latent_attention) {
    s.kv_heads = s.heads;
    s.query_dim = m.latent_attention->nope_dim + m.latent_attention->rope_dim;
    s.value_dim = m.latent_attention->value_dim;
  }
  if (kind == LayerKind::experts) {
    FLOWPLAN_ASSERT(m.experts.has_value());
    s.mlp = m.experts->shared > 0 ? divided(m.experts->shared * m.experts->ffn, l.tp) : 0;
    s.expert_ffn = divided(m.experts->ffn, l.etp);
    s.local_experts = divided(m.experts->count, l.ep);
    s.routed_rows = count_of(s.tokens) / l.tp * l.etp * routed_copies(job);
  } else {
    s.mlp = divided(m.ffn, l.tp);
  }
  s.mlp_in = s.mlp * (m.gated_mlp ? 2 : 1);
  return s;
}

namespace {

AdapterTargets targets_of(const Job& job) {
  return job.adapters ? job.adapters->targets : AdapterTargets{false, false};
}

/// A linear layer with adapters of these widths, those of 0 left out.
Linear adapted(std::int64_t in, std::int64_t out, std::initializer_list<std::int64_t> widths) {
  Linear linear{in, out};
  for (const std::int64_t width : widths) {
    if (width <= 0) continue;
    ++linear.adapters;
    linear.adapted_out += width;
  }
  return linear;
}

std::int64_t if_asked(bool asked, std::int64_t width) {
  return asked ? width : 0;
}

}  // namespace

Linears attention_linears(const Job& job, const Share& s) {
  Linears linears;
  const AdapterTargets t = targets_of(job);
  if (!job.model.latent_attention) {
    linears.add(adapted(
        s.hidden, s.qkv(),
        {if_asked(t.fused_qkv, s.qkv()), if_asked(t.query, s.queries()),
         if_asked(t.key, s.kv_heads * s.query_dim), if_asked(t.value, s.kv_heads * s.value_dim)}));
  } else {
    const model::LatentAttention& latent = *job.model.latent_attention;
    const std::int64_t queries = if_asked(t.fused_qkv || t.query, s.queries());
    if (latent.q_rank > 0) {
      linears.add({s.hidden, latent.q_rank});
      linears.add(adapted(latent.q_rank, s.queries(), {queries}));
    } else {
      linears.add(adapted(s.hidden, s.queries(), {queries}));
    }
    linears.add({s.hidden, latent.kv_rank + latent.rope_dim});
    const std::int64_t up = s.heads * (latent.nope_dim + latent.value_dim);
    linears.add(adapted(latent.kv_rank, up, {if_asked(t.fused_qkv || t.key || t.value, up)}));
  }
  linears.add(adapted(s.values(), s.hidden, {if_asked(t.output, s.hidden)}));
  return linears;
}

Linears linear_attention_linears(const Job& job, const Share& s) {
  Linears linears;
  if (!job.model.linear_attention) return linears;
  const AdapterTargets t = targets_of(job);
  const model::LinearAttention& l = *job.model.linear_attention;
  const std::int64_t inputs = divided(l.inputs(), job.layout.tp);
  linears.add(adapted(s.hidden, inputs, {if_asked(t.fused_qkv || t.query, inputs)}));
  linears.add(
      adapted(divided(l.values(), job.layout.tp), s.hidden, {if_asked(t.output, s.hidden)}));
  return linears;
}

Linears mlp_linears(const Job& job, const Share& s, LayerKind kind) {
  Linears linears;
  const AdapterTargets t = targets_of(job);
  if (s.mlp > 0) {
    linears.add(adapted(s.hidden, s.mlp_in,
                        {if_asked(t.fused_up, s.mlp_in),
                         if_asked(t.gate && job.model.gated_mlp, s.mlp), if_asked(t.up, s.mlp)}));
    linears.add(adapted(s.mlp, s.hidden, {if_asked(t.down, s.hidden)}));
  }
  if (kind == LayerKind::experts) {
    Linear router{s.hidden, job.model.experts->count};
    router.narrow = false;
    linears.add(router);
    if (job.model.experts->latent > 0) {
      linears.add({s.hidden, s.expert_hidden});
      linears.add({s.expert_hidden, s.hidden});
    }
  }
  return linears;
}

LayerParameters layer_parameters_per_rank(const Job& job, LayerKind kind) {
  const Share s = share_of(job, kind);
  LayerParameters p;
  const auto add = [&](const Linears& linears, double share) {
    for (std::size_t i = 0; i < linears.count; ++i)
      p.common += share * count_of(linears.list[i].in) * count_of(linears.list[i].out);
  };
  add(attention_linears(job, s), s.full);
  add(linear_attention_linears(job, s), s.linear);
  add(mlp_linears(job, s, kind), 1.0);
  const model::Transformer& m = job.model;
  if (m.linear_attention) {
    const model::LinearAttention& l = *m.linear_attention;
    p.common += s.linear * count_of(l.convolution * l.channels()) / job.layout.tp;
  }
  // The norms of heads and latents are small, but counted.
  p.common += m.norms_per_layer * count_of(m.hidden) * (m.norm_bias ? 2.0 : 1.0);
  if (m.qk_norm) p.common += 2.0 * count_of(m.head_dim);
  if (m.latent_attention) {
    p.common += count_of(m.latent_attention->q_rank + m.latent_attention->kv_rank);
  }
  if (kind == LayerKind::experts) {
    const double matrices = m.gated_mlp ? 3.0 : 2.0;
    p.experts =
        count_of(s.local_experts) * matrices * count_of(s.expert_hidden) * count_of(s.expert_ffn);
  }
  return p;
}

double vocabulary_parameters_per_rank(const Job& job) {
  return count_of(job.model.vocab) * count_of(job.model.hidden) / job.layout.tp;
}

double adapter_parameters_per_rank(const Job& job) {
  if (!job.adapters) return 0.0;
  const Share s = share_of(job, LayerKind::dense);
  const auto rank = count_of(job.adapters->rank);
  double sum = 0.0;
  const auto add = [&](const Linears& linears, double share) {
    for (std::size_t i = 0; i < linears.count; ++i) {
      const Linear& one = linears.list[i];
      sum += share * rank * count_of(one.adapters * one.in + one.adapted_out);
    }
  };
  add(attention_linears(job, s), s.full);
  add(linear_attention_linears(job, s), s.linear);
  add(mlp_linears(job, s, LayerKind::dense), 1.0);
  return sum;
}

unsigned AdapterTargets::bits() const {
  unsigned sum = 0, bit = 1;
  for (const bool asked : {fused_qkv, output, query, key, value, fused_up, gate, up, down}) {
    if (asked) sum |= bit;
    bit <<= 1;
  }
  return sum;
}

double trainable_parameters(const Job& job) {
  if (!job.adapters) return model::count_parameters(job.model).total;
  Job whole = job;
  whole.layout = {};
  return adapter_parameters_per_rank(whole) * count_of(job.model.layers);
}

}  // namespace flowplan::training
