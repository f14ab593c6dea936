#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::exporting {

/// A file that a writer makes.
struct WrittenFile {
  std::string name;  ///< without a folder: "topology.conf"
  std::string text;
};

/// A Lustre file system that a cluster definition creates and mounts.
struct SharedFileSystem {
  std::string deployment;    ///< as the FSx API spells it: "PERSISTENT_2"
  std::int64_t gib = 0;      ///< capacity
  int mbytes_per_s_tib = 0;  ///< throughput a TiB of capacity, 2^20 byte/s
  bool efa = false;
};

/// The machines and the job of a scenario with nothing left open, as every writer takes them.
struct Plan {
  std::string title;  ///< the scenario's name
  std::string slug;   ///< the same as a name for jobs and objects, see `slug_of`
  topology::Cluster cluster;
  std::vector<std::string> node;  ///< host names, in the order of the cluster's nodes
  const catalog::Instance* node_type = nullptr;  ///< of one node; of an UltraServer its member
  const catalog::Gpu* gpu = nullptr;
  const catalog::Constants* defaults = nullptr;  ///< the set "export-defaults"
  std::string region;
  std::string purchase;  ///< "on_demand", ...
  training::Job job;
  std::uint32_t job_nodes = 0;             ///< nodes that the job's ranks are on
  std::uint32_t job_nodes_per_domain = 1;  ///< of them in one NVLink domain
  std::int64_t steps = 0;                  ///< that the token budget takes; 0: no budget
  std::optional<SharedFileSystem> shared;
  /// Of other work than pretraining `job` has nothing but the model, until `take_update`.
  enum class Work { pretraining, serving, fine_tuning, reinforcement } work = Work::pretraining;
  std::string method = {};  ///< of fine-tuning: "sft", "dpo", ...

  [[nodiscard]] std::uint32_t nodes() const { return cluster.nodes(); }
  [[nodiscard]] std::uint32_t gpus_per_node() const { return cluster.gpus_per_node(); }
  /// NVLink domains of more than one node: UltraServers.
  [[nodiscard]] bool domains_span_nodes() const;
  [[nodiscard]] std::uint32_t nodes_per_domain() const;
  /// GPUs of the job.
  [[nodiscard]] std::uint32_t ranks() const;
};

/// Fills in what the scenario leaves out, as `scenario::resolve`, and names the nodes: `hosts`, or
/// "node0", "node1", ... The catalog outlives the plan. Errors: those of `resolve`, FP060 for
/// another number of hosts than the cluster has nodes or a host named twice, FP073 for ranks that
/// leave GPUs of a node idle, which no launcher expresses.
[[nodiscard]] Result<Plan> plan_of(const catalog::Catalog& catalog,
                                   const scenario::Scenario& scenario,
                                   std::span<const std::string> hosts = {});

/// Fine-tuning's job as its answer has it: rows of packed samples, the layout that was chosen, its
/// steps. Other work stays as it is. Errors: FP073 as above.
[[nodiscard]] Result<void> take_update(Plan& plan, const scenario::Answer& answer);

/// A text as a DNS label: small letters, digits and single dashes, a letter first, at most 40 of
/// them (Kubernetes appends to the names of jobs). "Llama 3 70B on 64" is "llama-3-70b-on-64".
[[nodiscard]] std::string slug_of(std::string_view text);

}  // namespace flowplan::exporting
