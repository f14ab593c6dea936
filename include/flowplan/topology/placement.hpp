#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::topology {

/// Which NVLink domains the ranks of a job get, and in which order. Ranks of one domain stay
/// together, as schedulers give out whole nodes.
enum class PlacementKind {
  contiguous,  ///< the first ones in order
  scattered,   ///< random ones in random order
  by_leaf,     ///< the fewest leaves: whole ones, the largest first, the rest where it fits best
  spread,      ///< dealt to the leaves in turn, the most leaves
  by_ultraserver,  ///< the fewest NVLink domains: those with the most GPUs that take ranks first
  imported,        ///< node by node in the order of the file that the cluster was read from
};
[[nodiscard]] std::string_view name(PlacementKind kind);  ///< "contiguous", "by-leaf", ...
[[nodiscard]] std::optional<PlacementKind> find_placement(std::string_view name);

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

/// GPUs that can have a rank: those of nodes that take ranks, but for failed ones, at most
/// `gpus_per_domain` a domain.
[[nodiscard]] std::uint32_t room(const Cluster& cluster, const PlacementSpec& spec = {});

/// Fills domain after domain with `ranks` ranks; the last domain may be partly used, nodes that
/// take no ranks are passed by. Error FP061 for no ranks, more than there is room for, more per
/// domain than it has GPUs, or `imported` in a cluster that was not.
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
