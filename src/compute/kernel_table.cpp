#include "flowplan/compute/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "flowplan/compute/surface.hpp"

namespace flowplan::compute {

namespace {

using Pairs = std::vector<Surface::Pair>;

/// A kind of kernel: its features and which pairs of them its surface is made of.
struct Kind {
  std::string_view name;
  std::vector<std::string_view> features;  // knots are "table.NAME.FEATURE_log2" or "..._index"
  Pairs pairs;
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all{
      {"gemm", {"m_log2", "n_log2", "k_log2"}, {{0, 1}, {0, 2}, {1, 2}}},
      {"prefill",
       {"tokens_log2", "heads_log2", "width_log2", "sharing_log2", "window_log2", "caches_log2",
        "narrow_index"},
       {{0, 1}, {0, 2}, {0, 3}, {4, 0}, {2, 1}, {5, 0}, {6, 0}, {2, 3}}},
      {"decode",
       {"tokens_log2", "caches_log2", "width_log2", "sharing_log2", "window_log2", "batch_log2"},
       {{0, 1}, {0, 2}, {0, 3}, {4, 1}, {3, 1}, {5, 0}, {2, 1}, {2, 3}}},
      {"latent_prefill", {"tokens_log2", "heads_log2", "own_heads_log2"}, {{0, 1}, {0, 2}, {1, 2}}},
      {"latent_decode", {"tokens_log2", "batch_log2", "own_heads_log2"}, {{0, 1}, {0, 2}, {1, 2}}},
      {"experts",
       {"tokens_log2", "rows_log2", "local_log2", "width_log2", "hidden_log2", "skew_index",
        "chosen_log2"},
       {{0, 1}, {1, 2}, {1, 3}, {5, 1}, {4, 3}, {6, 0}, {2, 3}, {4, 0}, {5, 2}}},
  };
  return all;
}

/// What types of operands are made of.
struct Type {
  std::string_view name;
  double weight_bytes, input_bytes;
  model::Precision peak;  // whose matrix units run it
};
constexpr std::array types{Type{"bf16", 2, 2, model::Precision::bf16},
                           Type{"fp8", 1, 1, model::Precision::fp8},
                           Type{"fp8_static", 1, 1, model::Precision::fp8},
                           Type{"fp8_block", 1, 1, model::Precision::fp8},
                           Type{"nvfp4", 0.5625, 0.5625, model::Precision::nvfp4},
                           Type{"int8_wo", 1, 2, model::Precision::bf16},
                           Type{"int4_wo", 0.5, 2, model::Precision::bf16},
                           Type{"sq", 1, 1, model::Precision::fp8},
                           Type{"w4a16_mxfp4", 0.5625, 2, model::Precision::bf16},
                           Type{"w4a8_mxfp4_mxfp8", 0.5625, 1, model::Precision::fp8}};

const Type* find_type(std::string_view name) {
  const std::string_view base = name.substr(0, name.find('.'));
  const auto found =
      std::find_if(types.begin(), types.end(), [&](const Type& t) { return t.name == base; });
  return found == types.end() ? nullptr : &*found;
}

constexpr double norm = 4.0;  // both terms overlap: the figures were fitted with it

double joined(double a, double b) {
  return std::pow(std::pow(a, norm) + std::pow(b, norm), 1.0 / norm);
}

constexpr double permille = 1e-3;
constexpr double micro = 1e-6;
constexpr double result_bytes = 2.0;
constexpr double quantised_bytes = 5.0;  // read for the maximum, read and written for the cast
constexpr double small_width = 64.0;
constexpr double window_tile = 128.0;
constexpr double latent_key = 192.0, latent_value = 128.0;        // a head, prefill
constexpr double cached_latent = 576.0, latent_product = 1088.0;  // 512 + 64; 576 + 512
constexpr double element_wise_hbm = 0.7;

}  // namespace

/// A law's constants and its surface.
struct KernelTable::Table {
  std::vector<double> law;
  std::shared_ptr<const Surface> surface;
};

struct KernelTable::Data {
  std::map<std::string, Table, std::less<>> tables;  // "gemm.bf16"
  GemmTiles tiles;
  double units = 1.0, hbm = 1.0;
  std::map<model::Precision, double> peak;

  [[nodiscard]] const Table* find(std::string_view kind, std::string_view type) const {
    const auto found = tables.find(fmt::format("{}.{}", kind, type));
    return found == tables.end() ? nullptr : &found->second;
  }
  [[nodiscard]] double peak_of(const Type& type) const {
    const auto found = peak.find(type.peak);
    if (found != peak.end()) return found->second;
    // INT8 on GPUs without FP8 runs at twice the rate of BF16.
    const double bf16 = peak.at(model::Precision::bf16);
    return type.name == "sq" ? 2.0 * bf16 : bf16;
  }
  /// The fastest choice of tile and split of the depth at `rate` FLOP/s.
  [[nodiscard]] double arithmetic(double m, double n, double k, double groups, double rate,
                                  double extra_depth) const {
    double best = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < tiles.rows.size(); ++i) {
      const double count = std::ceil(m / tiles.rows[i]) * std::ceil(n / tiles.columns[i]) * groups;
      const double tile = 2.0 * tiles.rows[i] * tiles.columns[i] / (rate * tiles.efficiency[i]);
      for (const double split : tiles.splits)
        best = std::min(best, count * split * tile * (k / split + extra_depth));
    }
    return best;
  }
  /// A matrix product by a law's fraction of the peak, extra depth and fraction of HBM.
  [[nodiscard]] double matmul(const std::vector<double>& law, const Type& type, double m, double n,
                              double k, double groups, double rows) const {
    const double bytes =
        type.input_bytes * rows * k + type.weight_bytes * groups * k * n + result_bytes * rows * n;
    return joined(arithmetic(m, n, k, groups, peak_of(type) * law[0], law[1]),
                  bytes / (hbm * law[2]));
  }
};

namespace {

Diagnostic misfit(std::string_view set, std::string_view figure, std::size_t has,
                  std::size_t needs) {
  return error(Code::catalog_invalid,
               fmt::format("{}: `{}` has {} values, its knots need {}", set, figure, has, needs));
}

}  // namespace

Result<KernelTable> KernelTable::on(const catalog::Catalog& catalog, const catalog::Gpu& gpu) {
  const auto set = catalog.constants(gpu.calibration);
  if (!set) return fail(set.error());
  const auto values = [&](const std::string& name) {
    const auto span = (*set)->table(name);
    return std::vector<double>(span.begin(), span.end());
  };
  auto data = std::make_shared<Data>();
  data->tiles = {values("gemm.tile_rows"), values("gemm.tile_columns"),
                 values("gemm.tile_efficiency_fraction"), values("gemm.splits")};
  data->units = gpu.sm_count.value;
  data->hbm = gigabytes_per_second(gpu.hbm_gbytes_per_s.value).value();
  for (const model::Precision precision : model::all_precisions()) {
    if (const auto peak = gpu.peak(precision)) data->peak[precision] = peak->value();
  }
  Diagnostics faults;
  for (const Kind& kind : kinds()) {
    std::vector<std::vector<double>> knots;
    for (const std::string_view feature : kind.features)
      knots.push_back(values(fmt::format("table.{}.{}", kind.name, feature)));
    const std::string prefix = fmt::format("table.{}.", kind.name);
    constexpr std::string_view law = ".law";
    for (const auto& entry : (*set)->entries()) {
      if (!entry.name.starts_with(prefix) || !entry.name.ends_with(law)) continue;
      const std::string type =
          entry.name.substr(prefix.size(), entry.name.size() - prefix.size() - law.size());
      std::vector<double> surface = values(prefix + type + ".surface_permille");
      const std::size_t needed = Surface::size(knots, kind.pairs);
      if (surface.size() != needed) {
        faults.push_back(
            misfit(gpu.calibration, prefix + type + ".surface_permille", surface.size(), needed));
        continue;
      }
      for (double& value : surface)
        value *= permille;
      data->tables.emplace(fmt::format("{}.{}", kind.name, type),
                           Table{entry.values, std::make_shared<const Surface>(
                                                   knots, kind.pairs, std::move(surface))});
    }
  }
  if (!faults.empty()) return fail(std::move(faults));
  KernelTable table;
  table.data_ = std::move(data);
  return table;
}

KernelTable KernelTable::recording(TableUse& use) const {
  KernelTable table = *this;
  table.use_ = &use;
  return table;
}

Seconds KernelTable::corrected(std::string_view kind, std::string_view type, const Table& table,
                               double law_s, std::span<const double> features) const {
  if (use_ != nullptr)
    *use_ = {
        fmt::format("{}.{}", kind, type), law_s, {features.begin(), features.end()}, table.surface};
  return Seconds(law_s * table.surface->factor(features));
}

std::optional<KernelTime> KernelTable::product(std::string_view type,
                                               const GemmShape& shape) const {
  const Table* table = data_->find("gemm", type);
  const Type* kind = find_type(type);
  if (table == nullptr || kind == nullptr) return std::nullopt;
  GemmRates rates;
  rates.peak = FlopsPerSecond(data_->peak_of(*kind));
  rates.peak_fraction = table->law[0];
  rates.extra_depth = table->law[1];
  rates.hbm = BytesPerSecond(data_->hbm * table->law[2]);
  rates.launch = microseconds(table->law[3]);
  rates.input_bytes = kind->input_bytes;
  rates.output_bytes = result_bytes;
  rates.units = data_->units;
  rates.norm = norm;
  KernelTime result = gemm_time(shape, rates, data_->tiles);
  const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
             k = static_cast<double>(shape.k);
  result.time *= table->surface->factor(std::array{std::log2(m), std::log2(n), std::log2(k)});
  const Flops flops(2.0 * m * n * k * static_cast<double>(shape.groups));
  result.time = std::max(result.time, flops / rates.peak);
  return result;
}

std::optional<Seconds> KernelTable::gemm(std::string_view type, double m, double n,
                                         double k) const {
  const Table* table = data_->find("gemm", type);
  const Type* kind = find_type(type);
  if (table == nullptr || kind == nullptr) return std::nullopt;
  double time = data_->matmul(table->law, *kind, m, n, k, 1.0, m) + micro * table->law[3];
  if (table->law.size() > 4) time += m * k * quantised_bytes / (data_->hbm * table->law[4]);
  const Seconds whole =
      corrected("gemm", type, *table, time, std::array{std::log2(m), std::log2(n), std::log2(k)});
  return std::max(whole, Seconds(2.0 * m * n * k / data_->peak_of(*kind)));
}

std::optional<Seconds> KernelTable::prefill(std::string_view type,
                                            const PrefillShape& shape) const {
  const Table* table = data_->find("prefill", type);
  const Type* kind = find_type(type);
  if (table == nullptr || kind == nullptr) return std::nullopt;
  const std::vector<double>& law = table->law;
  const double s = shape.seq_len, d = shape.head_dim, heads = shape.batch * shape.heads;
  const double band = 2.0 * (shape.window + window_tile);
  const double keys = shape.window > 0.0 && band < s ? band : s;
  const double width = d <= small_width ? law[4] : 1.0;
  const double rate = data_->peak_of(*kind) * law[0] * width * s / (s + law[1]);
  const double caches = shape.batch * shape.kv_heads;
  const double bytes = result_bytes * s * d * 2.0 * (heads + caches);
  const double time =
      micro * law[3] + joined(heads * 2.0 * d * s * keys / rate, bytes / (data_->hbm * law[2]));
  const std::array features{
      std::log2(s),
      std::log2(heads),
      std::log2(d),
      std::log2(shape.heads / shape.kv_heads),
      shape.window > 0.0 && shape.window < s ? std::log2(s / shape.window) : 0.0,
      std::log2(caches),
      shape.narrow_kv ? 1.0 : 0.0};
  return corrected("prefill", type, *table, time, features);
}

std::optional<Seconds> KernelTable::decode(std::string_view cache, const DecodeShape& shape) const {
  const Table* table = data_->find("decode", cache);
  const Type* kind = find_type(cache);
  if (table == nullptr || kind == nullptr) return std::nullopt;
  const std::vector<double>& law = table->law;
  const double read = shape.window > 0.0 ? std::min(shape.window, shape.context) : shape.context;
  const double caches = shape.batch * shape.kv_heads, sharing = shape.heads / shape.kv_heads;
  const double elements = 2.0 * shape.head_dim * read * caches;
  const double time =
      micro * law[2] +
      joined(kind->input_bytes * elements / (data_->hbm * law[0]),
             2.0 * elements * sharing / (data_->peak.at(model::Precision::bf16) * law[1]));
  const std::array features{std::log2(read),
                            std::log2(caches),
                            std::log2(shape.head_dim),
                            std::log2(sharing),
                            shape.window > 0.0 && shape.window < shape.context
                                ? std::log2(shape.context / shape.window)
                                : 0.0,
                            std::log2(shape.batch)};
  return corrected("decode", cache, *table, time, features);
}

std::optional<Seconds> KernelTable::latent_prefill(std::string_view cache,
                                                   const LatentShape& shape) const {
  const Table* table = data_->find("latent_prefill", cache);
  if (table == nullptr) return std::nullopt;
  const std::vector<double>& law = table->law;
  const double s = shape.tokens, heads = shape.batch * shape.heads;
  const double rate = data_->peak.at(model::Precision::bf16) * law[0] * s / (s + law[1]);
  const double bytes = result_bytes * s * heads * 2.0 * (latent_key + latent_value);
  const double time = micro * law[3] + joined(heads * (latent_key + latent_value) * s * s / rate,
                                              bytes / (data_->hbm * law[2]));
  return corrected("latent_prefill", cache, *table, time,
                   std::array{std::log2(s), std::log2(heads), std::log2(shape.heads)});
}

std::optional<Seconds> KernelTable::latent_decode(std::string_view cache,
                                                  const LatentShape& shape) const {
  const Table* table = data_->find("latent_decode", cache);
  const Type* kind = find_type(cache);
  if (table == nullptr || kind == nullptr) return std::nullopt;
  const std::vector<double>& law = table->law;
  const double s = shape.tokens, b = shape.batch, h = shape.heads;
  const double time =
      micro * law[2] +
      joined(kind->input_bytes * cached_latent * s * b / (data_->hbm * law[0]),
             b * h * 2.0 * latent_product * s / (data_->peak.at(model::Precision::bf16) * law[1]));
  return corrected("latent_decode", cache, *table, time,
                   std::array{std::log2(s), std::log2(b), std::log2(h)});
}

std::optional<Seconds> KernelTable::experts(std::string_view type,
                                            const ExpertsShape& shape) const {
  const Table* table = data_->find("experts", type);
  const Type* kind = find_type(type);
  if (table == nullptr || kind == nullptr) return std::nullopt;
  const std::vector<double>& law = table->law;
  const double local = shape.experts / shape.ep;
  const double rows = shape.tokens * shape.per_token / shape.ep, each = rows / local;
  const double width = shape.ffn / shape.tp, h = shape.hidden;
  // Experts that any token chose.
  const double used = std::max(local * (1.0 - std::exp(-each)), std::min(1.0, rows));
  const double of_used = std::ceil(std::max(1.0, rows / used));
  const double in = width * (type.find("nongated") == std::string_view::npos ? 2.0 : 1.0);
  const double products = data_->matmul(law, *kind, of_used, in, h, used, rows) +
                          data_->matmul(law, *kind, of_used, h, width, used, rows);
  const double moved = result_bytes * (3.0 * rows * width + 2.0 * rows * h + shape.tokens * h);
  const double time = products + law[4] * moved / (data_->hbm * element_wise_hbm) + micro * law[3];
  const std::array features{std::log2(shape.tokens),   std::log2(each), std::log2(local),
                            std::log2(width),          std::log2(h),    shape.skew,
                            std::log2(shape.per_token)};
  return corrected("experts", type, *table, time, features);
}

}  // namespace flowplan::compute
