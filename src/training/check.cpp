#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "communication.hpp"
#include "flowplan/compute/kernels.hpp"
#include "flowplan/training/framework.hpp"
#include "flowplan/training/iteration.hpp"
#include "flowplan/training/schedule.hpp"

namespace flowplan::training {

namespace {

/// Collects diagnostics with pointers into a scenario's workload.
class Faults {
 public:
  void add(Code code, std::string_view where, std::string message, std::string hint = {}) {
    Place place;
    place.pointer = fmt::format("/workload{}", where);
    list_.push_back(error(code, std::move(place), std::move(message), std::move(hint)));
  }
  void add(const Diagnostics& others, std::string_view where) {
    for (Diagnostic other : others) {
      if (other.place.pointer.empty()) other.place.pointer = fmt::format("/workload{}", where);
      list_.push_back(std::move(other));
    }
  }
  [[nodiscard]] bool none() const { return list_.empty(); }
  Diagnostics take() { return std::move(list_); }

 private:
  Diagnostics list_;
};

std::vector<std::int64_t> divisors(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> result;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) result.push_back(d);
  }
  return result;
}

/// "nearest: 48, 56": the multiples of `step` around `n`.
std::string nearest_multiples(std::int64_t n, std::int64_t step) {
  const std::int64_t below = n / step * step;
  if (below < step) return fmt::format("nearest: {}", step);
  return fmt::format("nearest: {}, {}", below, below + step);
}

bool check_positive(const Job& job, Faults& faults) {
  const auto positive = [&](std::int64_t n, std::string_view where, std::string_view what) {
    if (n >= 1) return;
    faults.add(Code::layout_mismatch, where, fmt::format("{} is {}, not at least 1", what, n));
  };
  positive(job.layout.tp, "/parallelism/tp", "tp");
  positive(job.layout.pp, "/parallelism/pp", "pp");
  positive(job.layout.vp, "/parallelism/vp", "vp");
  positive(job.layout.cp, "/parallelism/cp", "cp");
  positive(job.layout.dp, "/parallelism/dp", "dp");
  positive(job.layout.ep, "/parallelism/ep", "ep");
  positive(job.layout.etp, "/parallelism/etp", "etp");
  positive(job.seq_len, "/seq_len", "seq_len");
  positive(job.micro_batch, "/micro_batch", "micro_batch");
  positive(job.global_batch, "/global_batch", "global_batch");
  return faults.none();
}

void check_features(const Job& job, Faults& faults) {
  const auto refuse = [&](bool present, std::string_view where, std::string_view what) {
    if (!present) return;
    faults.add(Code::unsupported_feature, where,
               fmt::format("training with {} is not modelled in this release", what));
  };
  refuse(job.model.sparse_attention.has_value(), "/model", "sparse attention (an indexer)");
  refuse(job.model.linear_attention && job.layout.cp > 1, "/parallelism/cp",
         "linear attention or Mamba over context parallelism");
  refuse(job.layout.vp > 1 && job.schedule != Schedule::one_forward_one_backward,
         "/parallelism/schedule", "virtual stages in this schedule");
}

/// Experts and the ranks that share them.
void check_experts(const Job& job, Faults& faults) {
  const Layout& l = job.layout;
  if (!job.model.experts) {
    if (l.ep == 1 && l.etp == 1) return;
    faults.add(Code::layout_mismatch, "/parallelism/ep",
               fmt::format("ep {} x etp {}, but {} has no experts", l.ep, l.etp, job.model.name),
               "leave them out");
    return;
  }
  const std::int64_t count = job.model.experts->count;
  const std::int64_t replicas = static_cast<std::int64_t>(l.tp) * l.cp * l.dp;
  if (count % l.ep != 0) {
    faults.add(
        Code::not_divisible, "/parallelism/ep",
        fmt::format("ep {} does not divide the {} experts of {}", l.ep, count, job.model.name),
        fmt::format("ep may be {}", fmt::join(divisors(std::gcd(count, replicas), count), ", ")));
  }
  if (job.model.experts->ffn % l.etp != 0) {
    faults.add(Code::not_divisible, "/parallelism/etp",
               fmt::format("etp {} does not divide the {} columns of an expert", l.etp,
                           job.model.experts->ffn));
  }
  if (replicas % (static_cast<std::int64_t>(l.ep) * l.etp) != 0) {
    faults.add(Code::not_divisible, "/parallelism/ep",
               fmt::format("ep {} x etp {} does not divide tp x cp x dp = {} ranks", l.ep, l.etp,
                           replicas),
               "expert parallelism is inside the ranks of a stage");
  }
}

void check_context_parallelism(const Job& job, Faults& faults) {
  const Layout& l = job.layout;
  const std::int64_t split = static_cast<std::int64_t>(l.cp) * (l.sequence_parallel ? l.tp : 1);
  if (l.cp > 1 && job.seq_len % split != 0) {
    faults.add(
        Code::not_divisible, "/seq_len",
        fmt::format("context parallelism over cp {} does not divide {} tokens", l.cp, job.seq_len),
        nearest_multiples(job.seq_len, split));
  }
  const std::int64_t heads = job.model.heads / l.tp;
  if (l.cp > 1 && job.context_parallel == ContextParallel::all_to_all && heads % l.cp != 0) {
    faults.add(Code::not_divisible, "/parallelism/cp",
               fmt::format("all-to-all context parallelism over cp {} does not divide the {} heads "
                           "of a rank",
                           l.cp, heads),
               fmt::format("cp may be {}", fmt::join(divisors(heads, heads), ", ")));
  }
  const std::int64_t replicas = static_cast<std::int64_t>(l.cp) * l.dp;
  if (job.shard_group < 0 || (job.shard_group > 0 && replicas % job.shard_group != 0)) {
    faults.add(
        Code::not_divisible, "/shard_group",
        fmt::format("groups of {} ranks do not divide the {} ranks that hold the same weights",
                    job.shard_group, replicas),
        fmt::format("it may be {}", fmt::join(divisors(replicas, replicas), ", ")));
  }
}

void check_gpus(const topology::Cluster& cluster, const Job& job, Faults& faults) {
  const Layout& l = job.layout;
  const auto gpus = static_cast<std::int64_t>(ranks(cluster, job));
  if (gpus > cluster.gpus()) {
    faults.add(Code::layout_mismatch, "",
               fmt::format("the job uses {} GPUs; the cluster has {}", gpus, cluster.gpus()));
    return;
  }
  const std::int64_t model_gpus = static_cast<std::int64_t>(l.tp) * l.pp * l.cp;
  if (model_gpus * l.dp == gpus) return;
  std::string hint =
      gpus % model_gpus == 0
          ? fmt::format("dp {} matches", gpus / model_gpus)
          : fmt::format("tp x pp x cp = {} does not divide {} GPUs", model_gpus, gpus);
  faults.add(Code::layout_mismatch, "/parallelism",
             fmt::format("tp {} x pp {} x cp {} x dp {} = {} GPUs; the cluster has {}", l.tp, l.pp,
                         l.cp, l.dp, model_gpus * l.dp, gpus),
             std::move(hint));
}

void check_tensor_parallelism(const Job& job, Faults& faults) {
  const model::Transformer& m = job.model;
  const std::int64_t tp = job.layout.tp;
  const std::int64_t common = std::gcd(m.heads, m.ffn);
  const auto hint = [&] {
    return fmt::format("tp may be {}", fmt::join(divisors(common, m.heads), ", "));
  };
  const auto must_divide = [&](std::int64_t n, std::string_view what) {
    if (n % tp == 0) return;
    faults.add(Code::not_divisible, "/parallelism/tp",
               fmt::format("tp {} does not divide the {} {} of {}", tp, n, what, m.name), hint());
  };
  must_divide(m.heads, "attention heads");
  must_divide(m.ffn, "MLP columns");
  if (m.linear_attention) {
    must_divide(m.linear_attention->value_heads, "heads of linear attention");
    must_divide(m.linear_attention->key_heads, "groups of linear attention");
  }
  if (!m.latent_attention && m.kv_heads % tp != 0 && tp % m.kv_heads != 0) {
    faults.add(Code::not_divisible, "/parallelism/tp",
               fmt::format("tp {} and the {} key-value heads of {}: neither divides the other", tp,
                           m.kv_heads, m.name),
               hint());
  }
  if (job.layout.sequence_parallel && job.seq_len % tp != 0) {
    faults.add(
        Code::not_divisible, "/seq_len",
        fmt::format("sequence parallelism over tp {} does not divide {} tokens", tp, job.seq_len),
        nearest_multiples(job.seq_len, tp));
  }
}

/// Pipeline degrees that split the layers at this number of virtual stages.
std::vector<int> valid_pp(std::int64_t layers, int vp) {
  std::vector<int> result;
  for (int pp = vp > 1 ? 2 : 1; static_cast<std::int64_t>(pp) * vp <= layers + 2; ++pp) {
    if (stage_layers(layers, pp, vp)) result.push_back(pp);
  }
  return result;
}

void check_pipeline(const Job& job, Faults& faults) {
  const Layout& l = job.layout;
  const std::int64_t layers = job.model.layers;
  if (l.vp > 1 && l.pp == 1) {
    faults.add(Code::layout_mismatch, "/parallelism/vp",
               fmt::format("vp {} interleaves pipeline stages, but pp is 1", l.vp),
               "vp 1, or pp > 1");
    return;
  }
  if (stage_layers(layers, l.pp, l.vp)) return;
  if (l.uneven_stages && uneven_stage_layers(layers, l.pp, l.vp, job.model.mtp_layers)) return;
  const std::vector<int> valid = valid_pp(layers, l.vp);
  std::string hint = valid.empty() ? fmt::format("vp {} is too many for {} layers", l.vp, layers)
                                   : fmt::format("pp may be {}", fmt::join(valid, ", "));
  if (static_cast<std::int64_t>(l.pp) * l.vp > layers) {
    faults.add(Code::layout_too_deep, "/parallelism/pp",
               fmt::format("pp {} x vp {} = {} stages; {} has {} layers", l.pp, l.vp, l.pp * l.vp,
                           job.model.name, layers),
               std::move(hint));
    return;
  }
  faults.add(Code::not_divisible, "/parallelism/pp",
             fmt::format("pp {} x vp {} divides neither the {} layers of {} nor layers + 2", l.pp,
                         l.vp, layers, job.model.name),
             std::move(hint));
}

void check_offload(const Job& job, Faults& faults) {
  const std::int64_t of_stage = (job.model.layers + job.layout.pp - 1) / job.layout.pp;
  if (job.offload_layers <= of_stage) return;
  faults.add(Code::value_out_of_range, "/offload_layers",
             fmt::format("{} layers of a stage are to be offloaded, it has {}", job.offload_layers,
                         of_stage));
}

void check_formats(const Job& job, Faults& faults) {
  const bool narrow =
      model::bytes_per_element(job.precision) < model::bytes_per_element(model::Precision::bf16);
  if (job.states.narrow_weights && !narrow) {
    faults.add(
        Code::unsupported_feature, "/states/weights",
        fmt::format("weights kept in 8 bits, but the GEMMs read {}", model::name(job.precision)),
        "with precision fp8, fp8_block, mxfp8 or nvfp4");
  }
  const std::int64_t wide = job.wide_layers.first + job.wide_layers.last;
  if (wide > job.model.layers) {
    faults.add(Code::value_out_of_range, "/wide_layers",
               fmt::format("{} layers are to stay in 16 bits; {} has {}", wide, job.model.name,
                           job.model.layers));
  }
}

void check_batch(const Job& job, Faults& faults) {
  const Layout& l = job.layout;
  const std::int64_t at_once = job.micro_batch * l.dp;
  if (job.global_batch % at_once != 0) {
    faults.add(Code::not_divisible, "/global_batch",
               fmt::format("micro_batch {} x dp {} does not divide the global batch {}",
                           job.micro_batch, l.dp, job.global_batch),
               nearest_multiples(job.global_batch, at_once));
    return;
  }
  const std::int64_t micro_batches = job.global_batch / at_once;
  if (job.schedule == Schedule::dual_pipe &&
      (l.pp % 2 != 0 || micro_batches % 2 != 0 || micro_batches < 2 * l.pp)) {
    faults.add(
        Code::not_divisible, "/global_batch",
        fmt::format("DualPipe needs an even pp and an even number of micro-batches, at least 2 "
                    "pp; pp is {}, there are {}",
                    l.pp, micro_batches),
        fmt::format("at least {}", at_once * 2 * l.pp));
    return;
  }
  if (l.vp > 1 && micro_batches % l.pp != 0) {
    faults.add(Code::not_divisible, "/global_batch",
               fmt::format("the interleaved schedule needs micro-batches in multiples of pp {}; "
                           "there are {}",
                           l.pp, micro_batches),
               nearest_multiples(job.global_batch, at_once * l.pp));
  }
}

void check_precision(const compute::Kernels& kernels, const catalog::Gpu& gpu, const Job& job,
                     Faults& faults) {
  if (kernels.supports(job.precision)) return;
  std::vector<std::string_view> known;
  for (const auto precision :
       {model::Precision::bf16, model::Precision::fp16, model::Precision::fp8,
        model::Precision::mxfp8, model::Precision::nvfp4}) {
    if (kernels.supports(precision)) known.push_back(model::name(precision));
  }
  faults.add(Code::unsupported_feature, "/precision",
             fmt::format("{} has no modelled {} kernels", gpu.id, model::name(job.precision)),
             fmt::format("known: {}", fmt::join(known, ", ")));
}

}  // namespace

Diagnostics check(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                  const Job& job) {
  Faults faults;
  if (const auto known = framework(catalog, job.framework); !known) {
    faults.add(known.error(), "/framework");
  }
  if (const auto gpu = catalog.gpu(cluster.spec().instance->gpu); !gpu) {
    faults.add(gpu.error(), "");
  } else if (const auto kernels = compute::Kernels::on(catalog, **gpu); !kernels) {
    faults.add(kernels.error(), "");
  } else {
    check_precision(*kernels, **gpu, job, faults);
  }
  Faults sizes;
  if (check_positive(job, sizes)) {
    check_features(job, faults);
    check_gpus(cluster, job, faults);
    check_tensor_parallelism(job, faults);
    check_context_parallelism(job, faults);
    check_experts(job, faults);
    check_pipeline(job, faults);
    check_batch(job, faults);
    check_offload(job, faults);
    check_formats(job, faults);
  }
  faults.add(sizes.take(), "");
  return faults.take();
}

}  // namespace flowplan::training
