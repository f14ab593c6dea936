#include "flowplan/catalog/scale.hpp"

#include <memory>
#include <utility>
#include <vector>

#include "flowplan/base/assert.hpp"

namespace flowplan::catalog {

namespace {

void scale_gpu(Gpu& gpu, Scaling::What what, double factor) {
  if (what == Scaling::What::matrix_rate) {
    for (auto& [precision, figure] : gpu.dense_tflops)
      figure.value *= factor;
  }
  if (what == Scaling::What::hbm_bandwidth) gpu.hbm_gbytes_per_s.value *= factor;
  if (what == Scaling::What::nvlink) gpu.nvlink_gbytes_per_s.value *= factor;
}

void scale_instance(Instance& instance, Scaling::What what, double factor) {
  if (what == Scaling::What::hbm_capacity) instance.hbm_reported_mib_per_gpu.value *= factor;
  if (what == Scaling::What::network) instance.efa_gbps_total.value *= factor;
}

Constants scale_constant(const Constants& set, const std::string& name, double factor) {
  std::vector<Constants::Entry> entries = set.entries();
  for (Constants::Entry& entry : entries) {
    if (entry.name != name) continue;
    for (double& value : entry.values)
      value *= factor;
  }
  return {set.id(), set.kind(), std::move(entries), set.about()};
}

}  // namespace

Catalog scaled(Catalog catalog, const Scaling& scaling) {
  FLOWPLAN_ASSERT(scaling.factor > 0.0);
  for (Gpu& gpu : catalog.gpus_)
    if (gpu.id == scaling.id) scale_gpu(gpu, scaling.what, scaling.factor);
  for (Instance& instance : catalog.instances_)
    if (instance.id == scaling.id) scale_instance(instance, scaling.what, scaling.factor);
  if (scaling.what == Scaling::What::price) {
    for (Price& price : catalog.prices_)
      if (price.instance == scaling.id) price.per_hour = price.per_hour * scaling.factor;
  }
  if (scaling.what == Scaling::What::constant) {
    if (const auto set = catalog.constants(scaling.id)) {
      auto scaled =
          std::make_shared<Constants>(scale_constant(**set, scaling.constant, scaling.factor));
      catalog.replaced_.insert(catalog.replaced_.begin(), std::move(scaled));
    }
  }
  return catalog;
}

}  // namespace flowplan::catalog
