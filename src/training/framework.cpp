#include "flowplan/training/framework.hpp"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace flowplan::training {

namespace {

constexpr std::string_view prefix = "framework-";
constexpr std::string_view set_kind = "framework";

std::vector<std::string> known(const catalog::Catalog& catalog) {
  std::vector<std::string> names;
  for (const std::string& set : catalog.constants_ids(set_kind))
    if (set.starts_with(prefix)) names.push_back(set.substr(prefix.size()));
  return names;
}

/// By its id or by what follows the prefix.
Result<const catalog::Constants*> find(const catalog::Catalog& catalog, std::string_view name) {
  for (const std::string& set : catalog.constants_ids(set_kind))
    if (set == name || set == fmt::format("{}{}", prefix, name)) return catalog.constants(set);
  return fail(error(Code::unknown_name, fmt::format("there is no framework `{}`", name),
                    suggest(name, known(catalog))));
}

/// Reads figures and collects the names of those that are not there.
class Reader {
 public:
  explicit Reader(const catalog::Constants& set) : set_(set) {}

  double operator()(std::string_view name) {
    const catalog::Constants::Entry* entry = set_.find(name);
    if (entry != nullptr && !entry->values.empty()) return entry->values.front();
    missing_.push_back(error(Code::unknown_figure,
                             fmt::format("{} lacks `{}`, which training needs", set_.id(), name)));
    return 0.0;
  }
  Diagnostics missing() { return std::move(missing_); }

 private:
  const catalog::Constants& set_;
  Diagnostics missing_;
};

Framework::MemoryBound memory_bound(Reader& read) {
  Framework::MemoryBound m;
  m.factor = read("memory_bound.factor");
  m.hidden_forward = read("memory_bound.hidden_forward_bytes");
  m.hidden_backward = read("memory_bound.hidden_backward_bytes");
  m.gated_forward = read("memory_bound.gated_mlp_forward_bytes");
  m.gated_backward = read("memory_bound.gated_mlp_backward_bytes");
  m.plain_forward = read("memory_bound.plain_mlp_forward_bytes");
  m.plain_backward = read("memory_bound.plain_mlp_backward_bytes");
  m.attention_forward = read("memory_bound.attention_forward_bytes");
  m.attention_backward = read("memory_bound.attention_backward_bytes");
  m.dropout_hidden = read("memory_bound.dropout_hidden_bytes");
  m.dropout_mlp = read("memory_bound.dropout_mlp_bytes");
  return m;
}

Framework::Moe mixture_of_experts(Reader& read) {
  Framework::Moe m;
  m.permute_bytes = read("moe.permute_bytes");
  m.permute_factor = read("moe.permute_factor");
  m.expert = microseconds(read("moe.expert_us"));
  m.host_layer = milliseconds(read("moe.host_layer_ms"));
  m.captured_factor = read("moe.captured_host_factor");
  return m;
}

}  // namespace

double Framework::gather_bytes(model::Precision gemms) const {
  return model::bytes_per_element(gemms) < 2.0 ? narrow_gather_bytes : weight_gather_bytes;
}

Result<Framework> framework(const catalog::Catalog& catalog, std::string_view name) {
  const auto found = find(catalog, name);
  if (!found) return fail(found.error());
  const catalog::Constants* set = *found;
  Reader read(*set);
  Framework f;
  f.id = set->id();
  f.memory_bound = memory_bound(read);
  f.cast_bytes = read("cast.element_bytes");
  f.cast_factor = read("cast.factor");
  f.logit_bytes = read("head.logit_bytes");
  f.narrow_gemm_factor = read("gemm.narrow_factor");
  f.attention = read("attention.flash_attention_2") != 0.0
                    ? compute::AttentionKernels::flash_attention_2
                    : compute::AttentionKernels::newest;
  f.fused_attention = read("attention.fused") != 0.0;
  f.unfused_forward_passes = read("attention.unfused_forward_passes");
  f.unfused_backward_passes = read("attention.unfused_backward_passes");
  f.host_layer = milliseconds(read("host.layer_ms"));
  f.host_recompute_layer = milliseconds(read("host.recompute_layer_ms"));
  f.host_micro_batch = milliseconds(read("host.micro_batch_ms"));
  f.wide_tp = static_cast<int>(read("host.wide_tp_degree"));
  f.wide_tp_factor = read("host.wide_tp_factor");
  f.host_norm = read("host.norm");
  f.operators_share = read("recompute.operators_share");
  f.moe = mixture_of_experts(read);
  f.tp_exposed = read("tp.exposed_share");
  f.tp_async_exposed = read("tp.async_exposed_share");
  f.cp_exposed = read("cp.exposed_share");
  f.ep_exposed = read("ep.exposed_share");
  f.ep_overlapped_exposed = read("ep.overlapped_exposed_share");
  f.fsdp_contention = read("fsdp.contention_share");
  f.pp_exposed = read("pp.exposed_share");
  f.dp_exposed = read("dp.exposed_share");
  f.gradient_bytes = read("dp.gradient_bytes");
  f.weight_gather_bytes = read("dp.weight_gather_bytes");
  f.narrow_gather_bytes = read("dp.narrow_weight_gather_bytes");
  f.optimizer_bytes = read("optimizer.parameter_bytes");
  f.scan_factor = read("linear_attention.scan_factor");
  f.step_overhead = milliseconds(read("step.overhead_ms"));
  f.cuda_context = gibibytes(read("memory.cuda_context_gib"));
  f.communication_buffers = gibibytes(read("memory.communication_buffers_gib"));
  f.fragmentation = read("memory.fragmentation_share");
  f.dropout = read("memory.dropout_masks") != 0.0;
  f.band_p90 = read("band.p90_percent");
  if (const auto* band = set->find("band.p90_percent")) f.band_regime = band->source.note;
  Diagnostics missing = read.missing();
  if (!missing.empty()) return fail(std::move(missing));
  return f;
}

}  // namespace flowplan::training
