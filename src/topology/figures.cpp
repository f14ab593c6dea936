#include "figures.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "flowplan/catalog/constants.hpp"
#include "grouping.hpp"

namespace flowplan::topology {
namespace {

Diagnostics check(const ClusterSpec& spec) {
  Diagnostics faults;
  const auto refuse = [&](std::string message) {
    faults.push_back(error(Code::bad_cluster, std::move(message)));
  };
  if (spec.count < 1)
    refuse(fmt::format("a cluster of {} nodes: at least 1 is needed", spec.count));
  if (spec.wiring) {
    FLOWPLAN_ASSERT(spec.count >= 0 &&
                    spec.wiring->node.size() == static_cast<std::size_t>(spec.count));
    FLOWPLAN_ASSERT(spec.wiring->leaf.size() == spec.wiring->node.size());
    if (spec.instance->instances != 1)
      refuse(fmt::format("{} is a unit of several instances: an imported cluster is made of {}",
                         spec.instance->id, spec.instance->member));
  }
  const Fabric& fabric = spec.fabric;
  if (fabric.nodes_per_leaf < 0)
    refuse(
        fmt::format("{} nodes per leaf: at least 1, or 0 for the default", fabric.nodes_per_leaf));
  if (fabric.leaves_per_pod < 0)
    refuse(
        fmt::format("{} leaves per pod: at least 1, or 0 for the default", fabric.leaves_per_pod));
  const auto oversubscription = [&](const char* where, double ratio) {
    if (!(ratio >= 1.0) || !std::isfinite(ratio))
      refuse(fmt::format("{} oversubscription of {}: 1 is non-blocking, 2 is 2:1", where, ratio));
  };
  oversubscription("leaf", fabric.leaf_oversubscription);
  oversubscription("core", fabric.core_oversubscription);
  return faults;
}

Diagnostics check(const catalog::Constants& defaults) {
  Diagnostics faults;
  for (const catalog::Constants::Entry& entry : defaults.entries())
    if (!std::all_of(entry.values.begin(), entry.values.end(),
                     [](double value) { return value > 0.0 && std::isfinite(value); }))
      faults.push_back(error(Code::catalog_invalid, fmt::format("{}: {} must be greater than 0",
                                                                defaults.id(), entry.name)));
  return faults;
}

/// A default that counts things.
int count(const catalog::Constants& defaults, std::string_view name) {
  constexpr double most = 1e6;  // keeps the sums of counts within an int
  return static_cast<int>(std::clamp(std::round(defaults.at(name)), 1.0, most));
}

Diagnostic unknown(const catalog::Instance& instance, const char* figure, std::string hint) {
  return error(Code::unknown_figure, fmt::format("{}: {} is not known", instance.id, figure),
               std::move(hint));
}

/// GPUs of a node and of an NVLink domain of this cluster.
Result<void> read_domain(const ClusterSpec& spec, Figures& figures) {
  const catalog::Instance& instance = *spec.instance;
  if (instance.gpus < 1 || instance.instances < 1 || instance.gpus % instance.instances != 0)
    return fail(
        error(Code::catalog_invalid, fmt::format("{}: {} GPUs cannot be shared out to {} instances",
                                                 instance.id, instance.gpus, instance.instances)));
  figures.gpus_per_node = instance.gpus / instance.instances;

  const int domain = std::max(1, instance.nvlink_domain_gpus);
  const bool whole_nodes = domain % figures.gpus_per_node == 0;
  const bool fits_unit =
      domain <= instance.gpus ? instance.gpus % domain == 0 : domain % instance.gpus == 0;
  if (!whole_nodes || !fits_unit)
    return fail(
        error(Code::unsupported_feature,
              fmt::format("{}: an NVLink domain of {} GPUs is not a number of whole nodes of "
                          "{} GPUs",
                          instance.id, domain, figures.gpus_per_node)));

  figures.domain_gpus = domain;
  if (spec.wiring) {
    figures.domain_gpus =
        std::min(domain, static_cast<int>(spec.wiring->nodes_per_domain) * instance.gpus);
  } else if (domain > instance.gpus) {
    // An instance that exists in UltraServers only: a few are a part of one, more must be whole
    // ones.
    const int units = domain / instance.gpus;
    if (spec.count <= units)
      figures.domain_gpus = spec.count * instance.gpus;
    else if (spec.count % units != 0)
      return fail(error(Code::bad_cluster,
                        fmt::format("{} of {}: more than one NVLink domain must be whole ones",
                                    spec.count, instance.id),
                        fmt::format("at most {}, or a multiple of {}", units, units)));
  }
  if (figures.domain_gpus > 1) {
    if (!(spec.gpu->nvlink_gbytes_per_s.known && spec.gpu->nvlink_gbytes_per_s.value > 0.0))
      return fail(error(Code::unknown_figure,
                        fmt::format("{}: the NVLink bandwidth is not known", spec.gpu->id)));
    figures.nvlink = gigabytes_per_second(spec.gpu->nvlink_gbytes_per_s.value);
  }
  return {};
}

/// NIC groups and their rate. A cluster of one NVLink domain does without.
Result<void> read_network(const ClusterSpec& spec, Figures& figures) {
  const catalog::Instance& instance = *spec.instance;
  if (!(instance.efa_gbps_total.known && instance.efa_gbps_total.value > 0.0)) {
    if (static_cast<std::int64_t>(spec.count) * instance.gpus > figures.domain_gpus)
      return fail(unknown(
          instance, "efa_gbps_total",
          fmt::format("a single NVLink domain of {} GPUs needs no network", figures.domain_gpus)));
    figures.assumptions.push_back(fmt::format(
        "The network of {} is not known; inside one NVLink domain it is not used.", instance.id));
    return {};
  }

  figures.nics_per_node = figures.gpus_per_node;
  if (instance.efa_interfaces.known)
    while (figures.nics_per_node > 1 && (figures.nics_per_node > instance.efa_interfaces.value ||
                                         figures.gpus_per_node % figures.nics_per_node != 0))
      --figures.nics_per_node;
  const int groups = figures.nics_per_node * instance.instances;
  figures.nic = gigabits_per_second(instance.efa_gbps_total.value / groups);
  return {};
}

void read_host(const ClusterSpec& spec, Figures& figures) {
  if (figures.nics_per_node == 0) return;
  const catalog::Constants& defaults = *spec.defaults;
  const int gpus = figures.gpus_per_node;
  const int gpus_per_nic = gpus / figures.nics_per_node;

  int wanted = spec.instance->gpus_per_pcie_switch;
  if (wanted < 1) {
    wanted = count(defaults, "node.gpus_per_pcie_switch");
    if (gpus > 1)
      figures.assumptions.push_back(fmt::format(
          "GPUs per PCIe switch of {} are not known: {} assumed.", spec.instance->id, wanted));
  }
  // A NIC group hangs below one switch together with all of its GPUs.
  figures.gpus_per_pcie_switch = std::min(std::max(wanted, gpus_per_nic), gpus);
  while (gpus % figures.gpus_per_pcie_switch != 0 ||
         figures.gpus_per_pcie_switch % gpus_per_nic != 0)
    ++figures.gpus_per_pcie_switch;

  const int switches = gpus / figures.gpus_per_pcie_switch;
  figures.sockets_per_node = std::min(count(defaults, "node.cpu_sockets"), switches);
  while (switches % figures.sockets_per_node != 0)
    --figures.sockets_per_node;
  figures.socket = gigabytes_per_second(defaults.at("node.socket_link_gbytes_per_s"));

  const std::span<const double> generations = defaults.table("pcie.x16_gbytes_per_s");
  const auto least = std::find_if(generations.begin(), generations.end(), [&](double rate) {
    return gigabytes_per_second(rate) >= figures.nic;
  });
  figures.pcie = least != generations.end() ? gigabytes_per_second(*least) : figures.nic;
}

int most_in_a_group(const std::vector<std::uint32_t>& group_of) {
  return static_cast<int>(Grouping::listed(group_of).largest());
}

/// Nodes of the largest leaf. Of UltraServers only those that take ranks: others may be in the
/// graph to fill up what the file lists in part, and uplinks for these would never be short.
int nodes_of_largest_leaf(const Wiring& wiring) {
  std::vector<std::uint32_t> leaf;
  for (std::size_t node = 0; node < wiring.leaf.size(); ++node)
    if (wiring.nodes_per_domain == 1 || wiring.idle.empty() || !wiring.idle[node])
      leaf.push_back(wiring.leaf[node]);
  std::sort(leaf.begin(), leaf.end());
  std::ptrdiff_t most = 1;
  for (auto at = leaf.begin(); at != leaf.end();) {
    const auto end = std::upper_bound(at, leaf.end(), *at);
    most = std::max(most, end - at);
    at = end;
  }
  return static_cast<int>(most);
}

/// A real fabric is at least as large as what of it is known.
void read_wired_sizes(const ClusterSpec& spec, Figures& figures) {
  figures.nodes_per_leaf =
      std::max(spec.fabric.nodes_per_leaf, nodes_of_largest_leaf(*spec.wiring));
  figures.leaves_per_pod = std::max(spec.fabric.leaves_per_pod, most_in_a_group(spec.wiring->pod));
  if (spec.fabric.rail_optimised) figures.leaves_per_pod *= std::max(1, figures.nics_per_node);
}

void read_sizes(const ClusterSpec& spec, Figures& figures) {
  if (spec.wiring) return read_wired_sizes(spec, figures);
  const catalog::Constants& defaults = *spec.defaults;
  figures.nodes_per_leaf = spec.fabric.nodes_per_leaf;
  if (figures.nodes_per_leaf == 0) {
    const double nodes_per_domain =
        std::max(1.0, static_cast<double>(figures.domain_gpus) / figures.gpus_per_node);
    const double domains =
        std::max(1.0, std::round(count(defaults, "leaf.nodes") / nodes_per_domain));
    figures.nodes_per_leaf = static_cast<int>(domains * nodes_per_domain);
  }
  figures.leaves_per_pod = spec.fabric.leaves_per_pod;
  if (figures.leaves_per_pod == 0) figures.leaves_per_pod = count(defaults, "pod.leaves");
}

void read_latencies(const ClusterSpec& spec, Figures& figures) {
  const catalog::Constants& defaults = *spec.defaults;
  const Seconds pcie = microseconds(defaults.at("pcie.path_latency_us")) / 2.0;

  Seconds path = microseconds(defaults.at("infiniband.path_latency_us"));
  const std::span<const double> efa = defaults.table("efa.path_latency_us");
  if (spec.instance->efa_version > 0) {
    const auto version = static_cast<std::size_t>(spec.instance->efa_version);
    path = microseconds(efa[std::min(version, efa.size()) - 1]);
  }
  // Of a path over the NICs, what is not spent on its four PCIe links is the two NIC links'.
  const Seconds nic = std::max(path - 4.0 * pcie, Seconds(0.0)) / 2.0;

  const auto set = [&](Tier tier, Seconds latency) {
    figures.latency[static_cast<std::size_t>(tier)] = latency;
  };
  set(Tier::nvlink, microseconds(defaults.at("nvlink.path_latency_us")) / 2.0);
  set(Tier::pcie, pcie);
  set(Tier::efa, nic);
  set(Tier::leaf_spine, microseconds(defaults.at("switch.link_latency_us")));
  set(Tier::spine_core, microseconds(defaults.at("switch.link_latency_us")));
}

void note_fabric(const ClusterSpec& spec, Figures& figures) {
  if (spec.wiring)
    figures.assumptions.insert(figures.assumptions.end(), spec.wiring->notes.begin(),
                               spec.wiring->notes.end());
  if (figures.nics_per_node == 0) return;
  const Fabric& fabric = spec.fabric;
  const bool ec2 = spec.instance->kind != catalog::InstanceKind::reference;
  figures.assumptions.push_back(
      fmt::format("{}: {:g}:1 at the leaves and {:g}:1 at the core assumed.",
                  ec2 ? "AWS publishes no oversubscription ratio of its UltraClusters "
                        "(\"non-blocking\" is a claim)"
                      : "The fabric of this reference system is not described",
                  fabric.leaf_oversubscription, fabric.core_oversubscription));
  if (spec.wiring) {
    figures.assumptions.push_back(fmt::format(
        "Which nodes share a switch comes from the imported file, how many links a switch has does "
        "not: every leaf is built for {} nodes, every pod for {} leaves.",
        figures.nodes_per_leaf, figures.leaves_per_pod));
  } else if (fabric.nodes_per_leaf == 0 || fabric.leaves_per_pod == 0) {
    figures.assumptions.push_back(fmt::format(
        "Sizes of the fabric are not published: {} nodes below a leaf and {} leaves in a "
        "pod assumed.",
        figures.nodes_per_leaf, figures.leaves_per_pod));
  }
  figures.assumptions.push_back(
      fabric.routing == Routing::spray
          ? "Packets are spread over all equal paths, so parallel links act as one."
          : "Each pair of GPUs is hashed to one path.");
}

}  // namespace

Result<Figures> read_figures(const ClusterSpec& spec) {
  FLOWPLAN_ASSERT(spec.instance != nullptr);
  FLOWPLAN_ASSERT(spec.gpu != nullptr);
  FLOWPLAN_ASSERT(spec.defaults != nullptr);

  Diagnostics faults = check(spec);
  const Diagnostics bad_defaults = check(*spec.defaults);
  faults.insert(faults.end(), bad_defaults.begin(), bad_defaults.end());
  if (!faults.empty()) return fail(std::move(faults));

  Figures figures;
  if (Result<void> read = read_domain(spec, figures); !read) return fail(read.error());
  if (Result<void> read = read_network(spec, figures); !read) return fail(read.error());
  read_host(spec, figures);
  read_sizes(spec, figures);
  read_latencies(spec, figures);
  note_fabric(spec, figures);
  return figures;
}

}  // namespace flowplan::topology
