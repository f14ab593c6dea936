#include "flowplan/scenario/search.hpp"

#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/parse_quantity.hpp"
#include "search_reader.hpp"

namespace flowplan::scenario {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array objectives{Objective::time, Objective::cost, Objective::throughput,
                                Objective::smallest};
constexpr std::array recomputes{training::Recompute::none, training::Recompute::selective,
                                training::Recompute::operators, training::Recompute::full};
constexpr std::array shardings{training::Sharding::none, training::Sharding::distributed_optimizer,
                               training::Sharding::zero2, training::Sharding::fsdp,
                               training::Sharding::fsdp_no_reshard};
constexpr std::array schedules{training::Schedule::one_forward_one_backward,
                               training::Schedule::zero_bubble_1, training::Schedule::dual_pipe};
constexpr std::array context_kinds{
    training::ContextParallel::ring, training::ContextParallel::all_gather,
    training::ContextParallel::all_to_all, training::ContextParallel::hybrid};

/// Reads the section; the schema has been followed.
class SearchReader {
 public:
  SearchReader(const catalog::Catalog& catalog, PlacedFaults& faults)
      : catalog_(catalog), faults_(faults) {}

  SearchSection read(const Json& json) {
    SearchSection s;
    if (json.contains("objective")) {
      s.objective = find_objective(json["objective"].get<std::string>());
    }
    if (json.contains("instances")) s.instances = instances(json["instances"]);
    list(json, "counts", s.counts);
    if (json.contains("min_gpus")) s.min_gpus = json["min_gpus"].get<int>();
    if (json.contains("max_gpus")) s.max_gpus = json["max_gpus"].get<int>();
    if (json.contains("budget_usd")) s.budget = budget(json["budget_usd"]);
    if (json.contains("deadline")) s.deadline = deadline(json["deadline"].get<std::string>());
    if (json.contains("memory_headroom")) {
      s.memory_headroom = json["memory_headroom"].get<double>();
    }
    s.only_purchasable = json.value("only_purchasable", false);
    if (json.contains("top")) s.top = json["top"].get<int>();
    if (json.contains("per_cluster")) s.per_cluster = json["per_cluster"].get<int>();
    if (json.contains("space")) s.space = space(json["space"]);
    if (s.min_gpus && s.max_gpus && *s.min_gpus > *s.max_gpus) {
      faults_.add(
          Code::value_out_of_range, "/search/min_gpus",
          fmt::format("nothing has at least {} and at most {} GPUs", *s.min_gpus, *s.max_gpus));
    }
    return s;
  }

 private:
  std::vector<const catalog::Instance*> instances(const Json& json) {
    std::vector<const catalog::Instance*> found;
    for (std::size_t i = 0; i < json.size(); ++i) {
      const auto one = faults_.take(catalog_.instance(json[i].get<std::string>()),
                                    child_pointer("/search/instances", i));
      if (one) found.push_back(*one);
    }
    return found;
  }

  std::optional<Usd> budget(const Json& json) {
    if (json.is_number()) return Usd(json.get<double>());
    const auto amount = faults_.take(parse_count(json.get<std::string>()), "/search/budget_usd");
    return amount ? std::optional<Usd>(Usd(*amount)) : std::nullopt;
  }

  std::optional<Seconds> deadline(const std::string& text) {
    const auto time = faults_.take(parse_duration(text), "/search/deadline");
    if (time && time->value() <= 0.0) {
      faults_.add(Code::value_out_of_range, "/search/deadline",
                  "a deadline is longer than nothing");
    }
    return time;
  }

  template <class T>
  static void list(const Json& json, const char* key, std::vector<T>& values) {
    if (const auto found = json.find(key); found != json.end()) {
      values = found->get<std::vector<T>>();
    }
  }

  /// Named values; the schema lists the names.
  template <class T, std::size_t n>
  static void names(const Json& json, const char* key, const std::array<T, n>& all,
                    std::vector<T>& values) {
    const auto found = json.find(key);
    if (found == json.end()) return;
    for (const Json& one : *found) {
      for (const T value : all) {
        if (training::name(value) == one.get<std::string>()) values.push_back(value);
      }
    }
  }

  static LayoutSpace space(const Json& json) {
    LayoutSpace s;
    list(json, "tp", s.tp);
    list(json, "pp", s.pp);
    list(json, "vp", s.vp);
    list(json, "cp", s.cp);
    list(json, "dp", s.dp);
    list(json, "ep", s.ep);
    list(json, "etp", s.etp);
    list(json, "micro_batch", s.micro_batch);
    list(json, "global_batch", s.global_batch);
    list(json, "sequence_parallel", s.sequence_parallel);
    if (const auto found = json.find("precision"); found != json.end()) {
      for (const Json& one : *found)
        s.precision.push_back(*model::find_precision(one.get<std::string>()));
    }
    names(json, "recompute", recomputes, s.recompute);
    names(json, "sharding", shardings, s.sharding);
    names(json, "schedule", schedules, s.schedule);
    names(json, "context_parallel", context_kinds, s.context_parallel);
    return s;
  }

  const catalog::Catalog& catalog_;
  PlacedFaults& faults_;
};

}  // namespace

std::string_view name(Objective objective) {
  switch (objective) {
    case Objective::time:
      return "time";
    case Objective::cost:
      return "cost";
    case Objective::throughput:
      return "throughput";
    case Objective::smallest:
      break;
  }
  return "smallest";
}

std::optional<Objective> find_objective(std::string_view text) {
  for (const Objective one : objectives) {
    if (name(one) == text) return one;
  }
  return std::nullopt;
}

SearchSection read_search(const catalog::Catalog& catalog, const JsonDocument& document,
                          PlacedFaults& faults) {
  return SearchReader(catalog, faults).read(document.root().at("search"));
}

}  // namespace flowplan::scenario
