#include "flowplan/posttraining/fine_tuning.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "training_passes.hpp"

namespace flowplan::posttraining {

namespace {

/// A model that only runs forwards, on the samples of the trained one, as a leaf of the step.
Result<Breakdown> extra_pass(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                             training::Job job, const FineTuning& tuning,
                             const std::vector<Sample>& samples, std::string id,
                             std::string label) {
  job.gpus = tuning.job.gpus;
  const Rows rows = rows_of(samples, batching_rule(job, tuning.batching, tuning.pack_tokens));
  const auto pass = training::forward_pass(catalog, cluster, with_rows(std::move(job), rows));
  if (!pass) return fail(pass.error());
  return pass_leaf(std::move(id), std::move(label), *pass,
                   fmt::format("forward pass of {} rows of {} tokens", rows.rows, rows.row_tokens));
}

}  // namespace

std::string_view name(Method method) {
  constexpr std::array<std::string_view, 5> names{"sft", "dpo", "orpo", "reward_model",
                                                  "distillation"};
  return names[static_cast<std::size_t>(method)];
}

int sequences_of(Method method) {
  return method == Method::dpo || method == Method::orpo || method == Method::reward_model ? 2 : 1;
}

Result<FineTuningStep> estimate(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                                const FineTuning& tuning) {
  if (tuning.samples < 1)
    return fail(error(Code::value_out_of_range, "a step has at least one sample"));
  if (tuning.method == Method::distillation && !tuning.teacher)
    return fail(error(Code::missing_key, "distillation needs a teacher"));
  const auto samples = draw_samples(
      tuning.prompt, tuning.response,
      static_cast<std::uint32_t>(tuning.samples * sequences_of(tuning.method)), tuning.seed);
  if (!samples) return fail(samples.error());

  FineTuningStep result;
  result.samples = static_cast<double>(tuning.samples);
  double responses = 0.0;
  for (const Sample& sample : *samples) {
    result.tokens += sample.tokens();
    responses += sample.response;
  }
  result.response_share = responses / result.tokens;
  result.rows = rows_of(*samples, batching_rule(tuning.job, tuning.batching, tuning.pack_tokens));
  auto iteration = training::estimate(catalog, cluster, with_rows(tuning.job, result.rows));
  if (!iteration) return fail(iteration.error());
  result.iteration = std::move(*iteration);
  result.does_not_fit = result.iteration.does_not_fit;

  result.time.id = "step";
  result.time.label = "Step";
  if (tuning.method == Method::dpo && !tuning.precomputed_reference) {
    training::Job reference = tuning.job;
    reference.adapters.reset();
    auto pass = extra_pass(catalog, cluster, std::move(reference), tuning, *samples,
                           "step.reference", "Reference policy");
    if (!pass) return fail(pass.error());
    result.reference = pass->time();
    result.time.children.push_back(std::move(*pass));
  }
  if (tuning.method == Method::distillation) {
    auto pass =
        extra_pass(catalog, cluster, *tuning.teacher, tuning, *samples, "step.teacher", "Teacher");
    if (!pass) return fail(pass.error());
    result.teacher = pass->time();
    result.time.children.push_back(std::move(*pass));
  }
  Breakdown update = scaled(result.iteration.time, 1.0, "step.update");
  update.label = "Update";
  result.time.children.push_back(std::move(update));
  result.step = result.time.time();
  return result;
}

}  // namespace flowplan::posttraining
