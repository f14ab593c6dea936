#pragma once

#include <array>
#include <random>

#include "hardware.hpp"

namespace flowplan::topology {

/// A type of node and a fabric, small enough to look at every link. Fabrics have few nodes a leaf
/// and few leaves a pod, so that most clusters have all tiers.
struct RandomCluster {
  Hardware hardware;
  int count = 1;
  Fabric fabric;

  [[nodiscard]] Cluster build() const { return topology::build(hardware, count, fabric); }
};

/// A GPU of the cluster, any as likely as another.
inline GpuId any_gpu(const Cluster& cluster, std::mt19937& random) {
  return GpuId{static_cast<std::uint32_t>(random() % cluster.gpus())};
}

inline RandomCluster random_cluster(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](auto... values) {
    const std::array<int, sizeof...(values)> all{values...};
    return all[random() % all.size()];
  };
  const int gpus_per_node = pick(1, 2, 4, 8);
  const int instances = pick(1, 1, 1, 2, 3, 9);
  RandomCluster result{
      server("random", gpus_per_node * instances, 450, 100.0 * pick(1, 4, 8) * instances, 0, 2),
      pick(1, 2, 3, 5, 7, 16),
      {}};
  catalog::Instance& instance = result.hardware.instance;
  instance.instances = instances;
  instance.efa_interfaces = known(pick(1, 2, 4, 8, 16));
  instance.gpus_per_pcie_switch = pick(0, 1, 2, 4);
  result.fabric.nodes_per_leaf = pick(1, 2, 3, 4, 100);
  result.fabric.leaves_per_pod = pick(1, 2, 3, 100);
  result.fabric.leaf_oversubscription = pick(1, 2, 3);
  result.fabric.core_oversubscription = pick(1, 2, 4);
  result.fabric.routing = pick(0, 1) == 0 ? Routing::spray : Routing::ecmp;
  result.fabric.rail_optimised = pick(0, 0, 1) == 1;
  return result;
}

}  // namespace flowplan::topology
