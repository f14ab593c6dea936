#pragma once

#include <cstdint>

#include "flowplan/storage/mount.hpp"
#include "flowplan/storage/transfer.hpp"

namespace flowplan::storage {

enum class Direction { read, write };

/// How data is read or written.
struct Pattern {
  Direction direction = Direction::read;
  Bytes file{};        ///< size of a file or object; 0: large ones, whose count does not matter
  double files = 0.0;  ///< under way at once on all nodes; 0: as many as it takes
  std::uint64_t stripes = 0;  ///< targets that each is on; 0: the default layout
  /// Share of the bytes that touch the disks of a file system, 0..1: the rest comes out of the file
  /// servers' memory.
  double disk_share = 1.0;
  /// Bytes that the store delivers for each byte that is wanted, >= 1: ranks that all read the
  /// whole of what they share.
  double amplification = 1.0;
  bool to_gpu = true;  ///< ends or begins in GPU memory; false: in host memory
  const catalog::DataLoader* loader = nullptr;  ///< null: no cap of its own
};

/// The links between a mount and the GPUs of one node each: loader, copies between host and GPU,
/// NIC (ENA, or the EFA devices that collectives use too), client cap, requests, network and disks
/// of the file system, targets of the files, metadata. Docs: docs/models/storage.md. Errors: those
/// of `check(mount)`; FP032 where no rate of the node's disks is known.
[[nodiscard]] Result<Path> path(const Clients& clients, const Mount& mount, const Pattern& pattern);

}  // namespace flowplan::storage
