#include "flowplan/export/launch.hpp"

#include <fmt/format.h>

#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

int rendezvous_port(const Plan& plan) {
  return static_cast<int>(plan.defaults->at("rendezvous.port"));
}

/// A word as a shell reads it back; "$" stays for the shell to expand.
std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && word.find_first_not_of(
                                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "0123456789-_=+./,:@%$") == word.npos;
  return plain ? word : "\"" + word + "\"";
}

std::vector<Argument> torchrun_arguments(const Plan& plan) {
  return {{"--nnodes", std::to_string(plan.job_nodes)},
          {"--nproc-per-node", std::to_string(plan.gpus_per_node())},
          {"--rdzv-backend", "c10d"},
          {"--rdzv-id", plan.slug},
          {"--rdzv-endpoint", fmt::format("$MASTER_ADDR:{}", rendezvous_port(plan))}};
}

}  // namespace

Result<Launch> launch_of(const Plan& plan) {
  const std::string& framework = plan.job.framework;
  const auto begins = [&](std::string_view with) { return framework.rfind(with, 0) == 0; };
  if (begins("torchtitan")) return torchtitan_launch(plan);
  if (begins("maxtext")) return maxtext_launch(plan);
  if (begins("fms-fsdp") || begins("composer") || begins("automodel")) return fsdp_launch(plan);
  return megatron_launch(plan);
}

std::string command_lines(const Launch& launch, const std::string& indent) {
  std::string text = launch.program;
  for (const Argument& one : launch.arguments) {
    text += " \\\n" + indent + one.flag;
    if (!one.value.empty()) text += (one.flag.empty() ? "" : " ") + quoted(one.value);
  }
  return text;
}

std::vector<std::string> command_words(const Launch& launch) {
  std::vector<std::string> words{launch.program};
  for (const Argument& one : launch.arguments) {
    if (!one.flag.empty()) words.push_back(one.flag);
    if (!one.value.empty()) words.push_back(one.value);
  }
  return words;
}

std::string launch_script(const Plan& plan, const Launch& launch) {
  std::string text = "#!/usr/bin/env bash\n";
  text +=
      commented(fmt::format("{}: {} x {}, {} GPUs, by {}. Runs on every node.", plan.title,
                            plan.job_nodes, plan.node_type->id, plan.ranks(), launch.framework));
  for (const std::string& note : launch.notes)
    text += commented(note);
  text += "set -euo pipefail\n\n";
  text += environment_script(plan);
  text +=
      "\n# The first node of a Slurm allocation; without Slurm set it to the node of rank 0.\n"
      ": \"${MASTER_ADDR:=$(scontrol show hostnames \"${SLURM_JOB_NODELIST:?}\" | head -n 1)}\"\n"
      "export MASTER_ADDR\n\n";
  if (launch.torchrun) {
    text += "exec torchrun";
    for (const Argument& one : torchrun_arguments(plan))
      text += fmt::format(" \\\n  {} {}", one.flag, one.value);
    text += " \\\n  " + command_lines(launch, "    ") + "\n";
  } else {
    if (launch.framework == "maxtext")
      text += fmt::format(
          "export JAX_COORDINATOR_IP=\"$MASTER_ADDR\" JAX_COORDINATOR_PORT={} "
          "NNODES={} NODE_RANK=\"${{SLURM_NODEID:?}}\"\n",
          rendezvous_port(plan), plan.job_nodes);
    text += "exec python3 " + command_lines(launch) + "\n";
  }
  return text;
}

}  // namespace flowplan::exporting
