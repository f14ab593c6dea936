#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/inference/layout.hpp"
#include "flowplan/inference/load.hpp"
#include "flowplan/inference/memory.hpp"
#include "flowplan/inference/metrics.hpp"
#include "flowplan/inference/number_formats.hpp"
#include "flowplan/inference/serve.hpp"
#include "flowplan/inference/trace.hpp"
#include "flowplan/model/checkpoint_index.hpp"
#include "flowplan/model/transformer.hpp"
#include "flowplan/storage/answer.hpp"

namespace flowplan::scenario {

/// Workers of a disaggregated deployment.
struct ServingWorkers {
  int workers = 1;
  inference::Layout layout;
};

/// `workload` of kind "serving", as stated; what is not has no value yet.
struct ServingSection {
  model::Transformer model;
  std::optional<model::CheckpointCheck> checkpoint;
  std::optional<std::string> engine;
  std::optional<inference::WeightFormat> weights;
  std::optional<bool> narrow_kv;
  inference::Layout layout;
  bool layout_stated = false;  ///< any of its degrees
  std::optional<int> replicas;
  std::optional<ServingWorkers> prefill, decode;  ///< both, instead of `layout`
  bool layer_wise = true;
  std::optional<std::int64_t> context, max_sequences, token_budget;
  std::optional<bool> prefix_caching;
  std::optional<inference::Routing> routing;
  int draft_tokens = 0;
  double acceptance = 0.0;
  inference::Load load;  ///< without its rate and number of tasks, which follow
  std::optional<inference::Arrivals::Kind> arrivals;
  std::optional<double> rate_per_s;
  std::optional<std::uint32_t> requests;
  std::optional<std::string> trace;  ///< path, as it opens
  double trace_speed = 1.0;
  std::optional<inference::Slo> slo;

  [[nodiscard]] bool disaggregated() const { return prefill.has_value(); }
};

/// Latencies and rates at one request rate.
struct LoadPoint {
  double rate_per_s = 0.0;
  inference::Summary summary;
};

/// From nothing to an engine that answers: weights read, engine started.
struct ServingStart {
  std::string mount;
  int nodes = 1;         ///< of the deployment
  int nodes_of_one = 1;  ///< the fewest that hold an instance
  Seconds engine{};      ///< of the time, its start
  storage::Answer all, one_more;
};

/// The answer for a serving workload.
struct ServingAnswer {
  model::Transformer model;
  std::string engine;
  inference::NumberFormats formats;
  inference::Layout layout;               ///< of an instance, or of a decode worker
  std::optional<ServingWorkers> prefill;  ///< of a disaggregated deployment
  int replicas = 1;                       ///< or decode workers
  int gpus = 0;                           ///< that work
  inference::ServingMemory memory;        ///< of `layout`
  std::string does_not_fit;               ///< empty when it fits and can keep its limits
  std::string binding;                    ///< "memory" or "slo" when it does not

  inference::Load load;  ///< as simulated; lengths unused with a trace
  std::string trace;
  std::uint64_t requests = 0;
  std::optional<inference::Slo> slo;
  Seconds ttft_floor{}, tpot_floor{};  ///< of a mean request alone on an idle fleet

  inference::Summary summary;
  std::vector<inference::PoolSummary> pools;  ///< one, or prefill and decode
  std::optional<double> saturation_per_s;     ///< open loops of one pool only
  std::vector<LoadPoint> curve;               ///< load against latency, rising
  std::optional<Usd> per_million_output_tokens;
  std::optional<ServingStart> start;  ///< where the scenario says what the weights are read from
};

}  // namespace flowplan::scenario
