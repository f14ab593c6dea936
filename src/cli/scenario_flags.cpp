#include "scenario_flags.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fault_place.hpp"
#include "flowplan/scenario/overrides.hpp"
#include "input.hpp"

namespace flowplan::cli {

namespace {

/// An option, and the value of the scenario that it sets.
struct Flag {
  std::string_view name, value, about, path;
  bool is_text;  ///< the value is a string however it looks
};

constexpr Flag flags[] = {
    {"model", "MODEL", "Model of the catalog, or a config.json.", "workload.model", true},
    {"instance", "INSTANCE", "Instance type or UltraServer.", "cluster.instance", true},
    {"nodes", "N", "How many of them.", "cluster.nodes", false},
    {"count", "N", "The same as --nodes.", "cluster.count", false},
    {"region", "NAME", "Region of the prices.", "cluster.region", true},
    {"purchase", "NAME", "Purchase model of the headline cost.", "cluster.purchase", true},
    {"tokens", "N", "Token budget: 15T.", "workload.tokens", false},
    {"seq-len", "N", "Tokens in a sequence.", "workload.seq_len", false},
    {"global-batch", "N", "Sequences in a step.", "workload.global_batch", false},
    {"micro-batch", "N", "Sequences a GPU works on at a time.", "workload.micro_batch", false},
    {"precision", "NAME", "Of the GEMMs: bf16, fp16, fp8, fp8_block, mxfp8 or nvfp4.",
     "workload.precision", true},
    {"recompute", "NAME", "none, selective, operators or full.", "workload.recompute", true},
    {"framework", "NAME", "Software profile.", "workload.framework", true},
    {"tp", "N", "Tensor parallel degree.", "workload.parallelism.tp", false},
    {"pp", "N", "Pipeline parallel degree.", "workload.parallelism.pp", false},
    {"vp", "N", "Virtual pipeline stages a rank.", "workload.parallelism.vp", false},
    {"dp", "N", "Data parallel degree.", "workload.parallelism.dp", false},
};

constexpr std::string_view command_line = "<command line>";

std::vector<std::string> from_options(const Arguments& arguments) {
  std::vector<std::string> result;
  for (const Flag& flag : flags) {
    const auto value = arguments.value(flag.name);
    if (!value) continue;
    result.push_back(
        fmt::format("{}={}", flag.path, flag.is_text ? nlohmann::json(*value).dump() : *value));
  }
  return result;
}

/// What is laid over the scenario: its file's options, then every --set.
std::vector<std::string> overrides(const Arguments& arguments) {
  std::vector<std::string> values;
  if (!arguments.positionals.empty()) values = from_options(arguments);
  const auto sets = arguments.values("set");
  values.insert(values.end(), sets.begin(), sets.end());
  return values;
}

/// The options as a document of their own, so that diagnostics can point into it.
Result<JsonDocument> from_flags(const JsonDocument& schema,
                                const std::vector<std::string>& values) {
  auto empty = JsonDocument::parse(R"({"cluster": {}, "workload": {"kind": "pretraining"}})",
                                   std::string(command_line));
  if (!empty) return empty;
  auto filled = scenario::with_overrides(*empty, schema, values);
  if (!filled) return filled;
  return JsonDocument::parse(filled->root().dump(2), std::string(command_line));
}

/// Of a scenario's file where there is one; what --set or an option says is wrong in those.
Diagnostics located(Diagnostics faults, const Arguments& arguments) {
  faults = scenario::at_overrides(std::move(faults), overrides(arguments));
  if (arguments.positionals.empty()) return faults;
  return placed_in(std::move(faults), arguments.positionals[0]);
}

Diagnostic nothing_named(std::string_view command) {
  return error(Code::usage, fmt::format("`{}` needs a scenario", command),
               fmt::format("a file, or for example: flowplan {} --model llama3-70b --instance "
                           "p5.48xlarge --nodes 64 --tokens 15T",
                           command));
}

}  // namespace

std::vector<Option> scenario_options() {
  std::vector<Option> options;
  for (const Flag& flag : flags)
    options.push_back({flag.name, 0, flag.value, std::string(flag.about), false, {}});
  return options;
}

Result<JsonDocument> scenario_from(const Arguments& arguments, const JsonDocument& schema,
                                   std::string_view command) {
  if (arguments.positionals.empty()) {
    const std::vector<std::string> values = from_options(arguments);
    if (values.empty()) return fail(nothing_named(command));
    auto document = from_flags(schema, values);
    if (!document) return document;
    return scenario::with_overrides(*document, schema, overrides(arguments));
  }
  auto document = read_input(arguments.positionals[0], FileKind::scenario, command);
  if (!document) return document;
  return scenario::with_overrides(*document, schema, overrides(arguments));
}

Result<scenario::Scenario> load_scenario(const Arguments& arguments, const Session& session,
                                         const catalog::Catalog& catalog,
                                         std::string_view command) {
  const auto schema = load_schema(arguments, session, "scenario");
  if (!schema) return fail(schema.error());
  auto document = scenario_from(arguments, *schema, command);
  if (!document) return fail(std::move(document.error()));
  auto scenario = scenario::read(catalog, *document, *schema);
  if (!scenario) {
    return fail(located(std::move(scenario.error()), arguments));
  }
  return scenario;
}

Result<scenario::Answer> answer_to(const Arguments& arguments, const catalog::Catalog& catalog,
                                   const scenario::Scenario& scenario) {
  auto answer = scenario::run(catalog, scenario, FLOWPLAN_VERSION);
  if (!answer) {
    return fail(located(std::move(answer.error()), arguments));
  }
  return answer;
}

Result<scenario::Answer> answer_from(const Arguments& arguments, const Session& session,
                                     const catalog::Catalog& catalog, std::string_view command) {
  const auto scenario = load_scenario(arguments, session, catalog, command);
  if (!scenario) return fail(scenario.error());
  return answer_to(arguments, catalog, *scenario);
}

}  // namespace flowplan::cli
