#pragma once

#include <string>
#include <vector>

namespace flowplan::exporting {

/// `flowplan sweep` over a scenario's grid, cut into shards that run beside each other. Each learns
/// which one it is from the scheduler's variables and can be resumed.
struct ShardedSweep {
  std::string scenario;  ///< path of the file, seen from where the shards run
  std::string slug;
  int shards = 8;
  std::vector<std::string> options;  ///< typed beside the file: "--vary", "cluster.count=16,32"
};

/// A Slurm job array, one task a shard.
[[nodiscard]] std::string slurm_array(const ShardedSweep& sweep);

/// An indexed Kubernetes Job (batch/v1), one completion a shard; the scenario comes in a ConfigMap
/// whose text is `scenario_text`.
[[nodiscard]] std::string indexed_job(const ShardedSweep& sweep, const std::string& scenario_text);

}  // namespace flowplan::exporting
