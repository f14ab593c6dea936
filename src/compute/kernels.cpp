#include "flowplan/compute/kernels.hpp"

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "flowplan/compute/kernel_table.hpp"

namespace flowplan::compute {

using model::Precision;

struct Kernels::Data {
  struct Rates {
    std::string_view table;  // whose products
    FlopsPerSecond peak{};
    StepFactors step;
  };
  std::string calibration;
  KernelTable table;
  std::map<Precision, Rates> rates;  // of the precisions that the GPU has
  BytesPerSecond hbm{};              // usable
  BytesPerSecond host_link{};
  FlopsPerSecond attention_peak{};  // of fused attention with wide heads at unlimited length
  FlopsPerSecond unfused_peak{};
  double half_length = 0.0, small_head_dim = 0.0, small_head_fraction = 1.0;
  double window_tile = 1.0;
  double flash2_forward = 1.0, flash2_backward = 1.0, flash2_small_head_fraction = 1.0;
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
  auto table = KernelTable::on(catalog, gpu);
  if (!table) return fail(std::move(table.error()));
  data->table = std::move(*table);
  const BytesPerSecond hbm = gigabytes_per_second(gpu.hbm_gbytes_per_s.value);
  data->hbm = hbm * reader.number("memory.hbm_fraction");
  data->host_link = gigabytes_per_second(reader.number("host_link.usable_gbytes_per_s"));
  data->attention_peak = *bf16_peak * reader.number("attention.peak_fraction");
  data->unfused_peak = *bf16_peak * reader.number("attention.unfused_peak_fraction");
  data->half_length = reader.number("attention.half_length_tokens");
  data->small_head_dim = reader.number("attention.small_head_dim");
  data->small_head_fraction = reader.number("attention.small_head_fraction");
  data->backward_flops_factor = reader.number("attention.backward_flops_factor");
  data->window_tile = reader.number("attention.window_tile_tokens");
  data->flash2_small_head_fraction = reader.number("attention.flash2_small_head_fraction");
  const double forward_factor = reader.number("step.attention_forward_factor");
  data->flash2_forward = reader.number("step.attention_flash2_forward_factor");
  data->flash2_backward =
      data->flash2_forward * reader.number("step.attention_flash2_backward_factor");
  const StepFactors attention{1.0, 1.0, forward_factor,
                              forward_factor * reader.number("step.attention_backward_factor")};

  for (const Precision precision : {Precision::bf16, Precision::fp16, Precision::fp8,
                                    Precision::fp8_block, Precision::mxfp8, Precision::nvfp4}) {
    const std::string factor = fmt::format("step.gemm.{}_factor", step_of(precision));
    const auto peak = gpu.peak(precision == Precision::fp16 ? Precision::bf16 : precision);
    if (!peak || !reader.has(factor)) continue;
    const std::string_view table_name = table_of(precision);
    if (!data->table.product(table_name, {1, 1, 1})) {
      missing.push_back(lacks(gpu.calibration, fmt::format("table.gemm.{}.law", table_name)));
      continue;
    }
    StepFactors step = attention;
    step.gemm = reader.number(factor);
    step.grouped_gemm = reader.number(fmt::format("step.grouped.{}_factor", table_of(precision)));
    data->rates.emplace(precision, Data::Rates{table_name, *peak, step});
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
  const auto time = data_->table.product(data_->rates.at(precision).table, shape);
  FLOWPLAN_ASSERT(time.has_value());
  return *time;
}

KernelTime Kernels::attention_forward(const AttentionShape& shape, AttentionKernels kernels) const {
  const auto s = static_cast<double>(shape.seq_len);
  const auto d = static_cast<double>(shape.head_dim);
  const double value = shape.value_dim > 0 ? static_cast<double>(shape.value_dim) : d;
  // Keys read, twice their mean number: the causal half of all, or a band of whole tiles.
  const auto window = static_cast<double>(shape.window);
  const double band = 2.0 * (window + data_->window_tile);
  const double keys = shape.window > 0 && band < s ? band : s;
  const double flops =
      static_cast<double>(shape.batch) * static_cast<double>(shape.heads) * (d + value) * s * keys;
  const double small = kernels == AttentionKernels::newest ? data_->small_head_fraction
                                                           : data_->flash2_small_head_fraction;
  const double width = d <= data_->small_head_dim ? small : 1.0;
  const FlopsPerSecond rate = data_->attention_peak * (width * s / (s + data_->half_length));
  return {Flops(flops) / rate, "tensor cores", "HBM"};
}

KernelTime Kernels::attention_backward(const AttentionShape& shape,
                                       AttentionKernels kernels) const {
  KernelTime result = attention_forward(shape, kernels);
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

StepFactors Kernels::in_step(Precision precision, AttentionKernels kernels) const {
  FLOWPLAN_ASSERT(supports(precision));
  StepFactors step = data_->rates.at(precision).step;
  if (kernels == AttentionKernels::flash_attention_2) {
    step.attention_forward = data_->flash2_forward;
    step.attention_backward = data_->flash2_backward;
  }
  return step;
}

BytesPerSecond Kernels::usable_hbm() const {
  return data_->hbm;
}

BytesPerSecond Kernels::host_link() const {
  return data_->host_link;
}

const std::string& Kernels::calibration() const {
  return data_->calibration;
}

}  // namespace flowplan::compute
