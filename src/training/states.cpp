#include "states.hpp"

namespace flowplan::training {
namespace {

double moved(const model::StateFormat& format) {
  return format.gradient + format.weight + 2.0 * (format.master + format.moments);
}

}  // namespace

model::StateFormat saved_states(const Job& job) {
  model::StateFormat format =
      job.precision == model::Precision::fp16 ? model::fp16_states() : model::bf16_states();
  const States& states = job.states;
  if (states.narrow_weights) format.weight = model::fp8_states(states.transposed_copy).weight;
  if (states.master_bytes) format.master = *states.master_bytes;
  if (states.moments_bytes) format.moments = *states.moments_bytes;
  return format;
}

model::StateFormat state_format(const Framework& framework, const Job& job) {
  model::StateFormat format = saved_states(job);
  if (job.precision != model::Precision::fp16) format.gradient = framework.gradient_bytes;
  if (job.states.gradient_bytes) format.gradient = *job.states.gradient_bytes;
  return format;
}

double gradient_bytes(const Framework& framework, const Job& job) {
  return job.states.gradient_bytes.value_or(framework.gradient_bytes);
}

double gather_bytes(const Framework& framework, const Job& job) {
  constexpr double one_copy = 1.0;
  return job.states.narrow_weights ? one_copy : framework.gather_bytes(job.precision);
}

double optimizer_traffic(const Framework& framework, const Job& job) {
  Job usual = job;
  usual.states = {};
  return framework.optimizer_bytes * moved(state_format(framework, job)) /
         moved(state_format(framework, usual));
}

}  // namespace flowplan::training
