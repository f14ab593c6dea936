#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/accuracy/nccl_log.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::accuracy {

struct ComparedLine {
  NcclLogLine measured;
  collective::Outcome expected;
  double ratio = 0.0;  ///< expected time over measured: measured busbw over the expected one
  /// Above the prediction's band, and as far above one as a shortfall that is told is below.
  bool faster = false;
};

/// Measured against expected, and what may be behind a shortfall.
struct LogComparison {
  std::string operation, instance, profile;
  int nodes = 0, ranks = 0;
  std::vector<ComparedLine> lines;
  /// Median (of two in the middle the lower) over the sizes whose transfer counts, and over those
  /// that latency rules; nothing when the log has none.
  std::optional<double> large_ratio, small_ratio;
  double least_ratio = 1.0;         ///< the worst of all sizes
  double least_bytes = 0.0;         ///< its size
  std::vector<std::string> causes;  ///< of what differs, likeliest first; empty: nothing does
  /// About the log: another GPU or count of hosts than the cluster's, cut off, wrong values, rows
  /// passed over, forced choices.
  std::vector<std::string> remarks;
  bool of_other_cluster = false;  ///< another GPU or count of hosts: no gate should pass on it
};

struct CompareOptions {
  /// Of the request; those that the log names as forced otherwise.
  collective::Allowed<collective::Algorithm> algorithm;
  collective::Allowed<collective::Protocol> protocol;
  /// A shortfall below this ratio looks for causes, and so does 1 over it; in (0, 1].
  double tell_below = 0.9;
};

/// The log's sizes on that cluster with its first `log.ranks` GPUs (spread evenly over the nodes;
/// all when the log lists no devices). Errors FP062 (no operation in the log or given), FP061 (more
/// ranks than GPUs), those of collective::predict.
[[nodiscard]] Result<LogComparison> compare_log(const catalog::Catalog& catalog,
                                                const topology::Cluster& cluster,
                                                const catalog::Constants& profile,
                                                const NcclLog& log,
                                                std::optional<collective::Operation> operation,
                                                const CompareOptions& options = {});

/// The GPUs of a log's ranks: as many on every node. Errors FP061 as above.
[[nodiscard]] Result<collective::Group> ranks_of_log(const topology::Cluster& cluster,
                                                     const NcclLog& log);

}  // namespace flowplan::accuracy
