#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace flowplan::collective {

enum class Operation { all_reduce, all_gather, reduce_scatter, send_recv };
enum class Algorithm { ring, tree, nvls, nvls_tree };
enum class Protocol { ll, ll128, simple };

inline constexpr std::array all_operations{Operation::all_reduce, Operation::all_gather,
                                           Operation::reduce_scatter, Operation::send_recv};
inline constexpr std::array all_algorithms{Algorithm::ring, Algorithm::tree, Algorithm::nvls,
                                           Algorithm::nvls_tree};
inline constexpr std::array all_protocols{Protocol::ll, Protocol::ll128, Protocol::simple};

[[nodiscard]] std::string_view name(Operation operation);  ///< "all_reduce"
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
