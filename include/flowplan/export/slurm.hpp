#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/export/launch.hpp"
#include "flowplan/export/plan.hpp"
#include "flowplan/export/serving_job.hpp"

namespace flowplan::exporting {

/// Which of Slurm's topology plugins a cluster is for: switches (tree), or NVLink domains (block);
/// blocks of single servers are their leaves.
enum class SlurmTopology { tree, block };

/// `block` where NVLink domains span nodes, else `tree`.
[[nodiscard]] SlurmTopology slurm_topology_of(const Plan& plan);

/// topology.conf. A job that crosses pods finds a common switch: the core.
[[nodiscard]] std::string slurm_topology_conf(const Plan& plan, SlurmTopology kind);

/// topology.yaml (Slurm 25.05 and later): the tree as "tree", the default of the cluster unless
/// NVLink domains span nodes; then the blocks as "block" are.
[[nodiscard]] std::string slurm_topology_yaml(const Plan& plan);

/// The sizes of BlockSizes: the smallest block, then doubled up to what all blocks hold.
[[nodiscard]] std::vector<std::uint32_t> block_sizes(const std::vector<std::uint32_t>& blocks);

/// NodeName, PartitionName and TopologyPlugin lines, for an Include in slurm.conf.
[[nodiscard]] std::string slurm_nodes_conf(const Plan& plan);
[[nodiscard]] std::string slurm_gres_conf(const Plan& plan);

/// A batch script of the job: whole nodes, as many leaf switches or segments as the placement
/// assumes, the environment and the launch.
[[nodiscard]] std::string slurm_batch_script(const Plan& plan, const Launch& launch);

/// All of it: topology.conf, topology.yaml, nodes.conf, gres.conf, job.sbatch, launch.sh and what
/// the launch reads.
[[nodiscard]] Result<std::vector<WrittenFile>> slurm_files(const Plan& plan);

/// The same of servers: job.sbatch starts every replica as a step of its own on its own nodes or
/// GPUs, by serve.sh (prefill.sh, decode.sh).
[[nodiscard]] std::vector<WrittenFile> slurm_files(const Plan& plan, const ServingJob& serving);

/// "h100" of "H100-SXM-80GB": how GRES lines name it.
[[nodiscard]] std::string gres_type(const catalog::Gpu& gpu);

}  // namespace flowplan::exporting
