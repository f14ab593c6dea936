#include "valid.hpp"

#include "flowplan/training/schedule.hpp"

namespace flowplan::training {

namespace {

bool pipeline_divides(const Job& job, std::int64_t micro_batches) {
  const Layout& l = job.layout;
  if (l.vp > 1 && (l.pp == 1 || micro_batches % l.pp != 0)) return false;
  if (job.schedule != Schedule::one_forward_one_backward && l.vp > 1) return false;
  if (job.schedule == Schedule::dual_pipe &&
      (l.pp % 2 != 0 || micro_batches % 2 != 0 || micro_batches < 2 * l.pp)) {
    return false;
  }
  if (l.uneven_stages) {
    return uneven_stage_layers(job.model.layers, l.pp, l.vp, job.model.mtp_layers).has_value() ||
           stage_layers(job.model.layers, l.pp, l.vp).has_value();
  }
  return stage_layers(job.model.layers, l.pp, l.vp).has_value();
}

bool experts_divide(const Job& job) {
  const Layout& l = job.layout;
  if (!job.model.experts) return l.ep == 1 && l.etp == 1;
  const std::int64_t replicas = static_cast<std::int64_t>(l.tp) * l.cp * l.dp;
  return job.model.experts->count % l.ep == 0 && job.model.experts->ffn % l.etp == 0 &&
         replicas % (static_cast<std::int64_t>(l.ep) * l.etp) == 0;
}

bool tensors_divide(const Job& job) {
  const model::Transformer& m = job.model;
  const Layout& l = job.layout;
  if (m.heads % l.tp != 0 || m.ffn % l.tp != 0) return false;
  if (!m.latent_attention && m.kv_heads % l.tp != 0 && l.tp % m.kv_heads != 0) return false;
  if (m.linear_attention) {
    if (m.linear_attention->value_heads % l.tp != 0 || m.linear_attention->key_heads % l.tp != 0)
      return false;
    if (l.cp > 1) return false;
  }
  const std::int64_t split = l.cp * (l.sequence_parallel ? l.tp : 1);
  if (job.seq_len % split != 0) return false;
  const bool by_heads = job.context_parallel == ContextParallel::all_to_all;
  return l.cp == 1 || !by_heads || (m.heads / l.tp) % l.cp == 0;
}

}  // namespace

bool divides(std::int64_t gpus, const Job& job) {
  const Layout& l = job.layout;
  if (static_cast<std::int64_t>(l.tp) * l.pp * l.cp * l.dp != gpus) return false;
  const std::int64_t at_once = job.micro_batch * l.dp;
  if (job.global_batch % at_once != 0) return false;
  if (job.shard_group > 0 && (static_cast<std::int64_t>(l.cp) * l.dp) % job.shard_group != 0) {
    return false;
  }
  return tensors_divide(job) && experts_divide(job) &&
         pipeline_divides(job, job.global_batch / at_once);
}

}  // namespace flowplan::training
