#include "flowplan/scenario/scenario.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_schema.hpp"
#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/estimate/metric.hpp"
#include "flowplan/scenario/schema.hpp"
#include "model_reader.hpp"
#include "operations_reader.hpp"
#include "placed_faults.hpp"
#include "posttraining_reader.hpp"
#include "prune.hpp"
#include "search_reader.hpp"
#include "serving_reader.hpp"
#include "storage_reader.hpp"
#include "training_keys.hpp"

namespace flowplan::scenario {

namespace {

using Json = nlohmann::ordered_json;

/// Reads one document and gathers its faults.
class Reader {
 public:
  Reader(const catalog::Catalog& catalog, const JsonDocument& document)
      : catalog_(catalog), document_(document), faults_(document) {}

  /// Reads a document that follows the schema.
  Result<Scenario> scenario(ReadFor purpose) {
    const Json& root = document_.root();
    Scenario result{root.value("name", ""),
                    root.value("about", ""),
                    cluster(root.at("cluster")),
                    {},
                    {},
                    {},
                    {},
                    {},
                    {},
                    {},
                    document_};
    if (purpose == ReadFor::run) machines_missing(result.cluster);
    if (is_of("serving")) {
      result.serving = read_serving(catalog_, document_, faults_);
      only_of_pretraining({"storage/dataset", "storage/checkpoint", "operations"});
    } else {
      refuse_weights(root);
      result.workload = pretraining(root.at("workload"));
    }
    if (is_of("posttraining")) {
      result.posttraining = read_posttraining(catalog_, document_, faults_);
      // Weights may go through its storage; nothing else of it is used.
      if (result.posttraining->sync != posttraining::SyncPath::storage)
        only_of_pretraining({"storage"});
    }
    if (const auto checks = root.find("checks"); checks != root.end()) {
      for (std::size_t i = 0; i < checks->size(); ++i) {
        result.checks.push_back(check((*checks)[i], child_pointer("/checks", i)));
      }
    }
    if (root.contains("search")) result.search = read_search(catalog_, document_, faults_);
    if (root.contains("storage")) result.storage = read_storage(catalog_, document_, faults_);
    if (root.contains("operations")) {
      result.operations = read_operations(catalog_, document_, faults_);
    }
    if (!faults_.all.empty()) return fail(std::move(faults_.all));
    return result;
  }

  /// The faults of what a document has; what it lacks is another's business.
  Diagnostics faults() {
    const Json& root = document_.root();
    if (root.contains("cluster")) cluster(root["cluster"]);
    if (root.contains("workload") && is_of("serving"))
      (void)read_serving(catalog_, document_, faults_);
    else if (root.contains("workload"))
      pretraining(root["workload"]);
    if (is_of("posttraining")) (void)read_posttraining(catalog_, document_, faults_);
    if (const auto checks = root.find("checks"); checks != root.end()) {
      for (std::size_t i = 0; i < checks->size(); ++i) {
        if (!(*checks)[i].is_null()) check((*checks)[i], child_pointer("/checks", i));
      }
    }
    if (root.contains("storage")) (void)read_storage(catalog_, document_, faults_);
    if (root.contains("operations")) (void)read_operations(catalog_, document_, faults_);
    return std::move(faults_.all);
  }

 private:
  [[nodiscard]] bool is_of(std::string_view kind) const {
    const Json& root = document_.root();
    return root.contains("workload") && root["workload"].value("kind", "") == kind;
  }

  /// What this release does for training only.
  void only_of_pretraining(std::initializer_list<const char*> sections) {
    for (const char* section : sections) {
      const std::string pointer = std::string("/") + section;
      if (!document_.root().contains(Json::json_pointer(pointer))) continue;
      faults_.add(Code::unsupported_feature, pointer,
                  fmt::format("`{}` is of pretraining only so far", section));
    }
  }

  void refuse_weights(const Json& root) {
    if (!root.contains(Json::json_pointer("/storage/weights"))) return;
    faults_.add(Code::unsupported_feature, "/storage/weights",
                "`storage.weights` is what a serving engine reads when it starts",
                "a run that trains restores from storage.checkpoint");
  }

  ClusterSection cluster(const Json& json) {
    ClusterSection section;
    if (const auto name = json.find("instance"); name != json.end()) {
      const auto instance =
          faults_.take(catalog_.instance(name->get<std::string>()), "/cluster/instance");
      if (instance) section.instance = *instance;
    }
    const auto count = json.find("count");
    const auto nodes = json.find("nodes");
    if (count != json.end() && nodes != json.end() && *count != *nodes) {
      faults_.add(Code::bad_cluster, "/cluster/nodes",
                  fmt::format("`count` is {} but `nodes` is {}", count->dump(), nodes->dump()),
                  "they mean the same: give one of them");
    } else if (count != json.end() || nodes != json.end()) {
      section.count = (count != json.end() ? *count : *nodes).get<int>();
    }
    if (json.contains("region")) section.region = json["region"].get<std::string>();
    if (json.contains("purchase")) section.purchase = purchase(json["purchase"].get<std::string>());
    if (json.contains("fabric")) section.fabric = fabric(json["fabric"]);
    return section;
  }

  void machines_missing(const ClusterSection& section) {
    const Json& json = document_.root()["cluster"];
    if (!json.contains("instance")) {
      faults_.add(Code::missing_key, "/cluster", "the cluster needs an `instance`",
                  document_.root().contains("search") ? "`flowplan plan` searches for it" : "");
    }
    if (section.count > 0 || json.contains("count")) return;  // they disagree
    faults_.add(Code::missing_key, "/cluster", "the cluster needs a `count`",
                "the number of instances, UltraServers or nodes");
  }

  std::string purchase(const std::string& name) {
    std::set<std::string> known;
    for (const catalog::Instance& instance : catalog_.instances()) {
      for (const catalog::Price& price : catalog_.prices(instance.id))
        known.insert(price.purchase);
    }
    if (known.count(name) == 0) {
      const std::vector<std::string> names(known.begin(), known.end());
      faults_.add(Code::unknown_name, "/cluster/purchase",
                  fmt::format("no price is known for a purchase model `{}`", name),
                  suggest(name, names));
    }
    return name;
  }

  static topology::Fabric fabric(const Json& json) {
    topology::Fabric fabric;
    fabric.nodes_per_leaf = json.value("nodes_per_leaf", fabric.nodes_per_leaf);
    fabric.leaves_per_pod = json.value("leaves_per_pod", fabric.leaves_per_pod);
    fabric.leaf_oversubscription =
        json.value("leaf_oversubscription", fabric.leaf_oversubscription);
    fabric.core_oversubscription =
        json.value("core_oversubscription", fabric.core_oversubscription);
    fabric.rail_optimised = json.value("rail_optimised", fabric.rail_optimised);
    if (json.value("routing", "spray") == "ecmp") fabric.routing = topology::Routing::ecmp;
    return fabric;
  }

  PretrainingSection pretraining(const Json& json) {
    PretrainingSection section;
    if (json.contains("model"))
      section.model = read_model(catalog_, document_, faults_, section.checkpoint);
    if (json.contains("tokens")) section.tokens = tokens(json["tokens"]);
    set(section.seq_len, json, "seq_len");
    set(section.global_batch, json, "global_batch");
    set(section.micro_batch, json, "micro_batch");
    if (json.contains("precision")) {
      section.precision = model::find_precision(json["precision"].get<std::string>());
    }
    read_training_keys(json, section);
    if (json.contains("framework")) {
      section.framework = framework(json["framework"].get<std::string>());
    }
    if (const auto layout = json.find("parallelism"); layout != json.end()) {
      set(section.tp, *layout, "tp");
      set(section.pp, *layout, "pp");
      set(section.vp, *layout, "vp");
      set(section.cp, *layout, "cp");
      set(section.dp, *layout, "dp");
      set(section.sequence_parallel, *layout, "sequence_parallel");
    }
    if (const auto where = json.find("placement"); where != json.end()) {
      set(section.gpus, *where, "gpus");
      section.placement.gpus_per_domain = where->value("gpus_per_domain", 0u);
      section.placement.seed = where->value("seed", std::uint64_t{0});
      if (where->value("kind", "contiguous") == "scattered") {
        section.placement.kind = topology::PlacementKind::scattered;
      }
    }
    return section;
  }

  template <class T>
  static void set(std::optional<T>& target, const Json& json, const char* key) {
    if (const auto found = json.find(key); found != json.end()) target = found->get<T>();
  }

  std::optional<double> tokens(const Json& json) {
    if (json.is_number()) return json.get<double>();
    return faults_.take(parse_count(json.get<std::string>()), "/workload/tokens");
  }

  std::string framework(const std::string& name) {
    std::vector<std::string> known;
    for (const std::string& set : catalog_.constants_ids("framework"))
      known.push_back(framework_name(set));
    if (std::find(known.begin(), known.end(), framework_name(name)) == known.end()) {
      faults_.add(Code::unknown_name, "/workload/framework",
                  fmt::format("the catalog has no framework profile `{}`", name),
                  suggest(name, known));
    }
    return framework_name(name);
  }

  /// "megatron-core" for the constants set "framework-megatron-core".
  static std::string framework_name(const std::string& id) {
    constexpr std::string_view prefix = "framework-";
    return id.rfind(prefix, 0) == 0 ? id.substr(prefix.size()) : id;
  }

  Check check(const Json& json, const std::string& pointer) {
    Check check;
    check.place = document_.place(pointer);
    check.metric = json.value("metric", "");
    set(check.min, json, "min");
    set(check.max, json, "max");
    set(check.min_ratio, json, "min_ratio");
    set(check.max_ratio, json, "max_ratio");
    if (json.value("relative_to", "base") == "ceiling") check.reference = Check::Reference::ceiling;
    if (json.contains("relative_to") && !check.min_ratio && !check.max_ratio)
      faults_.add(Code::bad_check, child_pointer(pointer, "relative_to"),
                  "`relative_to` goes with `min_ratio` or `max_ratio`");
    check.expect_infeasible = json.contains("expect");
    check.binding = json.value("binding", "");
    check.message = json.value("message", "");
    if (json.value("level", "error") == "warn") check.level = Check::Level::warn;
    validate_check(check, pointer);
    return check;
  }

  void validate_check(const Check& check, const std::string& pointer) {
    const bool by_ratio = check.min_ratio || check.max_ratio;
    const bool bounded = check.min || check.max || by_ratio;
    if (by_ratio && (check.min || check.max)) {
      faults_.add(Code::bad_check, pointer, "a check is in the metric's unit or a ratio, not both",
                  "make it two checks");
    }
    if (check.expect_infeasible) {
      if (!check.metric.empty() || bounded) {
        faults_.add(Code::bad_check, pointer, "`expect` stands alone, without `metric` and bounds",
                    "make it two checks");
      }
      return;
    }
    if (!check.binding.empty()) {
      faults_.add(Code::bad_check, child_pointer(pointer, "binding"),
                  "`binding` goes with `expect`");
    }
    if (check.metric.empty() || !bounded) {
      faults_.add(Code::bad_check, pointer,
                  "a check needs `metric` with `min`, `max` or a ratio, or `expect`",
                  R"(for example {"metric": "training.mfu", "min": 0.4})");
      return;
    }
    for (const auto& [least, most] :
         {std::pair(check.min, check.max), std::pair(check.min_ratio, check.max_ratio)}) {
      if (!least || !most || *least <= *most) continue;
      faults_.add(Code::bad_check, pointer,
                  fmt::format("nothing is at least {} and at most {}", *least, *most));
    }
    if (!find_metric(check.metric)) {
      std::vector<std::string> known;
      for (const MetricInfo& metric : metric_registry())
        known.emplace_back(metric.id);
      faults_.add(Code::unknown_metric, child_pointer(pointer, "metric"),
                  fmt::format("there is no metric `{}`", check.metric),
                  suggest(check.metric, known));
    }
  }

  const catalog::Catalog& catalog_;
  const JsonDocument& document_;
  PlacedFaults faults_;
};

}  // namespace

bool Scenario::expects_infeasible() const {
  return std::any_of(checks.begin(), checks.end(),
                     [](const Check& check) { return check.expect_infeasible; });
}

Result<Scenario> read(const catalog::Catalog& catalog, const JsonDocument& document,
                      const JsonDocument& schema, ReadFor purpose) {
  if (Diagnostics faults = validate(document, schema_for(document, schema)); !faults.empty()) {
    if (const auto rest = prune(document, faults)) {
      Diagnostics more = Reader(catalog, *rest).faults();
      std::move(more.begin(), more.end(), std::back_inserter(faults));
    }
    return fail(std::move(faults));
  }
  return Reader(catalog, document).scenario(purpose);
}

}  // namespace flowplan::scenario
