#include "flowplan/export/slurm.hpp"

#include <algorithm>
#include <cctype>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/topology/hostlist.hpp"
#include "switches.hpp"
#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* core_name = "core";

std::string hostlist(const Plan& plan, const std::vector<std::uint32_t>& nodes) {
  return topology::compress_hostlist(names_of_nodes(plan, nodes));
}

std::string all_hosts(const Plan& plan) {
  return topology::compress_hostlist(plan.node);
}

std::string names_of(const std::vector<SwitchGroup>& groups,
                     const std::vector<std::uint32_t>& which) {
  std::vector<std::string> names;
  for (const std::uint32_t i : which)
    names.push_back(groups[i].name);
  return topology::compress_hostlist(names);
}

std::string all_names(const std::vector<SwitchGroup>& groups) {
  std::vector<std::uint32_t> all(groups.size());
  std::iota(all.begin(), all.end(), 0u);
  return names_of(groups, all);
}

std::string tree_conf(const Plan& plan) {
  const SwitchLayers layers = switch_layers(plan);
  std::string text;
  for (const SwitchGroup& leaf : layers.leaf)
    text += fmt::format("SwitchName={} Nodes={}\n", leaf.name, hostlist(plan, leaf.member));
  for (const SwitchGroup& pod : layers.pod)
    text += fmt::format("SwitchName={} Switches={}\n", pod.name, names_of(layers.leaf, pod.member));
  if (layers.core)
    text += fmt::format("SwitchName={} Switches={}\n", core_name, all_names(layers.pod));
  return text;
}

/// NVLink domains where these span nodes, else leaves.
const std::vector<SwitchGroup>& blocks_of(const SwitchLayers& layers) {
  return layers.domain.empty() ? layers.leaf : layers.domain;
}

std::vector<std::uint32_t> sizes_of(const std::vector<SwitchGroup>& blocks) {
  std::vector<std::uint32_t> sizes;
  for (const SwitchGroup& block : blocks)
    sizes.push_back(static_cast<std::uint32_t>(block.member.size()));
  return block_sizes(sizes);
}

std::string block_conf(const Plan& plan) {
  const SwitchLayers layers = switch_layers(plan);
  std::string text;
  for (const SwitchGroup& block : blocks_of(layers))
    text += fmt::format("BlockName={} Nodes={}\n", block.name, hostlist(plan, block.member));
  return text + fmt::format("BlockSizes={}\n", fmt::join(sizes_of(blocks_of(layers)), ","));
}

Json tree_entry(const Plan& plan, const SwitchLayers& layers) {
  Json switches = Json::array();
  const auto add = [&](const std::string& name, const char* key, const std::string& below) {
    switches.push_back({{"switch", name}, {key, below}});
  };
  if (layers.core) add(core_name, "children", all_names(layers.pod));
  for (const SwitchGroup& pod : layers.pod)
    add(pod.name, "children", names_of(layers.leaf, pod.member));
  for (const SwitchGroup& leaf : layers.leaf)
    add(leaf.name, "nodes", hostlist(plan, leaf.member));
  return {{"switches", switches}};
}

Json block_entry(const Plan& plan, const SwitchLayers& layers) {
  Json entry;
  entry["block_sizes"] = sizes_of(blocks_of(layers));
  entry["blocks"] = Json::array();
  for (const SwitchGroup& block : blocks_of(layers))
    entry["blocks"].push_back({{"block", block.name}, {"nodes", hostlist(plan, block.member)}});
  return entry;
}

/// Leaves that so many nodes are on, when they are as few as can be.
std::uint32_t fewest_leaves(const Plan& plan, std::uint32_t job_nodes) {
  const SwitchLayers layers = switch_layers(plan);
  std::vector<std::uint32_t> sizes;
  for (const SwitchGroup& leaf : layers.leaf)
    sizes.push_back(static_cast<std::uint32_t>(leaf.member.size()));
  std::sort(sizes.rbegin(), sizes.rend());
  std::uint32_t leaves = 0;
  for (std::uint32_t nodes = 0; nodes < job_nodes && leaves < sizes.size(); ++leaves)
    nodes += sizes[leaves];
  return leaves;
}

}  // namespace

std::string gres_type(const catalog::Gpu& gpu) {
  std::string type = gpu.id.substr(0, gpu.id.find('-'));
  for (char& c : type)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return type;
}

SlurmTopology slurm_topology_of(const Plan& plan) {
  return plan.domains_span_nodes() ? SlurmTopology::block : SlurmTopology::tree;
}

std::vector<std::uint32_t> block_sizes(const std::vector<std::uint32_t>& blocks) {
  const std::uint32_t base = *std::min_element(blocks.begin(), blocks.end());
  std::vector<std::uint32_t> sizes;
  for (std::size_t held = 1; held <= blocks.size(); held *= 2)
    sizes.push_back(base * static_cast<std::uint32_t>(held));
  return sizes;
}

std::string slurm_topology_conf(const Plan& plan, SlurmTopology kind) {
  std::string text =
      commented(fmt::format("{}: {} nodes of {}", plan.title, plan.nodes(), plan.node_type->id));
  if (plan.cluster.spec().wiring == nullptr)
    text += commented(
        "Switches as assumed by the prediction: take your cluster's own where you have it.");
  return text + (kind == SlurmTopology::tree ? tree_conf(plan) : block_conf(plan));
}

std::string slurm_topology_yaml(const Plan& plan) {
  const SwitchLayers layers = switch_layers(plan);
  const bool blocks = slurm_topology_of(plan) == SlurmTopology::block;
  Json document = Json::array();
  document.push_back(
      {{"topology", "tree"}, {"cluster_default", !blocks}, {"tree", tree_entry(plan, layers)}});
  if (blocks)
    document.push_back(
        {{"topology", "block"}, {"cluster_default", true}, {"block", block_entry(plan, layers)}});
  return commented(
             fmt::format("{}: {} nodes of {}", plan.title, plan.nodes(), plan.node_type->id)) +
         "---\n" + yaml_text(document);
}

std::string slurm_nodes_conf(const Plan& plan) {
  const catalog::Instance& type = *plan.node_type;
  std::string text = commented(fmt::format("{}: {} nodes of {}. Include this file from slurm.conf.",
                                           plan.title, plan.nodes(), type.id));
  text += fmt::format("TopologyPlugin=topology/{}\nGresTypes=gpu\n",
                      slurm_topology_of(plan) == SlurmTopology::tree ? "tree" : "block");
  text += fmt::format("NodeName={}", all_hosts(plan));
  if (type.vcpus) text += fmt::format(" CPUs={:.0f}", type.vcpus.value);
  if (type.host_memory_mib)
    text += fmt::format(" RealMemory={}",
                        static_cast<std::int64_t>(type.host_memory_mib.value *
                                                  plan.defaults->at("slurm.real_memory_share")));
  text += fmt::format(" Gres=gpu:{}:{} Features={} State=UNKNOWN\n", gres_type(*plan.gpu),
                      plan.gpus_per_node(), type.id);
  return text + fmt::format("PartitionName=train Nodes={} Default=YES MaxTime=INFINITE State=UP\n",
                            all_hosts(plan));
}

std::string slurm_gres_conf(const Plan& plan) {
  return fmt::format("NodeName={} Name=gpu Type={} File=/dev/nvidia{}\n", all_hosts(plan),
                     gres_type(*plan.gpu),
                     plan.gpus_per_node() == 1 ? std::string("0")
                                               : fmt::format("[0-{}]", plan.gpus_per_node() - 1));
}

namespace {

/// What the scheduler reads of a batch script. `segment`: nodes that stay in one block; 0: any.
std::string batch_head(const Plan& plan, std::uint32_t nodes, std::uint32_t segment) {
  std::string text = fmt::format(
      "#!/usr/bin/env bash\n"
      "#SBATCH --job-name={}\n"
      "#SBATCH --nodes={}\n"
      "#SBATCH --ntasks-per-node=1\n"
      "#SBATCH --gpus-per-node={}:{}\n"
      "#SBATCH --exclusive\n"
      "#SBATCH --output=%x-%j.log\n",
      plan.slug, nodes, gres_type(*plan.gpu), plan.gpus_per_node());
  if (slurm_topology_of(plan) == SlurmTopology::tree)
    text += fmt::format("#SBATCH --switches={}\n", fewest_leaves(plan, nodes));
  else if (segment > 0)
    text += fmt::format("#SBATCH --segment={}\n", segment);
  return text;
}

constexpr const char* batch_start =
    "set -euo pipefail\n"
    "cd \"${SLURM_SUBMIT_DIR:?}\"\n";

std::vector<WrittenFile> cluster_files(const Plan& plan) {
  return {{"topology.conf", slurm_topology_conf(plan, slurm_topology_of(plan))},
          {"topology.yaml", slurm_topology_yaml(plan)},
          {"nodes.conf", slurm_nodes_conf(plan)},
          {"gres.conf", slurm_gres_conf(plan)}};
}

/// Nodes of a replica where all have as many and fit a block: none is then in two.
std::uint32_t replica_segment(const Plan& plan, const ServingJob& serving) {
  const int nodes = serving.groups.front().nodes();
  const bool alike = std::all_of(serving.groups.begin(), serving.groups.end(),
                                 [&](const ServerGroup& one) { return one.nodes() == nodes; });
  const auto segment = static_cast<std::uint32_t>(nodes);
  return alike && segment > 1 && segment <= plan.nodes_per_domain() ? segment : 0;
}

/// GPUs of a replica on its node; "all" where it has them to itself.
std::string gpu_list(const Plan& plan, const ServerGroup& group, int first) {
  if (group.node_gpus == static_cast<int>(plan.gpus_per_node())) return "all";
  std::vector<int> gpus(static_cast<std::size_t>(group.node_gpus));
  std::iota(gpus.begin(), gpus.end(), first);
  return fmt::format("{}", fmt::join(gpus, ","));
}

std::string serving_batch_script(const Plan& plan, const ServingJob& serving) {
  std::string text = batch_head(plan, serving.nodes, replica_segment(plan, serving));
  text += commented(fmt::format("{}, by {}", plan.title, serving.engine));
  if (serving.groups.size() > 1)
    text += commented(
        "Prefill and decode workers are two pools: add your KV connector, and your router before "
        "them.");
  text += batch_start;
  text +=
      "mapfile -t hosts < <(scontrol show hostnames \"${SLURM_JOB_NODELIST:?}\")\n\n"
      "# start SCRIPT FIRST_NODE NODES TASKS_PER_NODE GPUS PORT: one replica. Replicas that share "
      "a\n"
      "# node each see their own GPUs of it.\n"
      "start() {\n"
      "  if [ \"$5\" = all ]; then unset GPUS; else export GPUS=\"$5\"; fi\n"
      "  MASTER_ADDR=${hosts[$2]} PORT=$6 srun --overlap --kill-on-bad-exit=1 --relative=\"$2\" "
      "\\\n"
      "    --nodes=\"$3\" --ntasks-per-node=\"$4\"";
  const bool mpi = serving.engine == "tensorrt-llm";
  if (mpi) text += " --mpi=pmix";
  text += " bash \"$1\" &\n}\n";
  for (const ServerPlace& place : serving.places) {
    const ServerGroup& group = serving.groups[place.group];
    text += fmt::format("start {}.sh {} {} {} {} {}\n", group.name, place.first_node, group.nodes(),
                        mpi && group.spans_nodes() ? group.node_gpus : 1,
                        gpu_list(plan, group, place.first_gpu), place.port);
  }
  return text + "wait -n  # a server that ends, ends the job\n";
}

}  // namespace

std::string slurm_batch_script(const Plan& plan, const Launch& launch) {
  std::string text = batch_head(plan, plan.job_nodes, plan.job_nodes_per_domain);
  text += commented(fmt::format("{}: {} GPUs as {}", plan.title, plan.ranks(), launch.framework));
  text += batch_start;
  return text +
         "MASTER_ADDR=$(scontrol show hostnames \"${SLURM_JOB_NODELIST:?}\" | head -n 1)\n"
         "export MASTER_ADDR\n"
         "srun --kill-on-bad-exit=1 bash launch.sh\n";
}

Result<std::vector<WrittenFile>> slurm_files(const Plan& plan) {
  auto launch = launch_of(plan);
  if (!launch) return fail(std::move(launch.error()));
  std::vector<WrittenFile> files = cluster_files(plan);
  files.push_back({"job.sbatch", slurm_batch_script(plan, *launch)});
  files.push_back({"launch.sh", launch_script(plan, *launch)});
  for (WrittenFile& file : launch->files)
    files.push_back(std::move(file));
  return files;
}

std::vector<WrittenFile> slurm_files(const Plan& plan, const ServingJob& serving) {
  std::vector<WrittenFile> files = cluster_files(plan);
  files.push_back({"job.sbatch", serving_batch_script(plan, serving)});
  for (WrittenFile& file : server_files(plan, serving))
    files.push_back(std::move(file));
  return files;
}

}  // namespace flowplan::exporting
