#pragma once

#include <vector>

#include "flowplan/collective/schedule.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::collective {

/// Capacity that a byte of payload takes, over the link's line rate.
struct Coefficients {
  double nvlink = 1.0;
  double network = 1.0;
  double wire = 1.0;  ///< on links that nothing was calibrated for
};

/// Shows a visitor flows along the cluster's routes, around NICs that have failed.
class FlowWriter {
 public:
  FlowWriter(const topology::Cluster& cluster, const Coefficients& coefficients,
             const FlowVisitor& visit)
      : cluster_(cluster), coefficients_(coefficients), visit_(visit) {}

  [[nodiscard]] const topology::Cluster& cluster() const { return cluster_; }

  /// From one GPU to another; by all ways out and in, in equal parts.
  void send(topology::GpuId from, topology::GpuId to, double bytes);

  // Parts of ways, for loads that are counted.
  /// Through a GPU's port to its NVLink switch, out and in at once.
  void through_port(topology::GpuId gpu, double bytes);
  void port_out(topology::GpuId gpu, double bytes);
  void port_in(topology::GpuId gpu, double bytes);
  /// By a GPU's own NICs out of the node, and in.
  void leave(topology::GpuId by, double bytes);
  void enter(topology::GpuId by, double bytes);
  void cross(flow::LinkId link, double bytes);

 private:
  void send_by(topology::GpuId from, topology::GpuId exit, topology::GpuId entry,
               topology::GpuId to, double bytes);
  void hop(topology::GpuId from, topology::GpuId to);
  void show(double bytes);
  [[nodiscard]] double coefficient(flow::LinkId link) const;

  const topology::Cluster& cluster_;
  Coefficients coefficients_;
  const FlowVisitor& visit_;
  std::vector<flow::LinkId> links_;
  std::vector<flow::Use> uses_;
};

}  // namespace flowplan::collective
