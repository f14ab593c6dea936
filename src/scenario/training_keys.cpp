#include "training_keys.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

namespace flowplan::scenario {

namespace {

using TrainingJson = nlohmann::ordered_json;

template <class T>
void take_key(std::optional<T>& target, const TrainingJson& json, const char* key) {
  if (const auto found = json.find(key); found != json.end()) target = found->get<T>();
}

template <class T>
void take_key(T& target, const TrainingJson& json, const char* key) {
  target = json.value(key, target);
}

/// The value whose name a key gives; nothing when the key is left out.
template <class Values>
std::optional<typename Values::value_type> named(const Values& values, const TrainingJson& json,
                                                 const char* key) {
  const auto found = json.find(key);
  if (found == json.end()) return std::nullopt;
  for (const auto value : values) {
    if (training::name(value) == found->get<std::string>()) return value;
  }
  return std::nullopt;
}

training::RecomputeModules modules(const TrainingJson& list) {
  training::RecomputeModules result;
  const auto listed = [&](const char* name) {
    for (const TrainingJson& one : list) {
      if (one == name) return true;
    }
    return false;
  };
  result.core_attention = listed("core_attention");
  result.mlp = listed("mlp");
  result.experts = listed("experts");
  result.expert_activation = listed("expert_activation");
  result.norms = listed("norms");
  result.latent_up = listed("latent_up");
  return result;
}

training::ExpertRouting routing(const TrainingJson& json) {
  training::ExpertRouting result;
  take_key(result.imbalance, json, "imbalance");
  take_key(result.capacity, json, "capacity");
  take_key(result.nodes_per_token, json, "nodes_per_token");
  take_key(result.overlapped, json, "overlapped");
  take_key(result.deduplicated, json, "deduplicated");
  take_key(result.captured, json, "cuda_graphs");
  if (const auto found = json.find("backend"); found != json.end()) {
    result.backend = collective::find_expert_backend(found->get<std::string>());
  }
  return result;
}

/// ZeRO's stages are names for what frameworks call otherwise.
std::optional<training::Sharding> sharding(const TrainingJson& workload) {
  using training::Sharding;
  const auto found = workload.find("sharding");
  if (found == workload.end()) return std::nullopt;
  if (*found == "zero1") return Sharding::distributed_optimizer;
  if (*found == "zero3" || *found == "hsdp") return Sharding::fsdp;
  return named(std::array{Sharding::none, Sharding::distributed_optimizer, Sharding::zero2,
                          Sharding::fsdp, Sharding::fsdp_no_reshard},
               workload, "sharding");
}

/// By the names of NeMo (fused matrices), of Hugging Face PEFT, and of groups.
training::AdapterTargets targets(const TrainingJson& list) {
  training::AdapterTargets result{false, false};
  const auto listed = [&](std::initializer_list<const char*> names) {
    return std::any_of(list.begin(), list.end(), [&](const TrainingJson& one) {
      return std::any_of(names.begin(), names.end(), [&](const char* name) { return one == name; });
    });
  };
  result.fused_qkv = listed({"linear_qkv", "attention", "all-linear"});
  result.output = listed({"linear_proj", "o_proj", "attention", "all-linear"});
  result.query = listed({"q_proj"});
  result.key = listed({"k_proj"});
  result.value = listed({"v_proj"});
  result.fused_up = listed({"linear_fc1", "mlp", "all-linear"});
  result.gate = listed({"gate_proj"});
  result.up = listed({"up_proj"});
  result.down = listed({"linear_fc2", "down_proj", "mlp", "all-linear"});
  return result;
}

/// Bytes of an element in a format that states are kept in.
std::optional<double> state_bytes(const TrainingJson& states, const char* key) {
  const auto found = states.find(key);
  if (found == states.end()) return std::nullopt;
  if (*found == "none") return 0.0;
  if (*found == "fp32") return 4.0;
  return *found == "fp8" ? 1.0 : 2.0;
}

training::States states(const TrainingJson& json) {
  training::States result;
  result.gradient_bytes = state_bytes(json, "gradients");
  result.master_bytes = state_bytes(json, "master");
  constexpr double both = 2.0;
  if (const auto moment = state_bytes(json, "moments")) result.moments_bytes = both * *moment;
  result.narrow_weights = json.value("weights", "bf16") == "fp8";
  return result;
}

}  // namespace

void read_training_keys(const TrainingJson& workload, PretrainingSection& section) {
  using training::ContextParallel;
  using training::Recompute;
  using training::Schedule;
  section.recompute = named(
      std::array{Recompute::none, Recompute::selective, Recompute::operators, Recompute::full},
      workload, "recompute");
  section.sharding = sharding(workload);
  section.shard_in_domain =
      workload.value("sharding", "") == "hsdp" && !workload.contains("shard_group");
  if (const auto found = workload.find("states"); found != workload.end())
    section.states = states(*found);
  if (const auto found = workload.find("wide_layers"); found != workload.end()) {
    take_key(section.wide_layers.first, *found, "first");
    take_key(section.wide_layers.last, *found, "last");
  }
  if (const auto list = workload.find("recompute_modules"); list != workload.end()) {
    section.modules = modules(*list);
  }
  take_key(section.shard_group, workload, "shard_group");
  take_key(section.offload_layers, workload, "offload_layers");
  if (const auto lora = workload.find("lora"); lora != workload.end()) {
    training::Adapters adapters;
    take_key(adapters.rank, *lora, "rank");
    if (const auto list = lora->find("targets"); list != lora->end())
      adapters.targets = targets(*list);
    constexpr double bits_per_byte = 8.0;
    adapters.frozen_bytes =
        lora->value("frozen_bits", adapters.frozen_bytes * bits_per_byte) / bits_per_byte;
    section.adapters = adapters;
  }
  if (const auto found = workload.find("routing"); found != workload.end()) {
    section.routing = routing(*found);
  }
  const auto layout = workload.find("parallelism");
  if (layout == workload.end()) return;
  take_key(section.ep, *layout, "ep");
  take_key(section.etp, *layout, "etp");
  take_key(section.uneven_stages, *layout, "uneven_stages");
  take_key(section.async_tp, *layout, "async_tp");
  section.schedule = named(
      std::array{Schedule::one_forward_one_backward, Schedule::zero_bubble_1, Schedule::dual_pipe},
      *layout, "schedule");
  section.context_parallel = named(std::array{ContextParallel::ring, ContextParallel::all_gather,
                                              ContextParallel::all_to_all, ContextParallel::hybrid},
                                   *layout, "context_parallel");
}

}  // namespace flowplan::scenario
