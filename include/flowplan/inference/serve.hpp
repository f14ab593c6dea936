#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/inference/engine.hpp"
#include "flowplan/inference/gap_histogram.hpp"
#include "flowplan/inference/request.hpp"
#include "flowplan/inference/time_series.hpp"

namespace flowplan::inference {

/// Which replica gets a request. `least_loaded`: fewest requests in it, the first of equals.
/// `prefix_aware`: most leading prompt tokens in its cache, less `Router::load_tokens` for every
/// request in it; the least loaded of equals.
enum class Routing { round_robin, least_loaded, prefix_aware };
[[nodiscard]] std::string_view name(Routing routing);

struct Router {
  Routing routing = Routing::round_robin;
  double load_tokens = 0.0;  ///< cached tokens that outweigh one request waiting or running
  bool operator==(const Router&) const = default;
};

/// Equal instances behind a router.
struct Fleet {
  Instance instance;
  std::uint32_t replicas = 1;
  Router router;
  bool operator==(const Fleet&) const = default;
};

/// How the KV of a prompt gets from a prefill worker to a decode worker.
struct KvTransfer {
  BytesPerSecond rate{};  ///< of one worker, all its GPUs together; each sends one at a time
  Seconds handshake{};
  /// Layers are sent as they are computed: only what is later than the last layer shows.
  /// 0: the whole prompt is sent when it is computed.
  std::int64_t pushed_layers = 0;
  /// Bytes of a prompt of so many tokens: this many each, and a state.
  Bytes per_token{}, per_sequence{};
};

/// Time that a transfer adds after the prefill, which took `prefill_s`: handshake + KV / rate, or
/// with pushed layers handshake + max(KV / (layers * rate), KV / rate - prefill).
[[nodiscard]] double transfer_seconds(const KvTransfer& transfer, std::int64_t tokens,
                                      double prefill_s);

/// Prefill workers that compute prompts and their first token, decode workers that get the KV and
/// go on.
struct Disaggregated {
  Fleet prefill, decode;
  KvTransfer transfer;
  /// The client sees the first token when the decode worker has the KV; true: as it is computed.
  bool first_token_from_prefill = false;
};

enum class Outcome : std::uint8_t {
  not_sent,  ///< what it waits for did not happen before the end
  waiting,   ///< unfinished: in the queue
  running,   ///< unfinished: in the batch, or between two workers
  finished,
  refused_context,  ///< prompt and output beyond the context limit
  refused_memory,   ///< more KV than an instance has
};

/// What became of each request, column by column.
struct RequestRecords {
  std::vector<double> sent_s, first_token_s, finish_s;  ///< as the client sees it; -1: not yet
  std::vector<std::uint32_t> generated;                 ///< tokens
  std::vector<std::uint32_t> cached_tokens;             ///< of the prompt, from a prefix cache
  std::vector<std::uint16_t> preemptions;
  std::vector<std::uint16_t> replica;  ///< that finished it; decode workers after prefill workers
  std::vector<Outcome> outcome;
  [[nodiscard]] std::size_t size() const { return outcome.size(); }
};

/// Sums over the passes of one pool of instances, whole run.
struct PoolTotals {
  std::uint64_t passes = 0, prefill_passes = 0, events = 0;
  double busy_s = 0.0;          ///< instances x seconds with a pass running
  double prefill_tokens = 0.0;  ///< computed, recomputed ones too
  double decode_tokens = 0.0;   ///< given out by decode passes
  std::uint64_t preemptions = 0, swaps = 0;
  std::uint64_t tier_blocks = 0;    ///< prefix blocks read from tiers
  std::int64_t peak_kv_blocks = 0;  ///< in use in one instance
  std::int64_t kv_capacity_blocks = 0;
  std::int64_t peak_batch = 0;               ///< sequences running in one instance
  TimeSeries batch{}, kv_blocks{}, queue{};  ///< over time, summed over instances
};

struct ServeOptions {
  /// Runs of equal decode passes are one event; false: every pass is one (same answers, slower).
  bool skip = true;
  double until_s = std::numeric_limits<double>::infinity();  ///< the clock stops there
  /// Gaps between tokens are taken from passes that end in this window.
  double measure_from_s = 0.0, measure_to_s = std::numeric_limits<double>::infinity();
};

struct ServeRun {
  RequestRecords requests;
  std::vector<PoolTotals> pools;  ///< one, or prefill and decode
  GapHistogram gaps;              ///< between two tokens of a request, each counted
  double end_s = 0.0;             ///< when the last event was
  int gpus = 0;
};

/// Simulates the fleet under the load, event by event; docs/models/inference.md. One thread, no
/// state outside: equal inputs give equal bytes. Errors: those of `check(Instance)`, FP024 for no
/// replica and prefix blocks that are no whole number of KV blocks, FP024 for a load without
/// requests or with zero output tokens.
[[nodiscard]] Result<ServeRun> serve(const Fleet& fleet, const Workload& workload,
                                     const ServeOptions& options = {});
/// The same with prefill and decode on workers of their own.
[[nodiscard]] Result<ServeRun> serve(const Disaggregated& fleet, const Workload& workload,
                                     const ServeOptions& options = {});

}  // namespace flowplan::inference
