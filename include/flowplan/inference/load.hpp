#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/inference/request.hpp"

namespace flowplan::inference {

/// A number of tokens, drawn for each request: whole, and never below 1.
struct TokenCount {
  enum class Kind {
    fixed,        ///< `mean`
    uniform,      ///< between mean * (1 - spread) and mean * (1 + spread)
    below,        ///< between mean * (1 - spread) and mean: `mean` is the longest
    lognormal,    ///< of that mean and coefficient of variation `spread`
    exponential,  ///< of that mean
  };
  Kind kind = Kind::fixed;
  double mean = 1.0;
  double spread = 0.0;
  double most = 4294967295.0;  ///< longer draws are cut to that
  bool operator==(const TokenCount&) const = default;
};

/// Input and output tokens of real requests, drawn with equal chances, pairs kept together.
using TokenPairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

/// Requests per second at a time; straight between points.
struct RatePoint {
  double at_s = 0.0;
  double per_s = 0.0;
};

/// When tasks are sent. Open loops draw gaps of mean 1 (constant: all 1; Poisson: exponential;
/// Gamma of a coefficient of variation) and send where the integral of the rate reaches their sum.
struct Arrivals {
  enum class Kind { closed_loop, constant, poisson, gamma };
  Kind kind = Kind::poisson;
  std::vector<RatePoint> rate;    ///< one point: steady; several: a ramp or a day's profile
  bool repeat = false;            ///< the profile starts again after its last point
  double cv = 1.0;                ///< gamma: of the gaps; production loads have 1 to 13
  std::uint32_t concurrency = 1;  ///< closed loop: tasks in progress
  double start_spread_s = 0.0;    ///< closed loop: the first ones start evenly over that time
};

/// Turns of a conversation. Each sends all before it again, and new tokens.
struct Sessions {
  TokenCount turns{TokenCount::Kind::fixed, 1.0, 0.0};
  TokenCount new_tokens;  ///< of a turn after the first
  double think_s = 0.0;   ///< between the end of an answer and the next turn, mean
  bool exponential_think = true;
};

/// One prompt answered several times: best of N, self-consistency. The task ends with the last
/// answer and its verifier; the others wait for the first one's prompt, whose KV they share.
struct Samples {
  std::uint32_t count = 1;
  bool verify = false;    ///< a reward model on the same engine reads prompt and answer once more
  double verify_s = 0.0;  ///< a verifier elsewhere takes that long
};

/// Search over steps: of each step's `width` beams every one is continued `branch` times for
/// `step_tokens`; a verifier keeps `width` of them when all are there.
struct TreeSearch {
  std::uint32_t depth = 1, width = 1, branch = 1;
  TokenCount step_tokens;
  double verify_s = 0.0;
};

/// Tool calls: the model writes `output`, a tool runs, its answer of `tool_tokens` is appended.
struct AgentLoop {
  TokenCount calls{TokenCount::Kind::fixed, 1.0, 0.0};  ///< model turns of a task
  TokenCount tool_tokens;
  TokenCount tool_ms;  ///< milliseconds that a tool takes
  bool operator==(const AgentLoop&) const = default;
};

/// A load to generate. Seeded: the same load gives the same requests on every platform, and a task
/// keeps its lengths when arrivals change.
struct Load {
  Arrivals arrivals;
  std::uint32_t tasks = 1;  ///< sessions, searches or plain requests
  TokenCount input, output;
  TokenPairs pairs;  ///< instead of `input` and `output` when not empty
  /// Every prompt begins with so many tokens of one of so many texts (system prompts).
  std::uint32_t shared_tokens = 0, shared_texts = 1;
  std::variant<std::monostate, Sessions, Samples, TreeSearch, AgentLoop> shape;
  /// Tokens of a prefix block in the answer; 0: nothing is said to be shared.
  std::uint32_t block_tokens = 0;
  std::uint16_t adapters = 0;  ///< LoRA adapters 1 .. n, a task has one of them
  double adapter_skew = 0.0;   ///< adapter k has weight k^-skew; 0: all equal
  std::uint64_t seed = 1;
};

/// Requests that `generate` makes at most.
inline constexpr std::uint64_t most_requests = std::uint64_t{1} << 26;

/// The requests of a load. Error FP024: rates or lengths out of range, too many requests.
[[nodiscard]] Result<Workload> generate(const Load& load);

}  // namespace flowplan::inference
