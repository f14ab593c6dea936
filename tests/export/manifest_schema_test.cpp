// Kubernetes manifests and cluster definitions against the schemas of their APIs, which
// tests/export/schemas holds with their versions.
#include <charconv>
#include <set>

#include <nlohmann/json.hpp>

#include "example_plan.hpp"
#include "flowplan/base/json_schema.hpp"
#include "flowplan/export/cluster_definition.hpp"
#include "flowplan/export/kubernetes.hpp"
#include "flowplan/export/sharded_sweep.hpp"

namespace flowplan::exporting::manifest_schema_test {

namespace {

using Json = nlohmann::ordered_json;

/// As the API server reads it: a quoted scalar is text, a plain one what it looks like.
Json json_of(const YAML::Node& node) {
  if (node.IsMap()) {
    Json out = Json::object();
    for (const auto& one : node)
      out[one.first.as<std::string>()] = json_of(one.second);
    return out;
  }
  if (node.IsSequence()) {
    Json out = Json::array();
    for (const YAML::Node& one : node)
      out.push_back(json_of(one));
    return out;
  }
  if (node.IsNull()) return nullptr;
  const std::string text = node.Scalar();
  if (node.Tag() == "!") return text;
  if (text == "true" || text == "false") return text == "true";
  double number = 0.0;
  const char* end = text.data() + text.size();
  if (std::from_chars(text.data(), end, number).ptr != end) return text;
  const auto whole = static_cast<std::int64_t>(number);
  return static_cast<double>(whole) == number ? Json(whole) : Json(number);
}

class Schemas {
 public:
  explicit Schemas(const std::string& name)
      : document_(JsonDocument::read(FLOWPLAN_SOURCE_DIR "/tests/export/schemas/" + name).value()) {
  }

  /// Everything that is wrong with an object; its schema is by apiVersion and kind, or `kind`.
  std::string faults(const YAML::Node& object, std::string kind = {}) const {
    if (kind.empty())
      kind = object["apiVersion"].as<std::string>() + " " + object["kind"].as<std::string>();
    const Json& kinds = document_.root().at("kinds");
    if (!kinds.contains(kind)) return "no schema of " + kind;
    const Json root{{"$ref", "#/definitions/" + kinds.at(kind).get<std::string>()},
                    {"definitions", document_.root().at("definitions")}};
    const auto document = JsonDocument::parse(json_of(object).dump(1), kind);
    return render(validate(document.value(), document_.with(root)));
  }

  [[nodiscard]] const Json& root() const { return document_.root(); }

 private:
  JsonDocument document_;
};

}  // namespace

TEST_CASE("every Kubernetes object that is written follows the schema of its API") {
  const Schemas schemas("kubernetes.json");
  std::set<std::string> seen;
  Plan with_files = plan_from(three_pods());
  with_files.job.framework = "torchtitan";
  with_files.job.sharding = training::Sharding::fsdp;
  std::vector<std::string> texts{kueue_manifests(with_files).value(),
                                 indexed_job({"scenario.json", "a-sweep", 4, {}}, "{}\n")};
  for (const std::string& scenario : {three_pods(), two_ultraservers()}) {
    const Plan plan = plan_from(scenario);
    texts.push_back(kubernetes_nodes(plan));
    texts.push_back(kueue_manifests(plan).value());
    texts.push_back(volcano_manifests(plan).value());
  }
  for (const char* layout : {"\"tp\": 4", "\"tp\": 8, \"pp\": 2"}) {
    const std::string text = fmt::format(
        R"({{"name": "servers", "cluster": {{"instance": "p5.48xlarge", "count": 4}},
            "workload": {{"kind": "serving", "model": "llama3.1-70b", "parallelism": {{{}}},
                         "load": {{"rate_per_s": 1, "requests": 20, "input_tokens": 256,
                                  "output_tokens": 16}}}}}})",
        layout);
    const Plan plan = plan_from(text);
    const auto answer = scenario::run(shipped_catalog(), scenario_from_text(text), "test");
    REQUIRE(answer);
    const auto job = serving_job(plan, *answer, nullptr, vllm_command);
    REQUIRE(job);
    texts.push_back(kueue_manifests(plan, *job).value());
    texts.push_back(volcano_manifests(plan, *job).value());
  }
  for (const std::string& text : texts) {
    for (const YAML::Node& object : yaml_of(text)) {
      CHECK(schemas.faults(object) == "");
      seen.insert(object["apiVersion"].as<std::string>());
    }
  }
  // Each API that is written has its version named, and none is named for nothing.
  for (const auto& [api, version] : schemas.root().at("versions").items()) {
    CAPTURE(api);
    CHECK(seen.count(api) == 1);
    CHECK_FALSE(version.get<std::string>().empty());
  }
  CHECK(seen.size() == schemas.root().at("versions").size());
}

TEST_CASE("the schemas refuse what an API server would") {
  const Schemas schemas("kubernetes.json");
  const std::string text = kueue_manifests(plan_from(three_pods())).value();
  const auto with = [&](const char* kind, const auto& change) {
    YAML::Node object = YAML::Clone(find_kind(yaml_of(text), kind));
    change(object);
    return schemas.faults(object);
  };
  CHECK_THAT(with("Topology", [](YAML::Node& o) { o["spec"]["level"] = 1; }),
             Catch::Contains("FP020") && Catch::Contains("levels"));
  CHECK_THAT(with("ClusterQueue", [](YAML::Node& o) { o["spec"]["queueingStrategy"] = "FIFO"; }),
             Catch::Contains("FP023"));
  CHECK_THAT(with("LocalQueue", [](YAML::Node& o) { o["spec"].remove("clusterQueue"); }),
             Catch::Contains("FP021"));
  CHECK_THAT(with("JobSet", [](YAML::Node& o) { o["metadata"]["name"] = "Not_A_Name"; }),
             Catch::Contains("/metadata/name") || Catch::Contains("pattern"));
  CHECK_THAT(with("JobSet",
                  [](YAML::Node& o) {
                    o["spec"]["replicatedJobs"][0]["template"]["spec"]["parallelism"] = "many";
                  }),
             Catch::Contains("FP022"));
  CHECK_THAT(with("Topology", [](YAML::Node& o) { o["apiVersion"] = "kueue.x-k8s.io/v1alpha1"; }),
             Catch::Contains("no schema"));
}

TEST_CASE("ParallelCluster's definition carries the keys of its documentation") {
  const Schemas schemas("parallelcluster.json");
  std::string stored = three_pods();
  stored.insert(stored.rfind('}'), R"(, "storage": {"checkpoint": {"store": {
    "service": "fsx-persistent2-250", "capacity": "19200GiB"}}})");
  for (const std::string& scenario : {three_pods(), two_ultraservers(), stored}) {
    const auto files = parallelcluster_files(plan_from(scenario)).value();
    CHECK(schemas.faults(YAML::Load(text_of(files, "cluster.yaml")), "cluster") == "");
  }
  YAML::Node wrong =
      YAML::Load(text_of(parallelcluster_files(plan_from(three_pods())).value(), "cluster.yaml"));
  wrong["Scheduling"]["SlurmQueues"][0]["ComputeResources"][0]["Efa"]["Enable"] = true;
  CHECK_THAT(schemas.faults(wrong, "cluster"), Catch::Contains("FP020"));
}

}  // namespace flowplan::exporting::manifest_schema_test
