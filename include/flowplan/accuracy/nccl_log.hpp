#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/collective/operation.hpp"

namespace flowplan::accuracy {

/// One size of an nccl-tests run.
struct NcclLogLine {
  double size_bytes = 0.0;          ///< as nccl-tests prints it
  double time_us = 0.0;             ///< out of place; in place where the run has no other
  double algbw_gbytes_per_s = 0.0;  ///< as printed
  double busbw_gbytes_per_s = 0.0;  ///< as printed
  std::optional<double> wrong;      ///< elements that were wrong; nothing: not checked
  int line = 0;                     ///< of the file; 0 in JSON
};

/// Rows that were passed over because a number in them cannot be.
struct UnusableRows {
  int rows = 0;
  int line = 0;      ///< of the first; 0 in JSON
  std::string what;  ///< wrong in the first: "time nan us"
};

/// A log of nccl-tests: what it says about the run, and its rows.
struct NcclLog {
  std::string file;
  std::string program;                             ///< "all_reduce_perf"; empty: not stated
  std::optional<collective::Operation> operation;  ///< from the program's name
  std::string nccl_version;                        ///< "2.28.7"; empty: not stated
  std::string plugin_version;                      ///< of aws-ofi-nccl; empty: not stated
  std::string gpu;                                 ///< "NVIDIA H100 80GB HBM3"
  int ranks = 0;                                   ///< 0: the log lists no devices
  int hosts = 0;
  std::vector<NcclLogLine> lines;  ///< in the file's order
  UnusableRows unusable;
  int empty_rows = 0;      ///< of size 0, which nccl-tests prints when ranks outnumber data
  bool concluded = false;  ///< the summary at its end was seen: the sweep is whole

  // What NCCL_DEBUG=INFO and the environment add.
  std::string forced_algorithm, forced_protocol;  ///< NCCL_ALGO, NCCL_PROTO; empty: not forced
  std::optional<bool> gpu_direct;                 ///< nothing: the log does not say
  bool sockets = false;                           ///< the network was TCP, not EFA or InfiniBand
  std::optional<int> nics;                        ///< that the plugin found on a node
};

/// Reads the text that nccl-tests prints (any lines around it are passed over: mpirun, NCCL_DEBUG),
/// or what its -J option writes, which is JSON. Errors FP016 for a file that is neither, FP082 for
/// one without a usable row (a run that stopped before its first size; times that are none); those
/// of read_text and JsonDocument.
[[nodiscard]] Result<NcclLog> read_nccl_log(const std::string& path);
[[nodiscard]] Result<NcclLog> parse_nccl_log(std::string text, std::string file);

}  // namespace flowplan::accuracy
