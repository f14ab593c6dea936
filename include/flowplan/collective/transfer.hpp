#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/constants.hpp"

namespace flowplan::collective {

/// What benchmarks of single links and of exchanges without NCCL do.
enum class Transfer {
  gpu_copy,              ///< copy engine or copy kernel over NVLink, one way
  gpu_copy_both_ways,    ///< both ways at once; the sum
  host_copy,             ///< between host and device over PCIe, either way
  rdma_write,            ///< over the NICs given
  rdma_write_both_ways,  ///< the sum of both ways
  send_receive,          ///< libfabric's send and receive, round trips of large messages
  ping_pong,             ///< one way of a small message
  /// Every GPU writes to every GPU of other nodes, rail to rail; `size` is one message's.
  rdma_exchange,
  rdma_exchange_incast,     ///< the same across rails, all senders at one receiver at a time
  rdma_exchange_random,     ///< the same across rails in random order
  nvshmem_exchange_host,    ///< NVSHMEM's all-to-all launched by the host; `size` a rank's
  nvshmem_exchange_device,  ///< issued by a kernel
};

inline constexpr std::array all_transfers{Transfer::gpu_copy,
                                          Transfer::gpu_copy_both_ways,
                                          Transfer::host_copy,
                                          Transfer::rdma_write,
                                          Transfer::rdma_write_both_ways,
                                          Transfer::send_receive,
                                          Transfer::ping_pong,
                                          Transfer::rdma_exchange,
                                          Transfer::rdma_exchange_incast,
                                          Transfer::rdma_exchange_random,
                                          Transfer::nvshmem_exchange_host,
                                          Transfer::nvshmem_exchange_device};

/// "gpu_copy", ...: the enumerator.
[[nodiscard]] std::string_view name(Transfer transfer);

struct TransferOutcome {
  BytesPerSecond rate{};  ///< payload; of both ways where it says so
  Seconds time{};         ///< of `size`; for exchanges of one message a GPU's share of the line
};

/// Rate and time of a transfer over a link (or a GPU's, or a node's NICs together) of a given line
/// rate, one direction. `size` 0: large. The figures are fractions of the line, seen on the fabric
/// of the set; exchanges have a time a message beside that. NVSHMEM's rates are tables by size that
/// do not depend on the nodes (2 to 32 measured). Errors FP033: the set has no figures for it.
[[nodiscard]] Result<TransferOutcome> predict_transfer(const catalog::Constants& constants,
                                                       Transfer transfer, BytesPerSecond line,
                                                       Bytes size);

}  // namespace flowplan::collective
