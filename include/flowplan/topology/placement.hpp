#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::topology {

/// Which NVLink domains the ranks of a job get: the first ones in order, or random ones in random
/// order. Ranks of one domain stay together either way, as schedulers give out whole nodes.
enum class PlacementKind { contiguous, scattered };
[[nodiscard]] std::string_view name(PlacementKind kind);

struct PlacementSpec {
  PlacementKind kind = PlacementKind::contiguous;
  std::uint64_t seed = 0;  ///< of `scattered`; the same seed gives the same placement
  std::uint32_t gpus_per_domain =
      0;  ///< ranks on each domain, the rest are spares; 0: all its GPUs
};

/// The GPU of every rank; no GPU has two ranks.
struct Placement {
  std::vector<GpuId> gpu;  ///< by rank
  [[nodiscard]] std::uint32_t ranks() const { return static_cast<std::uint32_t>(gpu.size()); }
};

/// Fills domain after domain with `ranks` ranks; the last domain may be partly used. Error FP061
/// for no ranks, more than the cluster holds, or more per domain than it has GPUs.
[[nodiscard]] Result<Placement> place(const Cluster& cluster, std::uint32_t ranks,
                                      const PlacementSpec& spec = {});

/// Degrees of parallelism, each >= 1, in Megatron-LM's order of ranks: tp varies fastest, then cp,
/// dp, pp (`--use-tp-pp-dp-mapping` not given): rank = tp_i + tp * (cp_i + cp * (dp_i + dp *
/// pp_i)).
struct Degrees {
  int tp = 1;
  int cp = 1;
  int dp = 1;
  int pp = 1;
  [[nodiscard]] std::uint64_t product() const;
};

enum class Axis { tp, cp, dp, pp };
[[nodiscard]] std::string_view name(Axis axis);

/// All groups of one axis, each in order of its ranks along that axis, ordered by their first rank.
/// They partition the ranks; an axis of degree 1 gives groups of one. `degrees.product()` must be
/// the number of ranks.
[[nodiscard]] std::vector<std::vector<GpuId>> groups(const Placement& placement,
                                                     const Degrees& degrees, Axis axis);

/// Pairs {sender, receiver} of all ranks whose pipeline stages follow each other, stage by stage:
/// (pp - 1) * ranks / pp of them. With `wrap` (interleaved schedules) also from the last stage to
/// the first. Empty for pp = 1.
[[nodiscard]] std::vector<std::vector<GpuId>> pipeline_neighbours(const Placement& placement,
                                                                  const Degrees& degrees,
                                                                  bool wrap = false);

}  // namespace flowplan::topology
