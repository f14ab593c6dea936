#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowplan/catalog/constants.hpp"
#include "flowplan/catalog/hardware.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::topology {

inline catalog::Figure known(double value) {
  return {value, true, {}};
}

/// Catalog entries by hand, so that a test says which figures it rests on.
struct Hardware {
  catalog::Gpu gpu;
  catalog::Instance instance;
  catalog::Constants defaults;

  [[nodiscard]] ClusterSpec spec(int count, Fabric fabric = {}) const {
    return {&instance, count, fabric, &gpu, &defaults};
  }
};

inline catalog::Constants fabric_defaults() {
  const auto entry = [](std::string name, std::vector<double> values) {
    return catalog::Constants::Entry{std::move(name), std::move(values), {}};
  };
  return {"fabric-defaults",
          "fabric",
          {entry("leaf.nodes", {32}), entry("pod.leaves", {16}), entry("node.cpu_sockets", {2}),
           entry("node.gpus_per_pcie_switch", {2}), entry("node.socket_link_gbytes_per_s", {64}),
           entry("pcie.x16_gbytes_per_s", {15.754, 31.508, 63.015, 121.0}),
           entry("nvlink.path_latency_us", {0.6}), entry("pcie.path_latency_us", {1.0}),
           entry("efa.path_latency_us", {73, 27, 19, 20}),
           entry("infiniband.path_latency_us", {2.7}), entry("switch.link_latency_us", {0.5})}};
}

/// A server with its own NVLink domain; `nvlink` in 10^9 byte/s per direction, 0 for one GPU.
inline Hardware server(std::string id, int gpus, double nvlink, double efa_gbps, int interfaces,
                       int efa_version) {
  Hardware hardware{{}, {}, fabric_defaults()};
  hardware.gpu.id = "gpu of " + id;
  if (nvlink > 0.0) hardware.gpu.nvlink_gbytes_per_s = known(nvlink);
  hardware.instance.id = std::move(id);
  hardware.instance.gpus = gpus;
  hardware.instance.nvlink_domain_gpus = gpus;
  hardware.instance.efa_gbps_total = known(efa_gbps);
  hardware.instance.efa_interfaces = known(interfaces);
  hardware.instance.efa_version = efa_version;
  return hardware;
}

inline Hardware p5() {
  return server("p5.48xlarge", 8, 450, 3200, 32, 2);
}
inline Hardware p5_4xlarge() {
  return server("p5.4xlarge", 1, 0, 100, 1, 2);
}
inline Hardware p4d() {
  Hardware hardware = server("p4d.24xlarge", 8, 300, 400, 4, 1);
  hardware.instance.gpus_per_pcie_switch = 2;
  return hardware;
}
/// 18 instances of 4 GPUs, one NVLink domain, 400 Gbps usable by each GPU.
inline Hardware ultraserver() {
  Hardware hardware = server("u-p6e-gb200x72", 72, 900, 28800, 0, 4);
  hardware.instance.kind = catalog::InstanceKind::ultraserver;
  hardware.instance.instances = 18;
  hardware.instance.efa_interfaces = {};
  return hardware;
}

inline Cluster build(const Hardware& hardware, int count, Fabric fabric = {}) {
  return std::move(Cluster::build(hardware.spec(count, fabric)).value());
}

inline std::vector<Tier> tiers(const Cluster& cluster, const std::vector<flow::LinkId>& links) {
  std::vector<Tier> result;
  for (flow::LinkId link : links)
    result.push_back(cluster.tier(link));
  return result;
}

inline std::vector<flow::LinkId> route(const Cluster& cluster, std::uint32_t from,
                                       std::uint32_t to) {
  std::vector<flow::LinkId> links;
  cluster.route(GpuId{from}, GpuId{to}, links);
  return links;
}

inline double capacity(const Cluster& cluster, flow::LinkId link) {
  return cluster.network().capacity[flow::index(link)];
}

}  // namespace flowplan::topology
