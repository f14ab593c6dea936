#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/model/checkpoint_index.hpp"
#include "flowplan/model/precision.hpp"
#include "flowplan/model/transformer.hpp"
#include "flowplan/scenario/operations.hpp"
#include "flowplan/scenario/posttraining.hpp"
#include "flowplan/scenario/search.hpp"
#include "flowplan/scenario/serving.hpp"
#include "flowplan/scenario/storage.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/topology/placement.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::scenario {

/// `cluster`: what is stated; what is not has no value yet.
struct ClusterSection {
  const catalog::Instance* instance = nullptr;  ///< in the catalog that the scenario was read with
  int count = 0;  ///< units of `instance`, >= 1; both may be left open in a search
  std::optional<std::string> region;
  std::optional<std::string> purchase;
  topology::Fabric fabric;
};

/// `workload` of kind "pretraining".
struct PretrainingSection {
  model::Transformer model;
  /// What a safetensors index beside the model's config.json says; empty without one.
  std::optional<model::CheckpointCheck> checkpoint;
  std::optional<double> tokens;  ///< budget of the run
  std::optional<std::int64_t> seq_len, global_batch, micro_batch;
  std::optional<model::Precision> precision;
  std::optional<training::Recompute> recompute;
  std::optional<training::Sharding> sharding;
  std::optional<std::string> framework;
  std::optional<int> tp, pp, vp, cp, dp;
  std::optional<bool> sequence_parallel;
  std::optional<int> ep, etp;
  bool uneven_stages = false, async_tp = false;
  std::optional<training::Schedule> schedule;
  std::optional<training::ContextParallel> context_parallel;
  std::optional<training::RecomputeModules> modules;
  training::ExpertRouting routing;
  std::optional<training::Adapters> adapters;
  int shard_group = 0;
  bool shard_in_domain = false;  ///< HSDP by default: the ranks of an NVLink domain
  std::int64_t offload_layers = 0;
  training::States states;
  training::WideLayers wide_layers;
  std::optional<int> gpus;  ///< that work; the rest of the cluster are spares
  topology::PlacementSpec placement;
};

/// One of `checks`: a bound on a metric, or the expectation that the workload does not fit.
struct Check {
  enum class Level { error, warn };
  enum class Reference { base, ceiling };

  std::string metric;                          ///< empty for `expect_infeasible`
  std::optional<double> min, max;              ///< in the metric's unit
  std::optional<double> min_ratio, max_ratio;  ///< over `reference`, instead
  Reference reference = Reference::base;
  bool expect_infeasible = false;
  std::string
      binding;  ///< "memory", "host_memory", "local_disks", "store", "slo", or empty: any reason
  Level level = Level::error;
  std::string message;
  Place place;
};

/// A scenario as its file states it, every name looked up.
struct Scenario {
  std::string name, about;
  ClusterSection cluster;
  PretrainingSection workload;  ///< of that kind; the trainer of one with `posttraining`
  std::vector<Check> checks;
  SearchSection search;                   ///< empty where the file has none
  std::optional<ServingSection> serving;  ///< instead of `workload`, for work of that kind
  std::optional<PosttrainingSection> posttraining;  ///< for work of that kind
  std::optional<StorageSection> storage;
  std::optional<OperationsSection> operations;
  JsonDocument document;  ///< after overrides; gives later diagnostics their places

  /// Whether a check says that this scenario is meant not to fit.
  [[nodiscard]] bool expects_infeasible() const;
};

/// What a scenario is read for. A `search` may leave open which machines, and how many.
enum class ReadFor { run, search };

/// Reads a scenario: first against `schema` (catalogs/schema/scenario.schema.json), then what a
/// schema cannot say: names (FP030, FP031), quantities (FP040), `count` against `nodes` (FP060),
/// checks (FP080, FP081),
/// the search (FP024, FP030, FP040), storage (FP030, FP040, FP063), operations (FP024, FP030,
/// FP040, FP074). All faults at once, with their places. `catalog` outlives the scenario.
[[nodiscard]] Result<Scenario> read(const catalog::Catalog& catalog, const JsonDocument& document,
                                    const JsonDocument& schema, ReadFor purpose = ReadFor::run);

using training::name;

}  // namespace flowplan::scenario
