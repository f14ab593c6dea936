#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/export/launch.hpp"
#include "flowplan/export/plan.hpp"
#include "flowplan/export/serving.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::exporting {

/// How an engine is told to start one replica: `vllm_command` and its like.
using EngineCommand = Result<Launch> (*)(const ServeCommand& serve);

/// The one that an engine profile of the catalog ("vllm", "trtllm", "sglang", "vllm-0.22") is of.
[[nodiscard]] EngineCommand engine_command(std::string_view profile);

/// Servers that are started alike.
struct ServerGroup {
  std::string name;  ///< "serve", or "prefill" and "decode"
  ServeCommand command;
  Launch launch;  ///< of one replica, listening on $PORT
  int replicas = 1;
  int node_gpus = 1;  ///< of one replica on each of its nodes

  [[nodiscard]] int nodes() const { return command.nodes; }  ///< of one replica
  [[nodiscard]] bool spans_nodes() const { return command.nodes > 1; }
};

/// Where one replica is among the nodes of a job.
struct ServerPlace {
  std::size_t group = 0;
  std::uint32_t first_node = 0;
  int first_gpu = 0;  ///< of the node; not 0 only where replicas share one
  int port = 0;
};

/// The servers of a scenario's answer, as many of each as it has.
struct ServingJob {
  std::string engine;  ///< "vllm"
  std::vector<ServerGroup> groups;
  std::vector<ServerPlace> places;
  std::uint32_t nodes = 0;  ///< that the places take
};

/// Replicas that span nodes take whole ones, in a row; the others share nodes, first fit. Errors:
/// those of `serve_commands` and of the engine; FP073 for a replica that ends inside a node, and
/// for replicas that take more nodes than the cluster has.
[[nodiscard]] Result<ServingJob> serving_job(const Plan& plan, const scenario::Answer& answer,
                                             const scenario::ServingSection* limits,
                                             EngineCommand engine);

/// What every node of a replica runs, whoever starts it: Slurm's step numbers the nodes, or
/// $NODE_RANK does. $MASTER_ADDR is the first of them. vLLM's workers join by Ray, or serve their
/// own data-parallel ranks; SGLang is told its rank; TensorRT-LLM is started by MPI, a task a GPU.
[[nodiscard]] std::string server_script(const Plan& plan, const ServerGroup& group);

/// Their scripts ("serve.sh"), then what the engine reads.
[[nodiscard]] std::vector<WrittenFile> server_files(const Plan& plan, const ServingJob& job);

}  // namespace flowplan::exporting
