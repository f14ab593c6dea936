#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/inference/load.hpp"
#include "flowplan/inference/request.hpp"

namespace flowplan::posttraining {

/// Mean of a number of tokens as it is drawn, the cut at `most` counted; wholeness is not.
[[nodiscard]] double mean_tokens(const inference::TokenCount& tokens);

/// The same kind and spread, with `mean` set so that draws cut at `most` have that mean: what
/// frameworks log is the mean after the cut. A mean at or above `most` gives `most`, fixed.
[[nodiscard]] inference::TokenCount with_mean(inference::TokenCount tokens, double mean);

/// Samples that one rollout makes: `prompts` times `group` answers.
struct RolloutLoad {
  std::uint32_t prompts = 1, group = 1;       ///< >= 1; one sample a prompt is PPO's
  inference::TokenCount prompt, response;     ///< tokens; of a turn where there are tools
  std::optional<inference::AgentLoop> tools;  ///< turns with tool calls between them
  bool shared_prompts = false;                ///< prefix cache: samples of a prompt share its KV
  std::uint64_t seed = 1;

  [[nodiscard]] std::uint32_t samples() const { return prompts * group; }
  bool operator==(const RolloutLoad&) const = default;
};

/// The requests of a rollout, all sent at 0, sample by sample: those of a prompt in a row. Errors:
/// those of `inference::generate`.
[[nodiscard]] Result<inference::Workload> rollout_requests(const RolloutLoad& load);

/// Tokens of a sample as training sees it: the prompt, then everything after it.
struct Sample {
  std::uint32_t prompt = 0, response = 0;
  [[nodiscard]] std::uint32_t tokens() const { return prompt + response; }
};
/// By task of a workload, in its order; the last request of a task has seen all of it.
[[nodiscard]] std::vector<Sample> samples_of(const inference::Workload& workload);

/// Lengths of a data set to train on, drawn by a seed. Errors: those of `inference::generate`.
[[nodiscard]] Result<std::vector<Sample>> draw_samples(const inference::TokenCount& prompt,
                                                       const inference::TokenCount& response,
                                                       std::uint32_t count, std::uint64_t seed);

}  // namespace flowplan::posttraining
