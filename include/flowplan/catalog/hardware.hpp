#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/catalog/figure.hpp"
#include "flowplan/model/precision.hpp"

namespace flowplan::catalog {

enum class GpuGeneration { ampere, hopper, blackwell };

/// One GPU as sold in a system.
struct Gpu {
  std::string id;    ///< "H100-SXM-80GB"
  std::string name;  ///< for people
  GpuGeneration generation{};
  Figure sm_count;
  Figure hbm_gb;            ///< nominal (marketing) capacity, 10^9 byte
  Figure hbm_driver_mib;    ///< what the driver reports, 2^20 byte
  Figure hbm_gbytes_per_s;  ///< 10^9 byte/s
  std::map<model::Precision, Figure>
      dense_tflops;            ///< 10^12 FLOP/s dense; FP8 variants share fp8's
  Figure nvlink_gbytes_per_s;  ///< per direction, 10^9 byte/s
  Figure tdp_w;
  std::string calibration;  ///< id of its kernel calibration
  std::vector<Fact> facts;  ///< every figure of the entry, in the file's order

  /// Dense peak; nothing when the GPU does not have that precision or it is unknown. MXFP8 needs
  /// Blackwell.
  [[nodiscard]] std::optional<FlopsPerSecond> peak(model::Precision precision) const;
};

enum class InstanceKind { instance, ultraserver, reference };
/// "instance", "ultraserver", "reference".
[[nodiscard]] std::string_view name(InstanceKind kind);

/// An EC2 instance type, an UltraServer (several instances that share one NVLink domain), or a
/// reference system behind published measurements.
struct Instance {
  std::string id;    ///< "p5.48xlarge", "u-p6e-gb200x72", "dgx-h100"
  std::string name;  ///< for people; the id where the entry has none
  InstanceKind kind{};
  std::string family;               ///< "p5"
  std::string gpu;                  ///< Gpu::id
  int gpus = 0;                     ///< in one unit of this type
  int instances = 1;                ///< EC2 instances in it (UltraServer: 9 or 18)
  int nvlink_domain_gpus = 0;       ///< GPUs that one NVLink switch plane joins
  bool nvls = false;                ///< in-switch reduction
  Figure hbm_reported_mib_per_gpu;  ///< what the driver reports, 2^20 byte
  Figure efa_gbps_total;         ///< usable by the unit, 10^9 bit/s per direction (InfiniBand too)
  Figure efa_interfaces;         ///< of an instance; of an UltraServer's member
  int efa_version = 0;           ///< 0: not EFA (reference systems) or not published
  std::string fabric;            ///< "EFAv2 SRD", "InfiniBand NDR", ...
  Figure network_nodes;          ///< topology layers that EC2 reports
  int gpus_per_pcie_switch = 0;  ///< 0: unknown or none
  Figure host_memory_mib;
  Figure vcpus;
  Figure nvme_total_gb;              ///< 10^9 byte
  Figure ena_gbps;                   ///< 10^9 bit/s
  std::string collective_profile;    ///< default software profile for collectives
  std::string member;                ///< the instance type that an UltraServer is made of
  std::vector<std::string> only_in;  ///< UltraServers that alone offer this instance type
  std::vector<std::string> unknown;  ///< figures that a prediction would need and nobody published
  std::vector<std::string> notes;
  std::vector<Fact> facts;  ///< every figure of the entry, in the file's order

  /// Bytes a program can allocate on one GPU: what the driver reports, not the marketing figure.
  [[nodiscard]] Bytes hbm_per_gpu() const;
  /// EFA (or InfiniBand) bandwidth of one GPU's share, one direction; 0 when it is not known.
  [[nodiscard]] BytesPerSecond efa_per_gpu() const;
};

/// A generation of the networks between nodes.
struct Network {
  std::string id;    ///< "efa-v2", "infiniband-ndr"
  std::string name;  ///< for people
  std::vector<std::string> notes;
  std::vector<Fact> facts;  ///< every figure of the entry, in the file's order
};

/// An hourly price.
struct Price {
  std::string instance;
  std::string purchase;  ///< "on_demand", "capacity_block", "savings_plan_3y", ...
  Usd per_hour{};        ///< for one unit of the instance
  std::string region;    ///< as published: one region, several, or "all listed commercial regions"
  std::string as_of;     ///< date of the price
  Source source;
};

}  // namespace flowplan::catalog
