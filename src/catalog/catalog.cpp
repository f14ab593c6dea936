#include "flowplan/catalog/catalog.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "constants_shelf.hpp"
#include "flowplan/base/assert.hpp"
#include "flowplan/catalog/prices.hpp"
#include "loader.hpp"

namespace flowplan::catalog {

namespace {

template <class T>
const T* by_id(const std::vector<T>& all, std::string_view id) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const T& t) { return t.id == id; });
  return found == all.end() ? nullptr : &*found;
}

/// The EC2 instances with one of some GPUs; reference systems where there are no others.
std::vector<std::string> instances_with(const std::vector<Instance>& instances,
                                        const std::vector<std::string>& gpus) {
  std::vector<std::string> sold, references;
  for (const Instance& instance : instances) {
    if (std::find(gpus.begin(), gpus.end(), instance.gpu) == gpus.end()) continue;
    if (!instance.only_in.empty()) continue;
    (instance.kind == InstanceKind::reference ? references : sold).push_back(instance.id);
  }
  return sold.empty() ? references : sold;
}

}  // namespace

Result<Catalog> Catalog::load(const std::string& directory,
                              const std::vector<std::string>& overlays) {
  return Loader(directory).run(overlays);
}

Result<const Instance*> Catalog::instance(std::string_view name) const {
  auto id = instance_names_.resolve(name);
  if (id) return by_id(instances_, *id);
  if (id.error().front().code == Code::unknown_name) {
    // People also ask for an instance by its GPU.
    std::vector<std::string> meant;
    const std::string key = name_key(name);
    for (const Gpu& g : gpus_) {
      if (name_key(g.id) == key) meant.push_back(g.id);
    }
    for (const Names::Alias& alias : gpu_names_.aliases()) {
      if (alias.key == key) meant = alias.ids;
    }
    if (const auto choices = instances_with(instances_, meant); !choices.empty()) {
      return fail(error(Code::ambiguous_name, fmt::format("`{}` is a GPU, not an instance", name),
                        fmt::format("instances with it: {}", fmt::join(choices, ", "))));
    }
  }
  return fail(std::move(id.error()));
}

Result<const Gpu*> Catalog::gpu(std::string_view name) const {
  auto id = gpu_names_.resolve(name);
  if (!id) return fail(std::move(id.error()));
  return by_id(gpus_, *id);
}

Result<const Network*> Catalog::network(std::string_view name) const {
  auto id = network_names_.resolve(name);
  if (!id) return fail(std::move(id.error()));
  return by_id(networks_, *id);
}

Result<const model::Transformer*> Catalog::transformer(std::string_view name) const {
  auto id = model_names_.resolve(name);
  if (!id) return fail(std::move(id.error()));
  const auto found = std::find_if(transformers_.begin(), transformers_.end(),
                                  [&](const model::Transformer& m) { return m.name == *id; });
  if (found != transformers_.end()) return &*found;
  Diagnostics reasons = model_entry(*id)->unsupported;
  for (Diagnostic& reason : reasons)
    reason.message = fmt::format("{} cannot be modelled: {}", *id, reason.message);
  return fail(std::move(reasons));
}

Result<const StorageService*> Catalog::storage(std::string_view name) const {
  auto id = storage_names_.resolve(name);
  if (!id) return fail(std::move(id.error()));
  return by_id(storage_, *id);
}

Result<const DataLoader*> Catalog::data_loader(std::string_view id) const {
  std::vector<std::string> known;
  for (const DataLoader& loader : data_loaders_) {
    if (loader.id == id) return &loader;
    known.push_back(loader.id);
  }
  return fail(
      error(Code::unknown_name, fmt::format("unknown loader `{}`", id), suggest(id, known)));
}

std::optional<StoragePrice> Catalog::storage_price(std::string_view service, std::string_view item,
                                                   std::string_view region) const {
  const StoragePrice* newest = nullptr;
  for (const StoragePrice& price : storage_prices_) {
    if (price.service != service || price.item != item) continue;
    if (region.empty() || !price_applies(price.region, region)) continue;
    if (newest == nullptr || price.as_of > newest->as_of) newest = &price;
  }
  if (newest == nullptr) return std::nullopt;
  return *newest;
}

Result<const Constants*> Catalog::constants(std::string_view id) const {
  for (const auto& set : replaced_)
    if (set->id() == id) return set.get();
  return constants_->get(id);
}

std::vector<std::string> Catalog::constants_ids(std::string_view kind) const {
  return constants_->ids(kind);
}

Result<Lineage> Catalog::lineage(std::string_view id) const {
  return constants_->lineage(id);
}

Result<std::vector<const Constants*>> Catalog::all_constants() const {
  std::vector<const Constants*> all;
  Diagnostics faults;
  for (const std::string& id : constants_ids()) {
    if (auto set = constants(id)) {
      all.push_back(*set);
    } else {
      std::move(set.error().begin(), set.error().end(), std::back_inserter(faults));
    }
  }
  if (!faults.empty()) return fail(std::move(faults));
  return all;
}

const Gpu& Catalog::gpu_of(const Instance& instance) const {
  const Gpu* gpu = by_id(gpus_, instance.gpu);
  FLOWPLAN_ASSERT(gpu != nullptr);
  return *gpu;
}

const ModelEntry* Catalog::model_entry(std::string_view id) const {
  return by_id(models_, id);
}

std::vector<Price> Catalog::prices(std::string_view instance, std::string_view region) const {
  std::vector<Price> found;
  const auto id = instance_names_.resolve(instance);
  if (!id) return found;
  for (const Price& price : prices_) {
    if (price.instance == *id && price_applies(price.region, region)) found.push_back(price);
  }
  std::stable_sort(found.begin(), found.end(), [](const Price& a, const Price& b) {
    return a.purchase != b.purchase ? a.purchase < b.purchase : a.as_of > b.as_of;
  });
  return found;
}

std::optional<Price> Catalog::price(std::string_view instance, std::string_view purchase,
                                    std::string_view region) const {
  for (Price& price : prices(instance, region)) {
    if (price.purchase == purchase) return std::move(price);
  }
  return std::nullopt;
}

}  // namespace flowplan::catalog
