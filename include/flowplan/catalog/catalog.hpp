#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/constants.hpp"
#include "flowplan/catalog/hardware.hpp"
#include "flowplan/catalog/names.hpp"
#include "flowplan/catalog/purchase.hpp"
#include "flowplan/catalog/storage.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::catalog {

/// A model with where its dimensions come from.
struct ModelEntry {
  std::string id;
  Source source;
  Diagnostics unsupported;  ///< why flowplan cannot model it; empty when it can
};

class ConstantsShelf;
struct Scaling;

/// Everything that exists. Immutable after loading; references stay valid as long as it lives.
class Catalog {
 public:
  /// Reads `directory` (gpus.json, networks.json, instances.json, prices.csv, purchase.json,
  /// models.json, storage.json, constants/*.json, aliases.json) and lays `overlays` over it, entry
  /// by entry, by id: an entry of the same id keeps the figures that the overlay does not give.
  /// Constants sets that no overlay touches are read when they are asked for: see `constants`.
  /// Errors: FP033 with the place of each fault, FP020-FP029 for an overlay that does not follow
  /// schema/catalog.schema.json, FP034 when the directory is not a catalog.
  [[nodiscard]] static Result<Catalog> load(const std::string& directory,
                                            const std::vector<std::string>& overlays = {});

  /// Finds by id or by a name as people type it ("p5", "H100", "llama3-70b"); case and punctuation
  /// do not matter. Errors: FP030 with the nearest names, FP031 with the choices, FP073 for a model
  /// that flowplan cannot model.
  [[nodiscard]] Result<const Instance*> instance(std::string_view name) const;
  [[nodiscard]] Result<const Gpu*> gpu(std::string_view name) const;
  [[nodiscard]] Result<const Network*> network(std::string_view name) const;
  [[nodiscard]] Result<const model::Transformer*> transformer(std::string_view name) const;
  [[nodiscard]] Result<const StorageService*> storage(std::string_view name) const;
  [[nodiscard]] Result<const DataLoader*> data_loader(std::string_view id) const;
  /// A constants set by its id, read when it is first asked for, by any thread. Errors: FP030 with
  /// the nearest ids, FP033 with what is wrong in its file.
  [[nodiscard]] Result<const Constants*> constants(std::string_view id) const;
  /// The ids of the constants sets of a kind, in order; of all where `kind` is empty.
  [[nodiscard]] std::vector<std::string> constants_ids(std::string_view kind = {}) const;
  /// Where a set's figures stand. Errors as `constants`.
  [[nodiscard]] Result<Lineage> lineage(std::string_view id) const;
  /// All constants sets, by id. Errors: every fault of every file of them.
  [[nodiscard]] Result<std::vector<const Constants*>> all_constants() const;
  /// The GPU of an instance; every instance of a loaded catalog has one.
  [[nodiscard]] const Gpu& gpu_of(const Instance& instance) const;
  /// Where a model's dimensions come from; null when the catalog does not have it.
  [[nodiscard]] const ModelEntry* model_entry(std::string_view id) const;

  /// Prices of an instance, newest first within each purchase model; `region` empty: all. See
  /// price_applies for which prices hold in a region.
  [[nodiscard]] std::vector<Price> prices(std::string_view instance,
                                          std::string_view region = {}) const;
  /// The newest price under one purchase model.
  [[nodiscard]] std::optional<Price> price(std::string_view instance, std::string_view purchase,
                                           std::string_view region = {}) const;
  /// The newest price of one item of a storage service in a region; nothing when none is known.
  [[nodiscard]] std::optional<StoragePrice> storage_price(std::string_view service,
                                                          std::string_view item,
                                                          std::string_view region) const;
  [[nodiscard]] const PurchaseRules& purchase_rules() const { return purchase_; }

  [[nodiscard]] const std::vector<Instance>& instances() const { return instances_; }
  [[nodiscard]] const std::vector<Gpu>& gpus() const { return gpus_; }
  [[nodiscard]] const std::vector<Network>& networks() const { return networks_; }
  [[nodiscard]] const std::vector<model::Transformer>& transformers() const {
    return transformers_;
  }
  [[nodiscard]] const std::vector<ModelEntry>& models() const { return models_; }
  [[nodiscard]] const std::vector<StorageService>& storage_services() const { return storage_; }
  [[nodiscard]] const std::vector<DataLoader>& data_loaders() const { return data_loaders_; }
  [[nodiscard]] const std::vector<StoragePrice>& storage_prices() const { return storage_prices_; }
  /// Date of the newest figure and a hash of the files: "2026-11-30/1a2b3c4d".
  [[nodiscard]] const std::string& version() const { return version_; }

 private:
  friend class Loader;
  friend Catalog scaled(Catalog catalog, const Scaling& scaling);

  std::vector<Instance> instances_;
  std::vector<Gpu> gpus_;
  std::vector<Network> networks_;
  std::vector<model::Transformer> transformers_;
  std::vector<ModelEntry> models_;
  std::shared_ptr<ConstantsShelf> constants_;
  std::vector<std::shared_ptr<const Constants>> replaced_;  // before those of the shelf
  std::vector<Price> prices_;
  std::vector<StorageService> storage_;
  std::vector<DataLoader> data_loaders_;
  std::vector<StoragePrice> storage_prices_;
  PurchaseRules purchase_;
  Names instance_names_, gpu_names_, network_names_, model_names_, storage_names_;
  std::string version_;
};

}  // namespace flowplan::catalog
