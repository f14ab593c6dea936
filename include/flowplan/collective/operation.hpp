#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace flowplan::collective {

enum class Operation {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  send_recv,
  broadcast,
  reduce
};
/// `pairwise`: every pair of ranks by itself. `pxn`: the same, but what goes to another node first
/// crosses NVLink to the GPU at the receiver's place, so that the network carries rails only.
/// `hierarchical`: first an exchange inside each node that gathers by rail, then one between the
/// ranks of each rail, in messages for a whole node. `pat`: parallel aggregated trees, for one rank
/// a node. `collnet`: the network's switches reduce (SHARP).
enum class Algorithm { ring, tree, nvls, nvls_tree, pairwise, pxn, hierarchical, pat, collnet };
enum class Protocol { ll, ll128, simple };

inline constexpr std::array all_operations{
    Operation::all_reduce, Operation::all_gather, Operation::reduce_scatter, Operation::all_to_all,
    Operation::send_recv,  Operation::broadcast,  Operation::reduce};
inline constexpr std::array all_algorithms{
    Algorithm::ring,         Algorithm::tree,     Algorithm::nvls,
    Algorithm::nvls_tree,    Algorithm::pairwise, Algorithm::pxn,
    Algorithm::hierarchical, Algorithm::pat,      Algorithm::collnet};
inline constexpr std::array all_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

[[nodiscard]] std::string_view name(Operation operation);  ///< "all_reduce", "alltoall"
[[nodiscard]] std::string_view name(
    Algorithm algorithm);                                ///< "RING", "NVLSTREE": NCCL_ALGO's names
[[nodiscard]] std::string_view name(Protocol protocol);  ///< "LL128": NCCL_PROTO's names
/// By name, whatever its case and whether its words are joined by '_', '-' or nothing.
[[nodiscard]] std::optional<Operation> find_operation(std::string_view name);
[[nodiscard]] std::optional<Algorithm> find_algorithm(std::string_view name);
[[nodiscard]] std::optional<Protocol> find_protocol(std::string_view name);

/// nccl-tests' factor: busbw = algbw * bus_factor (doc/PERFORMANCE.md). `ranks` >= 2.
[[nodiscard]] double bus_factor(Operation operation, int ranks);

}  // namespace flowplan::collective
