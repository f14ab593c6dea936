#pragma once

#include <optional>

#include "arguments.hpp"
#include "flowplan/accuracy/nccl_log.hpp"
#include "flowplan/collective/operation.hpp"
#include "flowplan/topology/cluster.hpp"
#include "session.hpp"

namespace flowplan::cli {

/// `flowplan collective [OP] --compare LOG`: exit code 1 when a size is below --min-ratio.
/// `operation`: as typed; nothing: the log's.
int compare_collective(const Arguments& arguments, Session& session,
                       std::optional<collective::Operation> operation);

/// The cluster of --instance with --nodes, or the log's count of hosts.
[[nodiscard]] Result<topology::Cluster> cluster_of_log(const Arguments& arguments,
                                                       const catalog::Catalog& catalog, int hosts);
/// The set of --profile, or the instance's for the versions that the log names.
[[nodiscard]] Result<const catalog::Constants*> profile_of_log(const Arguments& arguments,
                                                               const catalog::Catalog& catalog,
                                                               const catalog::Instance& instance,
                                                               const accuracy::NcclLog& log);

}  // namespace flowplan::cli
