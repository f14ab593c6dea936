#include "flowplan/posttraining/samples.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace flowplan::posttraining {

namespace {

using inference::TokenCount;

constexpr std::uint32_t prefix_block_tokens = 16;

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

/// Mean of the smaller of a lognormal variable and `most`.
double cut_lognormal(double mean, double spread, double most) {
  const double variance = std::log1p(spread * spread), sigma = std::sqrt(variance);
  const double mu = std::log(mean) - variance / 2.0, at = std::log(most);
  return mean * normal_cdf((at - mu - variance) / sigma) +
         most * (1.0 - normal_cdf((at - mu) / sigma));
}

/// Mean of the smaller of a variable uniform in [low, high] and `most`.
double cut_uniform(double low, double high, double most) {
  if (most >= high || high <= low) return std::min((low + high) / 2.0, most);
  if (most <= low) return most;
  return ((most * most - low * low) / 2.0 + most * (high - most)) / (high - low);
}

}  // namespace

double mean_tokens(const TokenCount& tokens) {
  const double mean = tokens.mean, most = tokens.most;
  switch (tokens.kind) {
    case TokenCount::Kind::fixed:
      break;
    case TokenCount::Kind::uniform:
      return cut_uniform(mean * (1.0 - tokens.spread), mean * (1.0 + tokens.spread), most);
    case TokenCount::Kind::below:
      return cut_uniform(mean * (1.0 - tokens.spread), mean, most);
    case TokenCount::Kind::lognormal:
      return tokens.spread > 0.0 ? cut_lognormal(mean, tokens.spread, most) : std::min(mean, most);
    case TokenCount::Kind::exponential:
      return mean * -std::expm1(-most / mean);
  }
  return std::min(mean, most);
}

TokenCount with_mean(TokenCount tokens, double mean) {
  if (mean >= tokens.most) return {TokenCount::Kind::fixed, tokens.most, 0.0, tokens.most};
  double low = mean, high = mean;
  tokens.mean = high;
  while (mean_tokens(tokens) < mean && high < 1e6 * mean)
    tokens.mean = high *= 2.0;
  constexpr int halvings = 60;
  for (int i = 0; i < halvings; ++i) {
    tokens.mean = (low + high) / 2.0;
    (mean_tokens(tokens) < mean ? low : high) = tokens.mean;
  }
  return tokens;
}

Result<inference::Workload> rollout_requests(const RolloutLoad& load) {
  inference::Load requests;
  requests.arrivals.kind = inference::Arrivals::Kind::closed_loop;
  requests.tasks = load.samples();
  requests.arrivals.concurrency = requests.tasks;
  requests.input = load.prompt;
  requests.output = load.response;
  requests.seed = load.seed;
  if (load.tools) requests.shape = *load.tools;
  const bool shared = load.shared_prompts && load.group > 1;
  if (shared || load.tools) requests.block_tokens = prefix_block_tokens;
  if (shared) {
    requests.shared_texts = load.prompts;
    requests.shared_tokens =
        prefix_block_tokens *
        static_cast<std::uint32_t>(std::max(1.0, mean_tokens(load.prompt)) / prefix_block_tokens);
  }
  return inference::generate(requests);
}

std::vector<Sample> samples_of(const inference::Workload& workload) {
  std::vector<Sample> samples(workload.tasks());
  std::vector<bool> seen(samples.size(), false);
  for (std::size_t i = 0; i < workload.requests.size(); ++i) {
    const inference::Request& request = workload.requests[i];
    const std::size_t task = workload.task.empty() ? i : workload.task[i];
    Sample& sample = samples[task];
    if (!seen[task]) sample.prompt = request.input_tokens;
    seen[task] = true;
    sample.response = request.input_tokens + request.output_tokens - sample.prompt;
  }
  return samples;
}

Result<std::vector<Sample>> draw_samples(const TokenCount& prompt, const TokenCount& response,
                                         std::uint32_t count, std::uint64_t seed) {
  RolloutLoad load;
  load.prompts = count;
  load.prompt = prompt;
  load.response = response;
  load.seed = seed;
  const auto requests = rollout_requests(load);
  if (!requests) return fail(requests.error());
  return samples_of(*requests);
}

}  // namespace flowplan::posttraining
