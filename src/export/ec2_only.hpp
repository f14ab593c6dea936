#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/export/plan.hpp"

namespace flowplan::exporting {

/// Error FP073 for a reference system: there is nothing to order.
[[nodiscard]] inline Result<void> needs_ec2(const Plan& plan) {
  if (plan.node_type->kind != catalog::InstanceKind::reference) return {};
  return fail(error(Code::unsupported_feature, plan.node_type->id + " is not an EC2 instance type",
                    "cluster definitions are for instance types and UltraServers"));
}

/// A reservation has to be named: Capacity Blocks, and UltraServers, which are sold no other way.
[[nodiscard]] inline bool is_reserved(const Plan& plan) {
  return plan.purchase == "capacity_block" || plan.domains_span_nodes();
}

}  // namespace flowplan::exporting
