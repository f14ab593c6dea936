#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::collective {

/// Libraries that send tokens to their experts and fetch the results. `nvshmem`: one-sided writes
/// an expert, as perplexity's kernels; `nccl`: an all-to-all of NCCL.
enum class ExpertBackend { deepep, deepep_v2, uccl, nvshmem, nccl };
enum class ExpertMode { normal, low_latency };
inline constexpr std::array all_expert_backends{ExpertBackend::deepep, ExpertBackend::deepep_v2,
                                                ExpertBackend::uccl, ExpertBackend::nvshmem,
                                                ExpertBackend::nccl};
[[nodiscard]] std::string_view name(ExpertBackend backend);  ///< "deepep", "deepep-v2", ...
[[nodiscard]] std::string_view name(ExpertMode mode);        ///< "normal", "low_latency"
[[nodiscard]] std::optional<ExpertBackend> find_expert_backend(std::string_view name);

/// The GPUs among which experts are spread. A "node" is an NVLink domain.
struct ExpertGroup {
  int nodes = 1;
  int gpus_per_node = 8;
  BytesPerSecond nic{};     ///< line rate of one GPU's share of the NICs, one direction
  BytesPerSecond nvlink{};  ///< line rate of one GPU's port, one direction
  int efa_version = 0;      ///< 0: InfiniBand or RoCE
};
/// That group on nodes of an instance type; rates of 0 where the catalog has none.
[[nodiscard]] ExpertGroup expert_group(const catalog::Catalog& catalog,
                                       const catalog::Instance& instance, int nodes,
                                       int gpus_per_node);

/// What one GPU dispatches and gets back.
struct ExpertTraffic {
  double tokens = 0.0;  ///< of one GPU; > 0
  double hidden = 0.0;  ///< elements of a token; > 0
  int top_k = 1;        ///< experts of a token
  int experts = 0;      ///< in all, spread evenly; 0: many
  int max_nodes = 0;    ///< a token's experts are on at most so many nodes; 0: any (group routing)
  double dispatch_bytes = 2.0;  ///< of an element, scales included (FP8 with scales: 1.03125)
  double combine_bytes = 2.0;
};

/// How many copies of a token its experts need when they are chosen at random.
struct ExpertCopies {
  double nodes = 1.0;  ///< distinct nodes
  double ranks = 1.0;  ///< distinct GPUs
};
/// Without replacement: of X experts spread over N nodes, a node holds none of a token's k with
/// probability prod (X - X/N - i) / (X - i), i < k; (1 - 1/N)^k when X is 0.
[[nodiscard]] ExpertCopies expert_copies(const ExpertGroup& group, const ExpertTraffic& traffic);

/// Dispatch or combine of one layer.
struct ExpertStage {
  Seconds time{};
  Bytes network{};    ///< out of one GPU's NICs
  Bytes nvlink{};     ///< out of one GPU's port
  std::string bound;  ///< "network", "network line rate", "nvlink", "nvlink line rate", "messages"
};
struct ExpertOutcome {
  ExpertStage dispatch, combine;
  double band = 0.0;       ///< half-width of the 90 % band, as a fraction of the time
  std::string set;         ///< id of the constants
  bool calibrated = true;  ///< false: no measurement of this backend on this fabric
  std::string note;        ///< then: what was carried over from where
};

/// Time of one dispatch and one combine, the group's GPUs all sending at once with experts chosen
/// at random. docs/models/expert-parallel.md has the law; the constants are the sets
/// expert-parallel-BACKEND-FABRIC of the catalog. Without a set for the fabric the nearest one's
/// rates are carried over as fractions of the line rates, with a wider band. Errors FP062: numbers
/// out of range, a group of one GPU, a backend without constants.
[[nodiscard]] Result<ExpertOutcome> expert_parallel(const catalog::Catalog& catalog,
                                                    ExpertBackend backend, ExpertMode mode,
                                                    const ExpertGroup& group,
                                                    const ExpertTraffic& traffic);

}  // namespace flowplan::collective
