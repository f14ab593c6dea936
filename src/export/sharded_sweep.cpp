#include "flowplan/export/sharded_sweep.hpp"

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "pods.hpp"
#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

/// Options as words of a shell: each in single quotes, where a quote is written as '\''.
std::string shell_words(const std::vector<std::string>& options) {
  std::string words;
  for (const std::string& option : options) {
    words += " '";
    for (const char c : option)
      words += c == '\'' ? std::string("'\\''") : std::string(1, c);
    words += "'";
  }
  return words;
}

}  // namespace

std::string slurm_array(const ShardedSweep& sweep) {
  return fmt::format(
      "#!/usr/bin/env bash\n"
      "#SBATCH --job-name={0}\n"
      "#SBATCH --array=0-{1}\n"
      "#SBATCH --ntasks=1\n"
      "#SBATCH --output=%x-%A-%a.log\n"
      "# Each task answers its share of the points, which flowplan learns from Slurm's variables.\n"
      "# Afterwards: flowplan sweep --merge rows-*.jsonl -o jsonl=rows.jsonl\n"
      "set -euo pipefail\n"
      "exec flowplan sweep \"{2}\"{3} -o \"jsonl=rows-$SLURM_ARRAY_TASK_ID.jsonl\" --resume\n",
      sweep.slug, sweep.shards - 1, sweep.scenario, shell_words(sweep.options));
}

std::string indexed_job(const ShardedSweep& sweep, const std::string& scenario_text) {
  using Json = nlohmann::ordered_json;
  Json files = object_of("v1", "ConfigMap", sweep.slug);
  files["data"]["scenario.json"] = scenario_text;
  Json job = object_of("batch/v1", "Job", sweep.slug);
  job["spec"]["completionMode"] = "Indexed";
  job["spec"]["completions"] = sweep.shards;
  job["spec"]["parallelism"] = sweep.shards;
  Json container;
  container["name"] = "sweep";
  container["image"] = "registry.example.com/flowplan:latest";
  container["command"] = {"sh", "-c",
                          "exec flowplan sweep /flowplan/scenario.json" +
                              shell_words(sweep.options) +
                              " -o \"jsonl=/results/rows-$JOB_COMPLETION_INDEX.jsonl\" --resume"};
  container["env"] =
      Json::array({{{"name", "JOB_COMPLETION_COUNT"}, {"value", std::to_string(sweep.shards)}}});
  container["volumeMounts"] = {{{"name", "scenario"}, {"mountPath", "/flowplan"}},
                               {{"name", "results"}, {"mountPath", "/results"}}};
  Json& pod = job["spec"]["template"]["spec"];
  pod["restartPolicy"] = "OnFailure";
  pod["containers"] = Json::array({container});
  pod["volumes"] = {
      {{"name", "scenario"}, {"configMap", {{"name", sweep.slug}}}},
      {{"name", "results"}, {"persistentVolumeClaim", {{"claimName", "flowplan-results"}}}}};
  const std::vector<Json> documents{files, job};
  return yaml_documents("One completion a shard. Put your image and volume claim in.", documents);
}

}  // namespace flowplan::exporting
