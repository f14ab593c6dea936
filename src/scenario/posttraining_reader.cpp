#include "posttraining_reader.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/inference/engine_profile.hpp"
#include "flowplan/posttraining/profile.hpp"
#include "token_count.hpp"

namespace flowplan::scenario {

namespace {

using PostJson = nlohmann::ordered_json;
using inference::TokenCount;
using namespace std::string_literals;
namespace post = flowplan::posttraining;

constexpr double default_tokens = 512.0;
constexpr double default_tool_tokens = 256.0;
constexpr double default_tool_ms = 1000.0;

/// The value whose name a key gives; `otherwise` when it is left out.
template <class Value, std::size_t n>
Value by_name(const std::array<Value, n>& values, const PostJson& json, const char* key,
              Value otherwise) {
  const auto found = json.find(key);
  if (found == json.end()) return otherwise;
  for (const Value value : values)
    if (name(value) == found->get<std::string>()) return value;
  return otherwise;
}

template <class T>
void take_optional(std::optional<T>& target, const PostJson& json, const char* key) {
  if (const auto found = json.find(key); found != json.end()) target = found->get<T>();
}

class PosttrainingReader {
 public:
  PosttrainingReader(const catalog::Catalog& catalog, const JsonDocument& document,
                     PlacedFaults& faults)
      : catalog_(catalog), faults_(faults), json_(document.root()["workload"]) {}

  PosttrainingSection read() {
    method();
    take_optional(section_.steps, json_, "steps");
    take_optional(section_.samples, json_, "samples_per_step");
    section_.prompt = drawn(json_, "prompt_tokens", default_tokens, "/workload");
    section_.response = drawn(json_, "response_tokens", default_tokens, "/workload");
    section_.seed = json_.value("seed", std::uint64_t{1});
    section_.batching = by_name(std::array{post::Batching::packed, post::Batching::padded,
                                           post::Batching::padded_to_longest},
                                json_, "batching", section_.batching);
    take_optional(section_.pack_tokens, json_, "pack_tokens");
    section_.precomputed_reference = json_.value("precomputed_reference", false);
    section_.sync = by_name(
        std::array{post::SyncPath::broadcast, post::SyncPath::reshard, post::SyncPath::storage},
        json_, "sync", section_.sync);
    teacher(json_.value("teacher", PostJson::object()));
    rollout(json_.value("rollout", PostJson::object()));
    update(json_.value("update", PostJson::object()));
    pools(json_.value("pools", PostJson::object()));
    profile();
    only_with_rollouts();
    return std::move(section_);
  }

 private:
  void method() {
    const std::string wanted = json_.value("method", "sft");
    for (const post::Method one : {post::Method::sft, post::Method::dpo, post::Method::orpo,
                                   post::Method::reward_model, post::Method::distillation})
      if (post::name(one) == wanted) section_.method = one;
    for (const post::Algorithm one : {post::Algorithm::ppo, post::Algorithm::grpo,
                                      post::Algorithm::dapo, post::Algorithm::rloo})
      if (post::name(one) == wanted) section_.method = one;
    // Rewards that a program checks, by groups of answers.
    if (wanted == "rlvr") section_.method = post::Algorithm::grpo;
  }

  std::optional<model::Transformer> catalog_model(const PostJson& json, const char* key,
                                                  const char* pointer) {
    const auto found = json.find(key);
    if (found == json.end()) return std::nullopt;
    const auto model = faults_.take(catalog_.transformer(found->get<std::string>()), pointer);
    if (!model) return std::nullopt;
    return **model;
  }

  void teacher(const PostJson& json) {
    section_.teacher = catalog_model(json, "model", "/workload/teacher/model");
    take_optional(section_.teacher_tp, json, "tp");
    take_optional(section_.teacher_pp, json, "pp");
  }

  void rollout(const PostJson& json) {
    take_optional(section_.prompts, json, "prompts");
    take_optional(section_.group, json, "group");
    section_.over_sampling = json.value("over_sampling", 1.0);
    section_.stop_early = json.value("stop_early", false);
    section_.shared_prompts = json.value("shared_prompts", true);
    if (json.contains("engine")) engine(json["engine"].get<std::string>());
    if (json.contains("precision"))
      section_.weights = inference::find_weight_format(json["precision"].get<std::string>());
    if (json.contains("kv_precision")) section_.narrow_kv = json["kv_precision"] == "fp8";
    if (const auto found = json.find("parallelism"); found != json.end()) {
      inference::Layout& layout = section_.engine_layout;
      layout.tp = found->value("tp", 1);
      layout.pp = found->value("pp", 1);
      layout.attention_dp = found->value("attention_dp", 1);
      layout.ep = found->value("ep", 1);
      section_.engine_layout_stated = true;
    }
    take_optional(section_.engine_memory, json, "memory_fraction");
    take_optional(section_.max_sequences, json, "max_sequences");
    if (const auto found = json.find("tools"); found != json.end()) {
      inference::AgentLoop loop;
      loop.calls = drawn(*found, "calls", 1.0, "/workload/rollout/tools");
      loop.tool_tokens =
          drawn(*found, "tool_tokens", default_tool_tokens, "/workload/rollout/tools");
      loop.tool_ms = drawn(*found, "tool_ms", default_tool_ms, "/workload/rollout/tools");
      section_.tools = loop;
    }
    if (const auto found = json.find("verifier"); found != json.end()) {
      section_.verifier.workers = found->value("workers", 0);
      if (found->contains("latency"))
        section_.verifier.latency =
            faults_
                .take(parse_duration((*found)["latency"].get<std::string>()),
                      "/workload/rollout/verifier/latency")
                .value_or(Seconds(0.0));
    }
  }

  void engine(const std::string& wanted) {
    const auto known = inference::engine_names(catalog_);
    if (std::find(known.begin(), known.end(), wanted) == known.end())
      faults_.add(Code::unknown_name, "/workload/rollout/engine",
                  fmt::format("the catalog has no engine profile `{}`", wanted),
                  suggest(wanted, known));
    section_.engine = wanted;
  }

  void update(const PostJson& json) {
    section_.mini_batch = json.value("mini_batch", std::int64_t{0});
    section_.epochs = json.value("epochs", 1);
    take_optional(section_.log_prob_micro_batch, json, "log_prob_micro_batch");
    section_.old_log_prob = json.value("old_log_prob", true);
    take_optional(section_.reference, json, "reference");
    section_.reward_model = catalog_model(json, "reward_model", "/workload/update/reward_model");
    section_.critic = catalog_model(json, "critic", "/workload/update/critic");
  }

  void pools(const PostJson& json) {
    section_.placement =
        by_name(std::array{post::Placement::colocated, post::Placement::disaggregated,
                           post::Placement::one_step_off, post::Placement::asynchronous},
                json, "kind", section_.placement);
    section_.placement_stated = json.contains("kind");
    take_optional(section_.rollout_gpus, json, "rollout_gpus");
    section_.staleness = json.value("staleness", 1.0);
    section_.partial = json.value("partial", true);
    section_.in_order = json.value("in_order", true);
    section_.in_flight = json.value("in_flight", 0.0);
    section_.streamed = json.value("streamed", false);
    take_optional(section_.swap, json, "swap");
  }

  void profile() {
    section_.profile = json_.value("profile", "default");
    const auto known = post::profile_names(catalog_);
    if (std::find(known.begin(), known.end(), section_.profile) == known.end())
      faults_.add(Code::unknown_name, "/workload/profile",
                  fmt::format("the catalog has no post-training profile `{}`", section_.profile),
                  suggest(section_.profile, known));
  }

  /// Distributions are stated by the mean after the cut.
  TokenCount drawn(const PostJson& json, const char* key, double otherwise,
                   const std::string& pointer) {
    const TokenCount count = token_count(json, key, otherwise, pointer, faults_);
    return count.kind == TokenCount::Kind::fixed ? count : post::with_mean(count, count.mean);
  }

  /// Keys that say nothing for the method.
  void only_with_rollouts() {
    const bool rollouts = section_.has_rollouts();
    for (const char* key : {"rollout", "update", "pools", "sync"})
      if (!rollouts && json_.contains(key))
        faults_.add(Code::value_not_allowed, "/workload/"s + key,
                    fmt::format("`{}` goes with methods that make rollouts", key),
                    "ppo, grpo, dapo or rloo");
    if (rollouts && json_.contains("samples_per_step"))
      faults_.add(Code::value_not_allowed, "/workload/samples_per_step",
                  "a step of rollouts has rollout.prompts x rollout.group samples");
    const bool distils =
        !rollouts && std::get<post::Method>(section_.method) == post::Method::distillation;
    if (distils && !json_.contains("teacher"))
      faults_.add(Code::missing_key, "/workload", "distillation needs a `teacher`");
  }

  const catalog::Catalog& catalog_;
  PlacedFaults& faults_;
  const PostJson& json_;
  PosttrainingSection section_;
};

}  // namespace

PosttrainingSection read_posttraining(const catalog::Catalog& catalog, const JsonDocument& document,
                                      PlacedFaults& faults) {
  return PosttrainingReader(catalog, document, faults).read();
}

}  // namespace flowplan::scenario
