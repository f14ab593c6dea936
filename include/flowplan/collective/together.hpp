#pragma once

#include <span>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/collective/collective.hpp"

namespace flowplan::collective {

/// Groups that run one collective each, of the same size: all tensor-parallel groups of a job, or
/// all of its data-parallel rails.
struct Part {
  std::string name;  ///< "tp8"
  Operation operation{};
  Bytes size{};
  std::vector<Group> groups;  ///< disjoint; those of other parts may have the same GPUs
};

struct PartOutcome {
  Outcome alone;                    ///< of the part's first group, with nothing else
  Seconds together{};               ///< of the part's slowest group when all parts run at once
  BytesPerSecond busbw_together{};  ///< of that group
};

/// Each part alone and all of them at once, starting together. A collective takes of each link what
/// it puts there per byte (`in_step`), never faster than alone, so that one bound by latency leaves
/// to the others what it does not use. Errors as `predict`; FP061 too when there is no part.
[[nodiscard]] Result<std::vector<PartOutcome>> predict_together(const Stack& stack,
                                                                const topology::Cluster& cluster,
                                                                std::span<const Part> parts);

/// Splits GPUs 0 .. gpus-1: "tp8", "ep16", any letters: consecutive blocks of that many. "dp8",
/// "rail8": those at the same place of each block of 8, one group a place. "all": one group.
/// Errors FP061: not such a name, a count that does not divide the GPUs, groups of one.
[[nodiscard]] Result<std::vector<Group>> split_groups(std::string_view name, std::uint32_t gpus);

}  // namespace flowplan::collective
