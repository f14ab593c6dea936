#include "flowplan/export/targets.hpp"

#include <algorithm>

#include "flowplan/export/cluster_definition.hpp"
#include "flowplan/export/kubernetes.hpp"
#include "flowplan/export/launch.hpp"
#include "flowplan/export/observation.hpp"
#include "flowplan/export/serving.hpp"
#include "flowplan/export/serving_job.hpp"
#include "flowplan/export/sharded_sweep.hpp"
#include "flowplan/export/slurm.hpp"

namespace flowplan::exporting {

namespace {

using Files = Result<std::vector<WrittenFile>>;

Files one_file(std::string name, std::string text) {
  return std::vector<WrittenFile>{{std::move(name), std::move(text)}};
}

Files one_file(std::string name, Result<std::string> text) {
  if (!text) return fail(std::move(text.error()));
  return one_file(std::move(name), std::move(*text));
}

/// The script that starts a framework, and what it reads.
Files launch_files(const Plan& plan, Result<Launch> launch) {
  if (!launch) return fail(std::move(launch.error()));
  std::vector<WrittenFile> files{{"launch.sh", launch_script(plan, *launch)}};
  for (WrittenFile& file : launch->files)
    files.push_back(std::move(file));
  return files;
}

/// A script for each kind of server, and what it reads.
Files serve_files(const ExportRequest& request, EngineCommand engine) {
  const auto job = serving_job(*request.plan, *request.answer, request.serving, engine);
  if (!job) return fail(job.error());
  return server_files(*request.plan, *job);
}

/// A scheduler's files, of a job that trains or of servers.
template <class Train, class Serve>
Files scheduled(const ExportRequest& request, Train train, Serve serve) {
  if (request.plan->work != Plan::Work::serving) return train(*request.plan);
  const auto job = serving_job(*request.plan, *request.answer, request.serving,
                               engine_command(request.answer->serving->engine));
  if (!job) return fail(job.error());
  return serve(*request.plan, *job);
}

ShardedSweep sweep_of(const ExportRequest& request) {
  return {request.scenario_path, request.slug, request.shards, request.sweep_options};
}

Observation observed(const ExportRequest& request) {
  return observation_of(*request.plan, *request.answer, request.ratio);
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all{
      {"slurm", "topology.conf, topology.yaml, node and GRES lines, a batch script",
       TargetNeeds::job,
       [](const ExportRequest& r) {
         return scheduled(
             r, [](const Plan& plan) { return slurm_files(plan); },
             [](const Plan& plan, const ServingJob& job) -> Files {
               return slurm_files(plan, job);
             });
       }},
      {"slurm-array", "a job array that runs the scenario's sweep", TargetNeeds::sweep,
       [](const ExportRequest& r) { return one_file("sweep.sbatch", slurm_array(sweep_of(r))); }},
      {"k8s-indexed-job", "an indexed Job that runs the scenario's sweep", TargetNeeds::sweep,
       [](const ExportRequest& r) {
         return one_file("sweep.yaml", indexed_job(sweep_of(r), r.scenario_text));
       }},
      {"k8s-nodes", "the nodes with their topology labels, for KWOK", TargetNeeds::plan,
       [](const ExportRequest& r) { return one_file("nodes.yaml", kubernetes_nodes(*r.plan)); }},
      {"kueue", "Kueue's topology, flavor and queues, the job as a JobSet", TargetNeeds::job,
       [](const ExportRequest& r) {
         return scheduled(
             r, [](const Plan& plan) { return one_file("kueue.yaml", kueue_manifests(plan)); },
             [](const Plan& plan, const ServingJob& job) {
               return one_file("kueue.yaml", kueue_manifests(plan, job));
             });
       }},
      {"volcano", "Volcano's HyperNodes and the job", TargetNeeds::job,
       [](const ExportRequest& r) {
         return scheduled(
             r, [](const Plan& plan) { return one_file("volcano.yaml", volcano_manifests(plan)); },
             [](const Plan& plan, const ServingJob& job) {
               return one_file("volcano.yaml", volcano_manifests(plan, job));
             });
       }},
      {"parallelcluster", "an AWS ParallelCluster 3 definition", TargetNeeds::plan,
       [](const ExportRequest& r) { return parallelcluster_files(*r.plan); }},
      {"pcs", "an AWS PCS cluster as a CloudFormation template", TargetNeeds::plan,
       [](const ExportRequest& r) { return pcs_files(*r.plan); }},
      {"hyperpod", "a SageMaker HyperPod cluster", TargetNeeds::plan,
       [](const ExportRequest& r) { return hyperpod_files(*r.plan); }},
      {"megatron", "flags of Megatron-LM and Megatron Core, of LoRA those of Megatron Bridge",
       TargetNeeds::training,
       [](const ExportRequest& r) { return launch_files(*r.plan, megatron_launch(*r.plan)); }},
      {"torchtitan", "torchtitan's TOML file", TargetNeeds::training,
       [](const ExportRequest& r) { return launch_files(*r.plan, torchtitan_launch(*r.plan)); }},
      {"fsdp", "PyTorch FSDP2 by Hugging Face Accelerate", TargetNeeds::training,
       [](const ExportRequest& r) { return launch_files(*r.plan, fsdp_launch(*r.plan)); }},
      {"maxtext", "MaxText's mesh and flags (JAX)", TargetNeeds::training,
       [](const ExportRequest& r) { return launch_files(*r.plan, maxtext_launch(*r.plan)); }},
      {"vllm", "the command of a vLLM server", TargetNeeds::answer,
       [](const ExportRequest& r) { return serve_files(r, vllm_command); }},
      {"tensorrt-llm", "the command of a TensorRT-LLM server", TargetNeeds::answer,
       [](const ExportRequest& r) { return serve_files(r, tensorrt_llm_command); }},
      {"sglang", "the command of an SGLang server", TargetNeeds::answer,
       [](const ExportRequest& r) { return serve_files(r, sglang_command); }},
      {"environment", "the NCCL and EFA variables that the prediction assumes",
       TargetNeeds::training,
       [](const ExportRequest& r) {
         return one_file("environment.sh", environment_script(*r.plan));
       }},
      {"prometheus", "recording and alerting rules, predicted against measured",
       TargetNeeds::answer,
       [](const ExportRequest& r) { return one_file("rules.yml", prometheus_rules(observed(r))); }},
      {"openmetrics", "the predictions as OpenMetrics text", TargetNeeds::answer,
       [](const ExportRequest& r) {
         return one_file("flowplan.om", openmetrics(observed(r), r.timestamp));
       }},
      {"grafana", "a dashboard with predicted and measured side by side", TargetNeeds::answer,
       [](const ExportRequest& r) {
         return one_file("dashboard.json", grafana_dashboard(observed(r)));
       }},
  };
  return all;
}

const Target* find_target(std::string_view name) {
  const auto& all = targets();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Target& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace flowplan::exporting
