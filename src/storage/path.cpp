#include "flowplan/storage/path.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace flowplan::storage {

namespace {

using catalog::Figure;
using catalog::StorageKind;

constexpr double bits = 8.0;

/// Puts a path together, limit by limit.
class PathBuilder {
 public:
  PathBuilder(const Clients& clients, const Mount& mount, const Pattern& pattern)
      : clients_(clients),
        mount_(mount),
        service_(*mount.service),
        pattern_(pattern),
        reads_(pattern.direction == Direction::read) {}

  Result<Path> build() {
    Diagnostics faults = check(mount_, clients_);
    if (!faults.empty()) return fail(std::move(faults));
    switch (service_.kind) {
      case StorageKind::lustre:
        add_lustre();
        break;
      case StorageKind::object:
        add_object();
        break;
      case StorageKind::block:
        add_block();
        break;
      case StorageKind::file:
        add_shared_file();
        break;
      case StorageKind::local:
        if (auto fault = add_local()) return fail(std::move(*fault));
        break;
      case StorageKind::memory:
        break;
    }
    add_host();
    add_loader();
    path_.latency = milliseconds(service_.get("latency_ms", 0.0));
    // What a rank reads and does not want is not copied to its GPU.
    for (Limit& limit : path_.limits) {
      if (!limit.id.starts_with("node.host_copy")) limit.per_byte *= pattern_.amplification;
    }
    return std::move(path_);
  }

 private:
  void node_limit(std::string id, std::string name, double capacity, std::string how,
                  std::string confidence, double per_byte = 1.0) {
    path_.limits.push_back({std::move(id), std::move(name), capacity, false, per_byte,
                            std::move(how), std::move(confidence)});
  }
  void shared_limit(std::string id, std::string name, double capacity, std::string how,
                    std::string confidence, double per_byte = 1.0) {
    path_.limits.push_back({std::move(id), std::move(name), capacity, true, per_byte,
                            std::move(how), std::move(confidence)});
  }
  void warn(std::string id, std::string message) {
    path_.warnings.push_back({std::move(id), std::move(message)});
  }

  [[nodiscard]] const char* way() const { return reads_ ? "read" : "write"; }

  void add_lustre() {
    const bool tiering = service_.figure("throughput_step_mib_per_s").known;
    const double tib = mount_.capacity / gibibytes(1024.0);
    const auto per_tib = [&](BytesPerSecond rate) {
      if (tiering) return fmt::format("provisioned {:.0f} MiB/s", rate.value() / 1048576.0);
      return fmt::format("{:.5g} TiB x {:.4g} MiB/s", tib, rate.value() / 1048576.0 / tib);
    };
    if (pattern_.disk_share > 0.0) {
      const BytesPerSecond disk = reads_ ? disk_read_rate(mount_) : disk_write_rate(mount_);
      shared_limit(fmt::format("lustre.disk_{}", way()), "disks of the file system", disk.value(),
                   per_tib(disk), "vendor_claim", pattern_.disk_share);
      add_targets(disk);
    }
    const BytesPerSecond network = network_rate(mount_);
    shared_limit(fmt::format("lustre.network_{}", way()), "network of the file servers",
                 network.value(), per_tib(network), "vendor_claim");
    add_metadata();
    add_lustre_client();
    if (mount_.burst)
      warn("burst", "rates on burst credits, whose amount is not published: minutes at most");
    const Figure quota = service_.figure("quota_gib");
    if (quota.known && mount_.capacity / gibibytes(1.0) > quota.value)
      warn("fsx_quota", fmt::format("{:.0f} GiB exceed an account's default quota of {:.0f} GiB",
                                    mount_.capacity / gibibytes(1.0), quota.value));
  }

  /// Files with few stripes cannot use every disk.
  void add_targets(BytesPerSecond disk) {
    if (pattern_.files <= 0.0) return;
    const std::uint64_t all = targets(mount_);
    const std::uint64_t stripes = pattern_.stripes > 0
                                      ? pattern_.stripes
                                      : default_stripes(pattern_.file, *clients_.defaults);
    const double hit = std::min(static_cast<double>(all),
                                pattern_.files * static_cast<double>(std::min(stripes, all)));
    if (hit >= static_cast<double>(all)) return;
    const double one = disk.value() / static_cast<double>(all);
    shared_limit(fmt::format("lustre.targets_{}", way()), "targets that the files are on",
                 one * hit,
                 fmt::format("{:.0f} of {} targets x {:.4g} GB/s: {:.0f} files with {} stripe{}",
                             hit, all, one / 1e9, pattern_.files, stripes, stripes == 1 ? "" : "s"),
                 "derived");
  }

  void add_metadata() {
    if (pattern_.file.value() <= 0.0) return;
    const double rate = metadata_rate(mount_, *clients_.defaults);
    shared_limit(
        "lustre.metadata", "metadata operations", rate,
        fmt::format("{:.0f} opens a second, {:.4g} MB a file", rate, pattern_.file.value() / 1e6),
        "third_party_reading", 1.0 / pattern_.file.value());
    add_streams();
  }

  /// Small files wait for their first byte; so many are under way at once.
  void add_streams() {
    const double streams = clients_.defaults->at("file.streams_per_node");
    const double latency = service_.get("latency_ms", 0.0) / 1e3;
    if (latency <= 0.0) return;
    node_limit(
        "client.streams", "reads under way at once", streams,
        fmt::format("{:.0f} a node, {:.3g} ms each beside the bytes", streams, 1e3 * latency),
        "assumed", latency / pattern_.file.value());
  }

  void add_lustre_client() {
    const std::span<const double> caps = clients_.defaults->table("lustre.client_gbps");
    const double cap = caps[static_cast<std::size_t>(mount_.access)];
    node_limit(
        fmt::format("lustre.client_{}", way()),
        fmt::format("Lustre client over {}", mount_.access == Access::ena   ? "ENA"
                                             : mount_.access == Access::efa ? "EFA"
                                                                            : "EFA with GDS"),
        cap * 1e9 / bits, fmt::format("{:.0f} Gbit/s a client", cap), "third_party_reading");
    if (mount_.access != Access::ena) {
      node_limit(
          fmt::format("node.efa_{}", way()), "EFA devices of a node", clients_.efa.value(),
          fmt::format("{:.0f} Gbit/s, shared with collectives", clients_.efa.value() * bits / 1e9),
          "vendor_api");
      return;
    }
    const double each = clients_.defaults->at("lustre.client_ost_ena_gbps");
    const double all = static_cast<double>(targets(mount_));
    node_limit("lustre.client_targets", "connections of a client to the targets",
               each * all * 1e9 / bits, fmt::format("{:.0f} targets x {:.0f} Gbit/s", all, each),
               "third_party_reading");
    add_ena();
  }

  void add_ena() {
    Figure ena = clients_.node->ena_gbps;
    if (!ena.known) {
      warn("ena_unknown",
           fmt::format("the ENA rate of {} is not published: no limit was set", clients_.node->id));
      return;
    }
    node_limit(fmt::format("node.ena_{}", way()), "ENA of a node", ena.value * 1e9 / bits,
               fmt::format("{:.0f} Gbit/s", ena.value), ena.source.confidence);
  }

  /// Bytes/s of one connection, when so many are open: measured at some counts.
  [[nodiscard]] double connection_rate(int connections) const {
    const std::span<const double> counts = clients_.defaults->table("object.connections");
    const std::span<const double> rates =
        clients_.defaults->table("object.connection_mbytes_per_s");
    std::size_t row = 0;
    while (row + 1 < counts.size() && connections > counts[row + 1])
      ++row;
    if (row + 1 == counts.size() || connections <= counts.front())
      return 1e6 * (connections <= counts.front() ? rates.front() : rates.back());
    const double share = (connections - counts[row]) / (counts[row + 1] - counts[row]);
    return 1e6 * (rates[row] + std::clamp(share, 0.0, 1.0) * (rates[row + 1] - rates[row]));
  }

  void add_object() {
    const double part = 1e6 * service_.get("part_mb", 8.0);
    const double file = pattern_.file.value();
    const double request = file > 0.0 ? std::min(file, part) : part;
    const double each = service_.get(reads_ ? "get_per_s_per_prefix" : "put_per_s_per_prefix", 1.0);
    shared_limit(fmt::format("object.requests_{}", way()),
                 fmt::format("{} requests of the store", reads_ ? "GET" : "PUT"),
                 each * mount_.prefixes,
                 fmt::format("{} prefix{} x {:.0f} a second, {:.4g} MB each", mount_.prefixes,
                             mount_.prefixes == 1 ? "" : "es", each, request / 1e6),
                 "vendor_claim", 1.0 / request);
    const int connections =
        mount_.connections > 0
            ? mount_.connections
            : static_cast<int>(clients_.defaults->at("object.connections_per_node"));
    const double rate = connection_rate(connections);
    // A small request takes its first byte's time, but no longer than a whole part was seen to.
    const double latency = std::min(service_.get("latency_ms", 0.0) / 1e3, part / rate);
    const double seconds = std::max(request / rate, latency);
    node_limit(fmt::format("object.connections_{}", way()), "connections of a node",
               static_cast<double>(connections),
               fmt::format("{} x {:.4g} MB/s", connections, request / seconds / 1e6), "measured",
               seconds / request);
    add_ena();
  }

  void add_block() {
    const double volume = mebibytes(service_.get("volume_mib_per_s", 0.0)).value() *
                          service_.get("reached_share", 1.0);
    node_limit(fmt::format("block.volume_{}", way()), "volume of a node", volume,
               fmt::format("{:.0f} MiB/s x {:.3g} reached", service_.get("volume_mib_per_s", 0.0),
                           service_.get("reached_share", 1.0)),
               "measured");
    const Figure ebs = catalog::figure_of(clients_.node->facts, "ebs_mbytes_per_s");
    if (ebs.known)
      node_limit("node.ebs", "EBS link of a node", ebs.value * 1e6,
                 fmt::format("{:.0f} MB/s", ebs.value), ebs.source.confidence);
  }

  void add_shared_file() {
    const double rate = service_.get("client_mib_per_s", 0.0);
    node_limit(fmt::format("file.client_{}", way()), "file server's rate to a client",
               mebibytes(rate).value(), fmt::format("{:.0f} MiB/s", rate), "derived");
    add_ena();
  }

  std::optional<Diagnostic> add_local() {
    const char* figure = reads_ ? "nvme_read_gbytes_per_s" : "nvme_write_gbytes_per_s";
    const Figure rate = catalog::figure_of(clients_.node->facts, figure);
    if (!rate.known)
      return error(Code::unknown_figure,
                   fmt::format("{}: {} is not known", clients_.node->id, figure),
                   "lay it over the catalog with --catalog");
    const double share = service_.get(reads_ ? "read_share" : "write_share", 1.0);
    node_limit(fmt::format("local.disk_{}", way()), "local disks of a node",
               rate.value * share * 1e9, fmt::format("{:.4g} GB/s, RAID 0", rate.value), "assumed");
    warn("nvme_assumed",
         fmt::format("the rate of {}'s local disks is a lower bound from 4 KiB IOPS: no "
                     "measurement is known",
                     clients_.node->id));
    return std::nullopt;
  }

  /// Copies between host and GPUs, where the data goes through host memory.
  void add_host() {
    const bool direct = service_.kind == StorageKind::lustre && mount_.access == Access::gds;
    if (!pattern_.to_gpu || direct) return;
    const BytesPerSecond each = host_copy_rate(clients_);
    node_limit(fmt::format("node.host_copy_{}", way()), "copies between host and GPUs",
               each.value() * clients_.gpus_per_node,
               fmt::format("{} GPUs x {:.4g} GB/s", clients_.gpus_per_node, each.value() / 1e9),
               "derived");
  }

  void add_loader() {
    if (pattern_.loader == nullptr) return;
    const Figure node = pattern_.loader->figure("node_gbytes_per_s");
    if (node.known)
      node_limit("loader.node", fmt::format("loader {} of a node", pattern_.loader->id),
                 node.value * 1e9, fmt::format("{:.4g} GB/s", node.value), node.source.confidence);
    const Figure stream = pattern_.loader->figure("stream_gbytes_per_s");
    if (!stream.known) return;
    const Figure per_gpu = pattern_.loader->figure("streams_per_gpu");
    const double streams = clients_.gpus_per_node * (per_gpu.known ? per_gpu.value : 1.0);
    node_limit("loader.streams", fmt::format("loader {}", pattern_.loader->id),
               streams * stream.value * 1e9,
               fmt::format("{:.0f} streams x {:.4g} GB/s", streams, stream.value),
               stream.source.confidence);
  }

  const Clients& clients_;
  const Mount& mount_;
  const catalog::StorageService& service_;
  const Pattern& pattern_;
  bool reads_;
  Path path_;
};

}  // namespace

Result<Path> path(const Clients& clients, const Mount& mount, const Pattern& pattern) {
  return PathBuilder(clients, mount, pattern).build();
}

}  // namespace flowplan::storage
