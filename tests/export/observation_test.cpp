#include "flowplan/export/observation.hpp"

#include <algorithm>
#include <cmath>
#include <regex>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "../missing_tool.hpp"
#include "example_plan.hpp"
#include "external_tool.hpp"

namespace flowplan::exporting::observation_test {

namespace {

/// A job that crosses the network and saves to FSx.
const Observation& example() {
  static const Observation made = [] {
    std::string text = three_pods();
    text.insert(text.rfind('}'), R"(, "storage": {"checkpoint": {"every": 500, "store": {
      "service": "fsx-persistent2-250", "capacity": "19200GiB"}}})");
    const auto scenario = scenario_from_text(text);
    const auto plan = plan_of(shipped_catalog(), scenario);
    REQUIRE(plan);
    const auto answer = scenario::run(shipped_catalog(), scenario, "test");
    if (!answer) FAIL(render(answer.error()));
    return observation_of(*plan, *answer);
  }();
  return made;
}

const Comparison& comparison(const std::string& alert) {
  for (const Comparison& one : example().comparisons)
    if (one.alert == alert) return one;
  FAIL("no alert " << alert);
  return example().comparisons.front();
}

double predicted(const std::string& name) {
  for (const Prediction& one : example().predictions)
    if (one.name == name) return one.value;
  FAIL("no prediction " << name);
  return 0;
}

/// Names of series in an expression: what is neither a function nor a label.
std::set<std::string> series_in(std::string expression) {
  expression = std::regex_replace(expression, std::regex("\\{[^}]*\\}"), "");
  expression = std::regex_replace(expression, std::regex("\\[[^\\]]*\\]"), "");
  expression = std::regex_replace(expression,
                                  std::regex("\\b(by|without|on|group_left)\\s*\\([^)]*\\)"), "");
  std::set<std::string> names;
  const std::regex name("[a-zA-Z_:][a-zA-Z0-9_:]*(?!\\s*\\()\\b");
  for (std::sregex_iterator it(expression.begin(), expression.end(), name), end; it != end; ++it) {
    const std::string word = it->str();
    const std::size_t after = static_cast<std::size_t>(it->position()) + word.size();
    const std::size_t next = expression.find_first_not_of(' ', after);
    const bool function = next != expression.npos && expression[next] == '(';
    const std::set<std::string> aggregations{"sum", "avg", "max", "count"};
    if (!function && aggregations.count(word) == 0) names.insert(word);
  }
  return names;
}

}  // namespace

TEST_CASE("every metric of the answer is exposed under its registered name") {
  CHECK(predicted("flowplan_training_step_time_seconds") > 0);
  CHECK(predicted("flowplan_training_mfu_ratio") < 1);
  CHECK(predicted("flowplan_job_gpus") == 176);
  CHECK(predicted("flowplan_job_nodes") == 22);
}

TEST_CASE("the EFA rate is the mean load of an instance's NICs") {
  double utilisation = 0;
  for (const Prediction& one : example().predictions)
    if (one.tier == "efa") utilisation = one.value;
  REQUIRE(utilisation > 0);
  // 3,200 Gbit/s are 4e11 byte/s, one direction.
  CHECK(predicted("flowplan_instance_efa_transmit_bytes_per_second") == Approx(utilisation * 4e11));
}

TEST_CASE("measurements name nothing but what exporters have") {
  const auto& known = exporter_metrics();
  std::set<std::string> used;
  for (const Comparison& one : example().comparisons)
    for (const std::string& name : series_in(one.measure)) {
      CAPTURE(one.measure, name);
      CHECK(std::count(known.begin(), known.end(), name) == 1);
      used.insert(name);
    }
  CHECK(used.size() >= 6);
}

TEST_CASE("rules have predictions, measurements and alerts, each name once") {
  const YAML::Node file = YAML::Load(prometheus_rules(example()));
  REQUIRE(file["groups"].size() == 3);
  std::set<std::string> recorded;
  for (const YAML::Node& group : file["groups"])
    for (const YAML::Node& rule : group["rules"])
      if (rule["record"]) {
        const std::string name = rule["record"].as<std::string>();
        const std::string tier = rule["labels"] && rule["labels"]["tier"]
                                     ? rule["labels"]["tier"].as<std::string>()
                                     : std::string();
        CHECK(recorded.insert(name + tier).second);
        CHECK(std::regex_match(name, std::regex("[a-zA-Z_:][a-zA-Z0-9_:]*")));
      }
  for (const YAML::Node& rule : file["groups"][2]["rules"])
    for (const std::string& name : series_in(rule["expr"].as<std::string>()))
      CHECK(recorded.count(name) == 1);
}

TEST_CASE("the dashboard's queries name what the rules record, and its panels do not overlap") {
  const auto dashboard = nlohmann::json::parse(grafana_dashboard(example()));
  CHECK(dashboard["schemaVersion"] == 39);
  CHECK(dashboard["uid"].get<std::string>().size() <= 40);
  for (const char* key : {"title", "version", "time", "annotations", "templating", "__inputs"})
    CHECK(dashboard.contains(key));

  std::set<std::string> defined;
  for (const Prediction& one : example().predictions)
    defined.insert(one.name);
  for (const Comparison& one : example().comparisons)
    defined.insert(one.recorded);
  std::set<int> ids;
  std::set<std::pair<int, int>> taken;
  int queries = 0;
  for (const auto& panel : dashboard["panels"]) {
    CHECK(ids.insert(panel["id"].get<int>()).second);
    const auto& at = panel["gridPos"];
    CHECK(at["x"].get<int>() + at["w"].get<int>() <= 24);
    for (int x = at["x"]; x < at["x"].get<int>() + at["w"].get<int>(); ++x)
      for (int y = at["y"]; y < at["y"].get<int>() + at["h"].get<int>(); ++y)
        CHECK(taken.emplace(x, y).second);
    if (panel["type"] == "row") continue;
    CHECK(panel["datasource"]["uid"] == "${datasource}");
    CHECK(panel["fieldConfig"]["defaults"].contains("unit"));
    for (const auto& target : panel["targets"])
      for (const std::string& name : series_in(target["expr"].get<std::string>())) {
        ++queries;
        CAPTURE(name);
        CHECK(defined.count(name) == 1);
      }
  }
  CHECK(queries > 20);
  // One panel for each comparison, measured and predicted in it.
  CHECK(std::count_if(dashboard["panels"].begin(), dashboard["panels"].end(), [](const auto& p) {
          return p["type"] == "timeseries" && p["targets"].size() == 2;
        }) == static_cast<std::ptrdiff_t>(example().comparisons.size()));
}

TEST_CASE("OpenMetrics text follows its grammar") {
  const std::string text = openmetrics(example(), 1700000000);
  CHECK(text.size() > 6);
  CHECK(text.substr(text.size() - 6) == "# EOF\n");
  CHECK(text.find('\r') == text.npos);
  std::istringstream in(text);
  std::set<std::string> families;
  std::string family, type;
  for (std::string line; std::getline(in, line);) {
    if (line == "# EOF") break;
    std::istringstream words(line);
    std::string first, kind, name;
    words >> first;
    if (first == "#") {
      words >> kind >> name;
      if (kind == "TYPE") {
        CHECK(families.insert(name).second);  // families are not interleaved
        family = name;
        words >> type;
      } else if (kind == "UNIT") {
        std::string unit;
        words >> unit;
        CHECK(name.ends_with("_" + unit));
      } else {
        CHECK(kind == "HELP");
      }
      CHECK(name == family);
      continue;
    }
    CHECK(line.rfind(type == "info" ? family + "_info{" : family + "{", 0) == 0);
    CHECK(line.ends_with(" 1700000000"));
  }
  CHECK(openmetrics(example()).find("1700000000") == std::string::npos);
}

TEST_CASE("labels and help texts are escaped") {
  Observation seen;
  seen.title = "a \"b\" \\ c\nd";
  seen.slug = "s";
  CHECK(openmetrics(seen).find("title=\"a \\\"b\\\" \\\\ c\\nd\"") != std::string::npos);
}

TEST_CASE("promtool takes the rules and the exposition", "[slow]") {
  if (!has_tool("promtool")) {
    missing_tool("promtool is not installed: not tried");
    return;
  }
  const ToolFolder folder("flowplan-prometheus");
  const std::string rules = folder.write("rules.yml", prometheus_rules(example()));
  const ToolRun checked = run_tool("promtool check rules --lint=all --lint-fatal " + rules);
  INFO(checked.output);
  CHECK(checked.code == 0);
  const std::string metrics = folder.write("m.om", openmetrics(example(), 1700000000));
  const ToolRun imported = run_tool("promtool tsdb create-blocks-from openmetrics " + metrics +
                                    " " + folder.path() + "/blocks");
  INFO(imported.output);
  CHECK(imported.code == 0);
}

TEST_CASE("alerts fire at half of what is predicted and are silent at all of it", "[slow]") {
  if (!has_tool("promtool")) {
    missing_tool("promtool is not installed: not tried");
    return;
  }
  const double rate = predicted("flowplan_instance_efa_transmit_bytes_per_second");
  const double mfu = predicted("flowplan_training_mfu_ratio");
  const double save = predicted("flowplan_storage_checkpoint_write_bytes_per_second");
  const ToolFolder folder("flowplan-alerts");
  folder.write("rules.yml", prometheus_rules(example()));
  std::string tests = "rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n";
  for (const double share : {1.0, 0.5}) {
    tests += fmt::format(
        "- interval: 1m\n  input_series:\n"
        "  - {{series: 'node_amazonefa_tx_bytes{{instance=\"n1\",device=\"d0\",port=\"1\"}}', "
        "values: '0+{0:.0f}x120'}}\n"
        "  - {{series: 'node_amazonefa_tx_bytes{{instance=\"n1\",device=\"d1\",port=\"1\"}}', "
        "values: '0+{0:.0f}x120'}}\n"
        "  - {{series: 'DCGM_FI_PROF_PIPE_TENSOR_ACTIVE{{Hostname=\"n1\",gpu=\"0\"}}', "
        "values: '{1}+0x120'}}\n"
        "  - {{series: 'aws_fsx_data_write_bytes_sum', values: '{2}+0x120'}}\n"
        "  alert_rule_test:\n",
        share * rate * 60 / 2, share * mfu, share * save * 60);
    const auto expect = [&](const std::string& alert, const std::string& labels) {
      tests += fmt::format("  - eval_time: 100m\n    alertname: {}\n", alert);
      if (share == 1.0) return;
      const Comparison& one = comparison(alert);
      tests += fmt::format(
          "    exp_alerts:\n    - exp_labels: {{severity: warning, scenario: {}{}}}\n"
          "      exp_annotations: {{summary: '{}: below 80 % of the prediction'}}\n",
          example().slug, labels, one.title);
    };
    expect("FlowplanEfaTransmitBelowPrediction", ", instance: n1");
    expect("FlowplanTensorActivityBelowMfu", ", Hostname: n1");
    expect("FlowplanCheckpointWriteBelowPrediction", "");
  }
  const ToolRun run = run_tool("promtool test rules " + folder.write("tests.yml", tests));
  INFO(run.output);
  CHECK(run.code == 0);
}

}  // namespace flowplan::exporting::observation_test
