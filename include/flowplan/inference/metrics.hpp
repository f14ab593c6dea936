#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/inference/load.hpp"
#include "flowplan/inference/serve.hpp"

namespace flowplan::inference {

/// Which requests count: those sent in [from, to). Rates are of what happens in that window.
struct Window {
  double from_s = 0.0, to_s = std::numeric_limits<double>::infinity();
};

/// Limits that a good request keeps, all of them; infinite: no limit.
struct Slo {
  double ttft_s = std::numeric_limits<double>::infinity();
  double tpot_s = std::numeric_limits<double>::infinity();
  double e2e_s = std::numeric_limits<double>::infinity();
  double share = 0.99;  ///< of the requests that must be good, for `meets`
};

/// A distribution over `count` requests or gaps; all 0 when there are none.
struct Spread {
  double mean = 0.0, p50 = 0.0, p90 = 0.0, p99 = 0.0, most = 0.0;
  std::uint64_t count = 0;
};

/// How a client saw the requests of a window.
///
/// Latencies count requests that were admitted, finished or not: one without a first token (or
/// end) when the clock stopped counts as at least the time that it had waited till then, so that an
/// overloaded system does not look good. TPOT is of finished requests with two tokens or more.
struct Summary {
  Window window;  ///< as used: `to_s` cut at the end of the run
  std::uint64_t sent = 0, finished = 0, unfinished = 0;
  std::uint64_t refused_context = 0, refused_memory = 0;
  std::uint64_t without_first_token = 0;  ///< of the unfinished

  Spread ttft_s;  ///< sent to first token seen
  Spread tpot_s;  ///< (E2E - TTFT) / (output tokens - 1)
  Spread itl_s;   ///< between two tokens of a request, over tokens (of the run's measured window)
  Spread e2e_s;   ///< sent to last token
  Spread task_s;  ///< first request of a task sent to its last token; tasks of several requests

  double requests_per_s = 0.0;       ///< finished in the window
  double output_tokens_per_s = 0.0;  ///< given out in the window, evenly between first and last
  double total_tokens_per_s = 0.0;   ///< prompts of requests finished in it, and output
  double output_tokens_per_s_per_gpu = 0.0;
  double output_tokens_per_s_per_user = 0.0;  ///< 1 / mean TPOT
  double good_requests_per_s = 0.0;           ///< finished within all limits
  double good_share = 0.0;                    ///< of the requests sent, refused ones are not good
  bool meets = false;                         ///< good_share >= Slo::share

  double cached_share = 0.0;        ///< of the prompt tokens, from a prefix cache
  double mean_in_system = 0.0;      ///< requests between client and last token, over the window
  double queue_growth_per_s = 0.0;  ///< requests in the system: end less begin, over the window
  std::uint64_t preemptions = 0;    ///< of these requests
};

/// What pools did, over the whole run.
struct PoolSummary {
  double mean_batch = 0.0;     ///< sequences of an instance, while it runs
  double mean_kv_share = 0.0;  ///< of its KV blocks in use, while it runs
  double peak_kv_share = 0.0;
  double busy_share = 0.0;  ///< of the time till the end
  double mean_pass_s = 0.0;
};

/// Sums a run up. `stream_interval` n: the client sees tokens n at a time, so the first with the
/// n-th: TTFT = first + (n - 1) TPOT, where there are that many.
[[nodiscard]] Summary summarize(const ServeRun& run, const Workload& workload,
                                const Window& window = {}, const Slo& slo = {},
                                std::int64_t stream_interval = 1);
/// Of the pool with that number; `replicas` that it had.
[[nodiscard]] PoolSummary summarize_pool(const ServeRun& run, std::size_t pool,
                                         std::uint32_t replicas);

/// The window that leaves out so many requests at the beginning and at the end, by the times at
/// which they were sent.
[[nodiscard]] Window steady_window(const ServeRun& run, std::uint64_t skip_first,
                                   std::uint64_t skip_last);

/// One point of a capacity curve.
struct CapacityPoint {
  double offered_per_s = 0.0;
  Summary summary;
};

/// Requests per second that a fleet serves with its queue never empty: all tasks of `load` are
/// there at the start, counted from the first tenth finished to the last tenth. Errors as `serve`
/// and `generate`.
[[nodiscard]] Result<double> saturation_rate(const Fleet& fleet, Load load);

/// The highest steady rate at which the load keeps its SLO, by bisection up to the saturation rate
/// to within `tolerance` of it; 0 when it does not even at a hundredth of that. Its window leaves
/// out the first and the last tenth of the requests. Errors as `serve` and `generate`.
[[nodiscard]] Result<CapacityPoint> highest_rate(const Fleet& fleet, Load load, const Slo& slo,
                                                 double tolerance = 0.01);

}  // namespace flowplan::inference
