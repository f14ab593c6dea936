#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::storage {

/// The interface by which nodes reach a file system: sockets over ENA, Lustre over EFA through the
/// CPU, or EFA with GPUDirect Storage.
enum class Access { ena, efa, gds };
[[nodiscard]] std::string_view name(Access access);
[[nodiscard]] std::optional<Access> find_access(std::string_view name);

/// The nodes that read and write: EC2 instances, of an UltraServer its members.
struct Clients {
  const catalog::Instance* node = nullptr;
  const catalog::Gpu* gpu = nullptr;
  const catalog::Constants* defaults = nullptr;  ///< the set "storage-defaults"
  const catalog::Constants* fabric = nullptr;    ///< the set "fabric-defaults": PCIe generations
  std::uint32_t nodes = 1;
  int gpus_per_node = 1;
  BytesPerSecond efa{};              ///< of a node, one direction; 0: it has none
  std::optional<Bytes> host_memory;  ///< of a node, that the job may use; nothing: not known
};

/// The nodes of a cluster. Errors FP030 when the catalog lacks the default sets.
[[nodiscard]] Result<Clients> clients_of(const catalog::Catalog& catalog,
                                         const topology::Cluster& cluster);

/// Bytes/s between one GPU and the memory of its node, one direction: NVLink-C2C or PCIe lines
/// times the share of them that measured copies reach.
[[nodiscard]] BytesPerSecond host_copy_rate(const Clients& clients);

/// A storage service as it is set up for a cluster.
struct Mount {
  const catalog::StorageService* service = nullptr;
  Bytes capacity{};             ///< provisioned, of a Lustre file system
  BytesPerSecond throughput{};  ///< provisioned, of an Intelligent-Tiering one
  Access access = Access::ena;  ///< of a Lustre file system
  double metadata_iops = 0.0;   ///< 0: those that come with the capacity
  int prefixes = 1;             ///< of an object store, partitioned (directory buckets of Express)
  int connections = 0;          ///< of a node to an object store; 0: the catalog's default
  bool burst = false;           ///< rates on credits instead of the baseline
};

/// Everything wrong with a mount (FP063): a capacity that is not on a step, with the nearest that
/// are; EFA where the service or the instance has none; metadata rates off the steps; a size where
/// there is none to choose; local disks that the instance lacks.
[[nodiscard]] Diagnostics check(const Mount& mount, const Clients& clients);

/// Capacities that can be ordered next to one: at most one below and one above; the same when it
/// can be. Empty for a service without sizes.
[[nodiscard]] std::vector<Bytes> orderable(const catalog::StorageService& service, Access access,
                                           Bytes capacity);
/// A size as people type it ("4800GiB", "96TiB"). AWS's "1.2 TiB" is 1,200 GiB of its API, so a
/// number of TiB that is not on a step is read in that way where this is on one. `read_as`: says
/// so.
struct TypedCapacity {
  Bytes capacity{};
  std::string read_as;
};
[[nodiscard]] Result<TypedCapacity> parse_capacity(std::string_view text,
                                                   const catalog::StorageService& service,
                                                   Access access);

/// Of a Lustre file system, all clients together.
[[nodiscard]] BytesPerSecond network_rate(const Mount& mount);
[[nodiscard]] BytesPerSecond disk_read_rate(const Mount& mount);
[[nodiscard]] BytesPerSecond disk_write_rate(const Mount& mount);
/// RAM of its file servers: reads of what is in it do not touch the disks.
[[nodiscard]] Bytes server_cache(const Mount& mount);
/// Object storage targets: a file with one stripe is on one of them.
[[nodiscard]] std::uint64_t targets(const Mount& mount);
/// Metadata operations (create, open, close) a second.
[[nodiscard]] double metadata_rate(const Mount& mount, const catalog::Constants& defaults);
/// Targets that the default layout puts a file of that size on; at least 1.
[[nodiscard]] std::uint64_t default_stripes(Bytes file, const catalog::Constants& defaults);

/// "96,000 GiB of FSx for Lustre ... over EFA".
[[nodiscard]] std::string describe(const Mount& mount);

}  // namespace flowplan::storage
