#include "flowplan/scenario/schema.hpp"

#include <string>

#include <nlohmann/json.hpp>

namespace flowplan::scenario {

namespace {

std::string kind_of_work(const JsonDocument& document) {
  const auto& root = document.root();
  const auto workload = root.is_object() ? root.find("workload") : root.end();
  if (!root.is_object() || workload == root.end() || !workload->is_object()) return "pretraining";
  const auto kind = workload->find("kind");
  return kind != workload->end() && kind->is_string() ? kind->get<std::string>() : "pretraining";
}

}  // namespace

JsonDocument schema_for(const JsonDocument& document, const JsonDocument& schema) {
  const auto& root = schema.root();
  const auto definitions = root.find("definitions");
  if (definitions == root.end()) return schema;
  auto workload = definitions->find(kind_of_work(document) + "_workload");
  if (workload == definitions->end()) workload = definitions->find("pretraining_workload");
  if (workload == definitions->end()) return schema;
  nlohmann::ordered_json own = root;
  own["properties"]["workload"] = *workload;
  for (const char* kind : {"pretraining_workload", "serving_workload", "posttraining_workload"})
    own["definitions"].erase(kind);
  return schema.with(own);
}

}  // namespace flowplan::scenario
