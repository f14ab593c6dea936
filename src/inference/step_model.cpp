#include "flowplan/inference/step_model.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "step_data.hpp"

namespace flowplan::inference {

namespace {

model::Precision peak_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::fp8:
    case WeightFormat::fp8_block:
      return model::Precision::fp8;
    case WeightFormat::nvfp4:
      return model::Precision::nvfp4;
    default:
      return model::Precision::bf16;
  }
}

/// 1, 2, 4, ... with one point between, up to the first not below `most`.
std::vector<double> doubling_grid(double first, double most) {
  std::vector<double> grid{first};
  while (grid.back() < most) {
    const double last = grid.back();
    if (last >= 4.0) grid.push_back(std::floor(last * 1.5));
    grid.push_back(last * 2.0);
  }
  return grid;
}

/// A batch never takes longer than a larger one, to which it could be padded.
Curve never_falling(const Curve& curve) {
  std::vector<double> y(curve.y().begin(), curve.y().end());
  for (std::size_t i = y.size(); i-- > 1;)
    y[i - 1] = std::min(y[i - 1], y[i]);
  return Curve({curve.x().begin(), curve.x().end()}, std::move(y));
}

}  // namespace

Seconds DenseParts::total() const {
  return products + all_reduce + element_wise + launches + stages;
}
Seconds ExpertParts::total() const {
  return experts + exchange + waiting;
}
Seconds HeadParts::total() const {
  return product + gather + sampling;
}

DenseParts StepModel::dense(double tokens) const {
  return data_->dense(tokens);
}
ExpertParts StepModel::experts(double tokens) const {
  return data_->experts(tokens);
}
HeadParts StepModel::head(double sequences) const {
  return data_->head(sequences);
}
Seconds StepModel::decode_attention(double sequences, double context) const {
  return data_->decode(sequences, context);
}
Seconds StepModel::draft(double sequences) const {
  const Data& d = *data_;
  const DenseParts parts = d.dense(sequences);
  const Seconds model_layers =
      parts.total() - parts.stages + d.experts(sequences * d.layout.attention_dp).total();
  return model_layers / d.layers() + d.head(sequences).total();
}
AdapterCost StepModel::adapters(double rank) const {
  return data_->adapters(rank);
}

Seconds StepModel::prefill_attention(double tokens) const {
  return data_->prefill(tokens);
}

namespace {

/// DeepSeek's grouped routing comes with latent attention.
bool has_small_batches(const StepSetup& setup) {
  return setup.engine.small_batches_of_any_routing || setup.model->latent_attention.has_value();
}

/// Types of kernels that a set-up needs and the GPU's tables do not have.
std::vector<std::string> kernels_missing(const compute::KernelTable& kernels,
                                         const StepSetup& setup,
                                         const std::vector<ProductShape>& shapes,
                                         catalog::GpuGeneration generation) {
  std::vector<std::string> missing;
  const auto need = [&](bool there, std::string what) {
    if (!there && std::find(missing.begin(), missing.end(), what) == missing.end())
      missing.push_back(std::move(what));
  };
  for (const ProductShape& shape : shapes) {
    need(kernels.gemm(product_type(shape.format), 16, 1024, 1024).has_value(),
         fmt::format("{} products", name(shape.format)));
  }
  if (setup.model->experts) {
    const auto own = experts_types(setup.formats.experts, generation, false).front();
    need(kernels.experts(own, {}).has_value(),
         fmt::format("{} experts", name(setup.formats.experts)));
  }
  const std::string_view cache = setup.formats.narrow_kv ? "fp8" : "bf16";
  if (setup.model->latent_attention) {
    need(kernels.latent_decode(cache, {}).has_value() &&
             kernels.latent_prefill(cache, {}).has_value(),
         fmt::format("latent attention on a cache in {}", cache));
  } else {
    need(kernels.decode(cache, {}).has_value() && kernels.prefill("bf16", {}).has_value(),
         fmt::format("attention on a cache in {}", cache));
  }
  return missing;
}

}  // namespace

Result<StepModel> StepModel::on(const catalog::Catalog& catalog, const StepSetup& setup) {
  FLOWPLAN_ASSERT(setup.instance != nullptr && setup.model != nullptr);
  const auto checked = check_layout(setup.layout, *setup.model, setup.instance);
  if (!checked) return fail(checked.error());
  const catalog::Gpu& gpu = catalog.gpu_of(*setup.instance);
  auto kernels = compute::KernelTable::on(catalog, gpu);
  if (!kernels) return fail(kernels.error());
  auto collectives = step_collectives(catalog, *setup.instance, *setup.model, setup.layout);
  if (!collectives) return fail(collectives.error());
  std::vector<ProductShape> shapes = product_shapes(*setup.model, setup.layout, setup.formats);
  const auto missing = kernels_missing(*kernels, setup, shapes, gpu.generation);
  if (!missing.empty()) {
    Diagnostics faults;
    for (const std::string& what : missing) {
      faults.push_back(
          error(Code::unsupported_feature, fmt::format("{} has no measured {}", gpu.name, what)));
    }
    return fail(std::move(faults));
  }
  auto data = std::make_shared<Data>();
  data->instance = setup.instance;
  data->model = *setup.model;
  data->layout = setup.layout;
  data->formats = setup.formats;
  data->engine = setup.engine;
  data->draft_tokens = setup.draft_tokens;
  data->kernels = std::move(*kernels);
  data->collectives = std::move(*collectives);
  data->shapes = std::move(shapes);
  data->attention = attention_layers(*setup.model);
  data->generation = gpu.generation;
  data->expert_kernels =
      experts_types(setup.formats.experts, gpu.generation, has_small_batches(setup));
  data->hbm = gigabytes_per_second(gpu.hbm_gbytes_per_s.value);
  const auto bf16 = gpu.peak(model::Precision::bf16);
  FLOWPLAN_ASSERT(bf16.has_value());
  for (const WeightFormat format : all_weight_formats())
    data->peaks.push_back(gpu.peak(peak_of(format)).value_or(*bf16));
  StepModel step;
  step.data_ = std::move(data);
  return step;
}

StepTable StepModel::table(double most_tokens, double most_sequences, double most_context) const {
  const Data& d = *data_;
  StepTable table;
  table.attention_ranks = d.layout.attention_dp;
  table.micro_batches = d.layout.pp;
  const auto curve = [](std::vector<double> x, auto seconds) {
    std::vector<double> y;
    for (const double at : x)
      y.push_back(seconds(at).value());
    return Curve(std::move(x), std::move(y));
  };
  table.dense_s =
      curve(doubling_grid(1.0, most_tokens), [&](double m) { return dense(m).total(); });
  if (d.model.experts) {
    table.moe_s = never_falling(curve(doubling_grid(1.0, most_tokens * d.layout.attention_dp),
                                      [&](double m) { return experts(m).total(); }));
  }
  const std::vector<double> sequences = doubling_grid(1.0, most_sequences);
  table.head_s = curve(sequences, [&](double b) { return head(b).total(); });
  const std::vector<double> contexts = doubling_grid(64.0, most_context);
  std::vector<double> attention;
  for (const double b : sequences) {
    for (const double c : contexts)
      attention.push_back(decode_attention(b, c).value());
  }
  table.decode_attention_s = Grid(sequences, contexts, std::move(attention));
  std::vector<double> prompts = doubling_grid(16.0, most_context);
  prompts.insert(prompts.begin(), 0.0);
  table.prefill_attention_s = curve(
      std::move(prompts), [&](double s) { return s > 0.0 ? prefill_attention(s) : Seconds(0.0); });
  table.gap = d.engine.gap;
  table.captured_tokens = d.engine.captured_tokens;
  table.eager_above_tokens = d.engine.eager_above_tokens;
  table.eager_floor = d.layers() * d.engine.eager_layer;
  return table;
}

}  // namespace flowplan::inference
