#include "settle.hpp"

#include <cmath>

#include <fmt/format.h>

namespace flowplan::catalog {

namespace {

constexpr std::string_view peak_prefix = "dense_tflops.";
constexpr double largest_count = 1e6;  // GPUs or instances in one unit

class Settler {
 public:
  explicit Settler(const std::vector<Fact>& facts) : facts_(facts) {}

  /// A figure that may be unknown but not below zero.
  Figure figure(std::string_view name) {
    const Figure found = figure_of(facts_, name);
    if (found.known && found.value < 0.0) {
      faults.push_back(fmt::format("`{}` is {}, expected 0 or more", name, found.value));
    }
    return found;
  }

  /// A figure that must be there, though it may be unknown.
  Figure listed(std::string_view name) {
    if (find(facts_, name) == nullptr) faults.push_back(fmt::format("`{}` is missing", name));
    return figure(name);
  }

  /// A whole number; `least` when it is wrong or left out.
  int count(std::string_view name, int least, bool required = false) {
    const Figure found = required ? listed(name) : figure(name);
    if (!found.known) {
      if (required && find(facts_, name) != nullptr) {
        faults.push_back(fmt::format("`{}` must be known", name));
      }
      return least;
    }
    if (found.value != std::floor(found.value) || found.value < least ||
        found.value > largest_count) {
      faults.push_back(fmt::format("`{}` is {}, expected a whole number of at least {}", name,
                                   found.value, least));
      return least;
    }
    return static_cast<int>(found.value);
  }

  std::vector<std::string> faults;

 private:
  const std::vector<Fact>& facts_;
};

}  // namespace

std::vector<std::string> settle(Gpu& gpu) {
  Settler of(gpu.facts);
  gpu.sm_count = of.figure("sm_count");
  gpu.hbm_gb = of.figure("hbm_gb");
  gpu.hbm_driver_mib = of.figure("hbm_driver_mib");
  gpu.hbm_gbytes_per_s = of.listed("hbm_gbytes_per_s");
  gpu.nvlink_gbytes_per_s = of.listed("nvlink_gbytes_per_s_per_direction");
  gpu.tdp_w = of.figure("tdp_w");
  gpu.dense_tflops.clear();
  of.listed("dense_tflops.bf16");
  for (const Fact& fact : gpu.facts) {
    if (!fact.name.starts_with(peak_prefix)) continue;
    const auto precision = model::find_precision(fact.name.substr(peak_prefix.size()));
    if (!precision) {
      of.faults.push_back(fmt::format("`{}` names no precision", fact.name));
    } else {
      gpu.dense_tflops[*precision] = of.figure(fact.name);
    }
  }
  if (gpu.name.empty()) gpu.name = gpu.id;
  return std::move(of.faults);
}

std::vector<std::string> settle(Instance& instance) {
  Settler of(instance.facts);
  instance.gpus = of.count("gpus", 1, true);
  instance.instances = of.count("instances", 1);
  instance.nvlink_domain_gpus = of.count("nvlink_domain_gpus", 1, true);
  instance.nvls = of.figure("nvls_supported").value != 0.0;
  instance.hbm_reported_mib_per_gpu = of.listed("hbm_reported_mib_per_gpu");
  instance.efa_gbps_total = of.listed("efa_gbps_total");
  instance.efa_interfaces = of.figure("efa_interfaces_max");
  instance.efa_version = of.count("efa_version", 0);
  instance.network_nodes = of.figure("network_nodes");
  instance.gpus_per_pcie_switch = of.count("gpus_per_pcie_switch", 0);
  instance.host_memory_mib = of.figure("host_memory_mib");
  instance.vcpus = of.figure("vcpus");
  instance.nvme_total_gb = of.figure("nvme_total_gb");
  instance.ena_gbps = of.figure("ena_gbps_max");
  if (instance.name.empty()) instance.name = instance.id;
  return std::move(of.faults);
}

}  // namespace flowplan::catalog
