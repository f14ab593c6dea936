#include "flowplan/inference/engine_profile.hpp"

#include <utility>

#include <fmt/format.h>

namespace flowplan::inference {

namespace {

constexpr std::string_view engine_prefix = "engine-";
constexpr std::string_view engine_kind = "engine";

/// By its id or by what follows the prefix.
Result<const catalog::Constants*> find_engine(const catalog::Catalog& catalog,
                                              std::string_view name) {
  for (const std::string& set : catalog.constants_ids(engine_kind)) {
    if (set == name || set == fmt::format("{}{}", engine_prefix, name))
      return catalog.constants(set);
  }
  return fail(error(Code::unknown_name, fmt::format("there is no serving engine `{}`", name),
                    suggest(name, engine_names(catalog))));
}

/// Reads figures, those of a generation first, and collects the names of those that are not there.
class EngineReader {
 public:
  EngineReader(const catalog::Constants& set, catalog::GpuGeneration generation)
      : set_(set),
        generation_(generation == catalog::GpuGeneration::blackwell ? "blackwell" : "hopper") {}

  double operator()(std::string_view name) {
    if (const auto* entry = find(name)) return entry->values.front();
    return missing(name);
  }
  std::int64_t whole(std::string_view name) { return static_cast<std::int64_t>((*this)(name)); }
  std::vector<std::int64_t> wholes(std::string_view name) {
    std::vector<std::int64_t> all;
    for (const double value : set_.table(name))
      all.push_back(static_cast<std::int64_t>(value));
    if (all.empty()) missing(name);
    return all;
  }
  Diagnostics missing() { return std::move(missing_); }

 private:
  const catalog::Constants::Entry* find(std::string_view name) const {
    const auto* own = set_.find(fmt::format("{}.{}", generation_, name));
    const auto* entry = own != nullptr ? own : set_.find(name);
    return entry != nullptr && !entry->values.empty() ? entry : nullptr;
  }
  double missing(std::string_view name) {
    missing_.push_back(error(Code::unknown_figure,
                             fmt::format("{} lacks `{}`, which serving needs", set_.id(), name)));
    return 0.0;
  }

  const catalog::Constants& set_;
  std::string_view generation_;
  Diagnostics missing_;
};

void read_kernels(EngineReader& read, EngineProfile& p) {
  p.product_scale = read("gemm.scale");
  p.quantise_hidden = read("quantise.hidden_share");
  p.quantise_fp8 = microseconds(read("quantise.fp8_us"));
  p.quantise_fp8_block = microseconds(read("quantise.fp8_block_us"));
  p.quantise_nvfp4 = microseconds(read("quantise.nvfp4_us"));
  p.decode_scale = read("decode_attention.scale");
  p.prefill_scale = read("prefill_attention.scale");
  p.decode_wide_scale = read("decode_attention.wide_cache_scale");
  p.prefill_wide_scale = read("prefill_attention.wide_cache_scale");
  p.experts_scale = read("experts.scale");
  p.experts_four_bit_scale = read("experts.four_bit_scale");
  p.experts_four_bit_saved = microseconds(read("experts.four_bit_saved_us"));
  p.experts_nvfp4_scale = read("experts.nvfp4_scale");
  p.experts_wide_scale = read("experts.wide_scale");
  p.small_batches_of_any_routing = read("experts.small_batches_of_any_routing") != 0.0;
  p.expert_skew = read("experts.skew_index");
  p.level_share = read("experts.level_fraction");
  p.linear_peak = read("linear_attention.peak_fraction");
}

void read_overheads(EngineReader& read, EngineProfile& p) {
  p.all_reduce = microseconds(read("all_reduce.extra_us"));
  p.layer = microseconds(read("layer.us"));
  p.moe_layer = microseconds(read("moe_layer.us"));
  p.attention_dp_layer = microseconds(read("attention_dp.layer_us"));
  p.gap = milliseconds(read("pass.gap_ms"));
  p.hidden_bytes = read("element_wise.hidden_bytes");
  p.mlp_bytes = read("element_wise.mlp_bytes");
  p.attention_bytes = read("element_wise.attention_bytes");
  p.element_hbm = read("element_wise.hbm_fraction");
  p.logit_bytes = read("sampling.logit_bytes");
  p.eager_layer = microseconds(read("eager.layer_us"));
  p.eager_above_tokens = read.whole("eager.above_tokens");
  p.exchange_floor = microseconds(read("exchange.floor_us"));
  p.exchange_nvlink = read("exchange.nvlink_fraction");
  p.lora_module = microseconds(read("lora.module_us"));
  p.host_link = gigabytes_per_second(read("lora.host_gbytes_per_s"));
}

void read_scheduler(EngineReader& read, EngineProfile& p) {
  p.token_budget = read.whole("scheduler.token_budget");
  p.max_sequences = read.whole("scheduler.max_sequences");
  p.block_tokens = read.whole("scheduler.block_tokens");
  p.reserves_output = read("scheduler.reserves_output") != 0.0;
  p.chunked_prefill = read("scheduler.chunked_prefill") != 0.0;
  p.captured_tokens = read.wholes("graphs.captured_tokens");
  p.stream_interval_tokens = read.whole("stream.interval_tokens");
  p.api = milliseconds(read("api.ms"));
  p.api_token = microseconds(read("api.token_us"));
  p.queued_pass = read("scheduler.queued_pass") != 0.0;
  p.hbm_fraction = read("memory.hbm_fraction");
  p.kv_fraction = read("memory.kv_fraction");
  p.other_memory = Bytes(read("memory.other_gb") * 1e9);
}

}  // namespace

Result<EngineProfile> engine_profile(const catalog::Catalog& catalog, std::string_view name,
                                     catalog::GpuGeneration generation) {
  const auto found = find_engine(catalog, name);
  if (!found) return fail(found.error());
  const catalog::Constants* set = *found;
  EngineReader read(*set, generation);
  EngineProfile profile;
  profile.id = set->id();
  profile.about = set->about();
  read_kernels(read, profile);
  read_overheads(read, profile);
  read_scheduler(read, profile);
  profile.band_p90 = read("band.p90_percent");
  if (const auto* band = set->find("band.p90_percent")) profile.band_regime = band->source.note;
  Diagnostics missing = read.missing();
  if (!missing.empty()) return fail(std::move(missing));
  return profile;
}

std::vector<std::string> engine_names(const catalog::Catalog& catalog) {
  std::vector<std::string> names;
  for (const std::string& set : catalog.constants_ids(engine_kind))
    if (set.starts_with(engine_prefix)) names.push_back(set.substr(engine_prefix.size()));
  return names;
}

}  // namespace flowplan::inference
