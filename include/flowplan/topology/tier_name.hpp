#pragma once

#include <string_view>

#include "flowplan/topology/cluster.hpp"

namespace flowplan::topology {

/// What the NICs of a machine are: "efa" on EC2; of a reference system "infiniband", "roce" or
/// "ethernet", and "nic" where its `fabric` names none of them.
[[nodiscard]] std::string_view nic_kind(const catalog::Instance& instance);

/// A tier as people know it: `name(tier)`, but the tier of NICs by what they are.
[[nodiscard]] std::string_view tier_name(Tier tier, std::string_view nic_kind);
[[nodiscard]] std::string_view tier_name(Tier tier, const catalog::Instance& instance);

}  // namespace flowplan::topology
