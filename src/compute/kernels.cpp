#include "flowplan/compute/kernels.hpp"

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"

namespace flowplan::compute {

using model::Precision;

struct Kernels::Data {
  struct Rates {
    GemmRates gemm;
    FlopsPerSecond peak{};
    StepFactors step;
  };
  std::string calibration;
  GemmTiles tiles;
  std::map<Precision, Rates> rates;  // of the precisions that the GPU has
  BytesPerSecond hbm{};              // usable
  FlopsPerSecond attention_peak{};   // of fused attention with wide heads at unlimited length
  FlopsPerSecond unfused_peak{};
  double half_length = 0.0, small_head_dim = 0.0, small_head_fraction = 1.0;
  double backward_flops_factor = 1.0;
};

namespace {

/// Reads a constants set; collects the names that it lacks.
class Reader {
 public:
  explicit Reader(const catalog::Constants& set) : set_(set) {}

  double number(const std::string& name) {
    const std::vector<double>* values = find(name);
    return values == nullptr ? 1.0 : values->front();
  }
  std::vector<double> table(const std::string& name) {
    const std::vector<double>* values = find(name);
    return values == nullptr ? std::vector<double>{1.0} : *values;
  }
  [[nodiscard]] bool has(const std::string& name) const { return set_.find(name) != nullptr; }
  [[nodiscard]] const std::vector<std::string>& missing() const { return missing_; }

 private:
  const std::vector<double>* find(const std::string& name) {
    const catalog::Constants::Entry* entry = set_.find(name);
    if (entry != nullptr && !entry->values.empty()) return &entry->values;
    missing_.push_back(name);
    return nullptr;
  }

  const catalog::Constants& set_;
  std::vector<std::string> missing_;
};

/// The precision whose kernel table stands for another's.
std::string_view table_of(Precision precision) {
  switch (precision) {
    case Precision::bf16:
    case Precision::fp16:
      return "bf16";
    case Precision::fp8:
    case Precision::fp8_block:
    case Precision::mxfp8:
      return "fp8";
    case Precision::nvfp4:
      return "nvfp4";
    case Precision::fp32:
    case Precision::tf32:
      break;
  }
  return {};
}

/// The precision whose step factor is taken.
std::string_view step_of(Precision precision) {
  return precision == Precision::mxfp8 || precision == Precision::fp8_block ? "mxfp8"
                                                                            : table_of(precision);
}

/// GEMM results are accumulated wide and written in 16 bits whatever the operands are.
constexpr double result_bytes = 2.0;

GemmRates gemm_rates(Reader& reader, std::string_view table, double norm) {
  const std::string prefix = fmt::format("gemm.{}.", table);
  GemmRates rates;
  rates.peak_fraction = reader.number(prefix + "peak_fraction");
  rates.extra_depth = reader.number(prefix + "extra_depth");
  rates.wave_share = reader.number(prefix + "wave_share");
  rates.launch = microseconds(reader.number(prefix + "launch_us"));
  rates.hbm = BytesPerSecond(reader.number(prefix + "hbm_fraction"));  // scaled by the GPU's below
  rates.output_bytes = result_bytes;
  rates.norm = norm;
  return rates;
}

Diagnostic lacks(std::string_view what, std::string_view figure) {
  return error(Code::unknown_figure,
               fmt::format("{} lacks `{}`, which kernels need", what, figure));
}

}  // namespace

Result<Kernels> Kernels::on(const catalog::Catalog& catalog, const catalog::Gpu& gpu) {
  const auto set = catalog.constants(gpu.calibration);
  if (!set) return fail(set.error());
  Diagnostics missing;
  const auto bf16_peak = gpu.peak(Precision::bf16);
  if (!gpu.sm_count) missing.push_back(lacks(gpu.id, "sm_count"));
  if (!gpu.hbm_gbytes_per_s) missing.push_back(lacks(gpu.id, "hbm_gbytes_per_s"));
  if (!bf16_peak) missing.push_back(lacks(gpu.id, "dense_tflops.bf16"));
  if (!missing.empty()) return fail(std::move(missing));

  Reader reader(**set);
  auto data = std::make_shared<Data>();
  data->calibration = gpu.calibration;
  data->tiles = {reader.table("gemm.tile_rows"), reader.table("gemm.tile_columns"),
                 reader.table("gemm.tile_efficiency_fraction"), reader.table("gemm.splits")};
  const BytesPerSecond hbm = gigabytes_per_second(gpu.hbm_gbytes_per_s.value);
  data->hbm = hbm * reader.number("memory.hbm_fraction");
  data->attention_peak = *bf16_peak * reader.number("attention.peak_fraction");
  data->unfused_peak = *bf16_peak * reader.number("attention.unfused_peak_fraction");
  data->half_length = reader.number("attention.half_length_tokens");
  data->small_head_dim = reader.number("attention.small_head_dim");
  data->small_head_fraction = reader.number("attention.small_head_fraction");
  data->backward_flops_factor = reader.number("attention.backward_flops_factor");
  const double norm = reader.number("gemm.roofline_norm");
  const double forward_factor = reader.number("step.attention_forward_factor");
  const StepFactors attention{1.0, forward_factor,
                              forward_factor * reader.number("step.attention_backward_factor")};

  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::fp8,
                                    Precision::fp8_block, Precision::mxfp8, Precision::nvfp4}) {
    const std::string factor = fmt::format("step.gemm.{}_factor", step_of(precision));
    const auto peak = gpu.peak(precision == Precision::fp16 ? Precision::bf16 : precision);
    if (!peak || !reader.has(factor)) continue;
    GemmRates rates = gemm_rates(reader, table_of(precision), norm);
    rates.peak = *peak;
    rates.hbm = hbm * rates.hbm.value();
    rates.input_bytes = model::bytes_per_element(precision);
    rates.units = gpu.sm_count.value;
    StepFactors step = attention;
    step.gemm = reader.number(factor);
    data->rates.emplace(precision, Data::Rates{rates, *peak, step});
  }
  if (data->tiles.columns.size() != data->tiles.rows.size() ||
      data->tiles.efficiency.size() != data->tiles.rows.size()) {
    missing.push_back(
        error(Code::catalog_invalid, fmt::format("{}: gemm.tile_rows, gemm.tile_columns and "
                                                 "gemm.tile_efficiency_fraction differ in length",
                                                 gpu.calibration)));
  }
  for (const std::string& name : reader.missing())
    missing.push_back(lacks(gpu.calibration, name));
  if (!missing.empty()) return fail(std::move(missing));
  Kernels kernels;
  kernels.data_ = std::move(data);
  return kernels;
}

bool Kernels::supports(Precision precision) const {
  return data_->rates.contains(precision);
}

FlopsPerSecond Kernels::peak(Precision precision) const {
  FLOWPLAN_ASSERT(supports(precision));
  return data_->rates.at(precision).peak;
}

KernelTime Kernels::gemm(const GemmShape& shape, Precision precision) const {
  FLOWPLAN_ASSERT(supports(precision));
  return gemm_time(shape, data_->rates.at(precision).gemm, data_->tiles);
}

KernelTime Kernels::attention_forward(const AttentionShape& shape) const {
  const auto s = static_cast<double>(shape.seq_len);
  const auto d = static_cast<double>(shape.head_dim);
  const double flops =
      static_cast<double>(shape.batch) * static_cast<double>(shape.heads) * 2.0 * d * s * s;
  const double width = d <= data_->small_head_dim ? data_->small_head_fraction : 1.0;
  const FlopsPerSecond rate = data_->attention_peak * (width * s / (s + data_->half_length));
  return {Flops(flops) / rate, "tensor cores", "HBM"};
}

KernelTime Kernels::attention_backward(const AttentionShape& shape) const {
  KernelTime result = attention_forward(shape);
  result.time *= data_->backward_flops_factor;
  return result;
}

KernelTime Kernels::attention_unfused(const AttentionShape& shape, double products,
                                      double passes) const {
  const auto s = static_cast<double>(shape.seq_len);
  const double heads = static_cast<double>(shape.batch) * static_cast<double>(shape.heads);
  const Flops product(2.0 * heads * static_cast<double>(shape.head_dim) * s * s);
  const Bytes scores(heads * s * s * model::bytes_per_element(Precision::bf16));
  const Seconds arithmetic = product * products / data_->unfused_peak;
  const Seconds traffic = scores * passes / data_->hbm;
  if (traffic > arithmetic) return {arithmetic + traffic, "HBM", "tensor cores"};
  return {arithmetic + traffic, "tensor cores", "HBM"};
}

KernelTime Kernels::memory_bound(Bytes moved) const {
  return {moved / data_->hbm, "HBM", "launch"};
}

StepFactors Kernels::in_step(Precision precision) const {
  FLOWPLAN_ASSERT(supports(precision));
  return data_->rates.at(precision).step;
}

BytesPerSecond Kernels::usable_hbm() const {
  return data_->hbm;
}

const std::string& Kernels::calibration() const {
  return data_->calibration;
}

}  // namespace flowplan::compute
