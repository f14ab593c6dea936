#include "cluster_options.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/text_file.hpp"
#include "flowplan/topology/clos.hpp"
#include "flowplan/topology/degradation.hpp"
#include "flowplan/topology/import.hpp"

namespace flowplan::cli {

namespace {

constexpr int most_nodes = 1000000;
constexpr int most_ports = 100000;
constexpr int most_ranks = 100000000;
constexpr double most_oversubscription = 1000.0;
constexpr std::size_t largest_import = 256u << 20;

Result<double> ratio_option(const Arguments& arguments, const char* name) {
  const auto text = arguments.value(name);
  if (!text) return 1.0;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (end == text->c_str() || *end != '\0' || !(value >= 1.0 && value <= most_oversubscription)) {
    return fail(error(Code::usage, fmt::format("--{} {}: a ratio is needed", name, *text),
                      "from 1 to 1000: 2 means 2:1"));
  }
  return value;
}

Result<topology::Fabric> fabric_from(const Arguments& arguments) {
  topology::Fabric fabric;
  const auto per_leaf = int_option(arguments, "nodes-per-leaf", 1, most_nodes);
  if (!per_leaf) return fail(per_leaf.error());
  const auto per_pod = int_option(arguments, "leaves-per-pod", 1, most_nodes);
  if (!per_pod) return fail(per_pod.error());
  const auto leaf_ratio = ratio_option(arguments, "oversubscription");
  if (!leaf_ratio) return fail(leaf_ratio.error());
  const auto core_ratio = ratio_option(arguments, "core-oversubscription");
  if (!core_ratio) return fail(core_ratio.error());
  fabric.nodes_per_leaf = per_leaf->value_or(0);
  fabric.leaves_per_pod = per_pod->value_or(0);
  fabric.leaf_oversubscription = *leaf_ratio;
  fabric.core_oversubscription = *core_ratio;
  if (arguments.value("routing") == "ecmp") fabric.routing = topology::Routing::ecmp;
  fabric.rail_optimised = arguments.has("rail-optimised");
  return fabric;
}

/// With the fabric that --radix makes, where it is given.
Result<topology::Cluster> built(const Arguments& arguments, const catalog::Catalog& catalog,
                                topology::ClusterSpec spec) {
  auto cluster = topology::Cluster::build(catalog, spec);
  const auto radix = int_option(arguments, "radix", 2, most_ports);
  if (!radix) return fail(radix.error());
  if (!cluster || !radix->has_value()) return cluster;
  if (arguments.has("nodes-per-leaf") || arguments.has("leaves-per-pod") || arguments.has("import"))
    return fail(error(Code::usage, "--radix decides how many nodes a leaf and leaves a pod has",
                      "leave out --nodes-per-leaf, --leaves-per-pod and --import"));
  const auto fabric = topology::clos_of_radix(*cluster, **radix);
  if (!fabric) return fail(fabric.error());
  spec.fabric = *fabric;
  return topology::Cluster::build(catalog, spec);
}

}  // namespace

std::vector<Option> cluster_options() {
  return {{"instance", 0, "INSTANCE", "Instance type, UltraServer or reference system.", false, {}},
          {"nodes", 0, "N", "How many of them; 1 by default.", false, {}},
          {"import",
           0,
           "FILE",
           "Take the nodes and their switches from EC2 DescribeInstanceTopology, Slurm's "
           "topology.conf or topology.yaml, or `kubectl get nodes -o yaml|json`.",
           false,
           {}},
          {"import-format",
           0,
           "NAME",
           "Of that file; found from its content by default.",
           false,
           {"ec2", "slurm", "slurm-yaml", "kubernetes", "volcano", "nccl", "nvidia-smi"}},
          {"nodes-per-leaf", 0, "N", "Nodes under one leaf.", false, {}},
          {"leaves-per-pod", 0, "N", "Leaves under one spine.", false, {}},
          {"radix",
           0,
           "N",
           "Instead of both: ports of a switch, each of one NIC group's rate.",
           false,
           {}},
          {"oversubscription", 0, "RATIO", "Of the leaves' uplinks; 1 by default.", false, {}},
          {"core-oversubscription", 0, "RATIO", "Of the pods' uplinks; 1 by default.", false, {}},
          {"rail-optimised", 0, "", "A leaf for each NIC group of the nodes below it.", false, {}},
          {"routing", 0, "NAME", "How flows spread over equal paths.", false, {"spray", "ecmp"}}};
}

Result<topology::Cluster> imported_cluster(const Arguments& arguments,
                                           const catalog::Catalog& catalog, std::string text) {
  const std::string path = arguments.value("import").value_or("");
  if (arguments.has("nodes"))
    return fail(error(Code::usage, "--nodes with --import", "the file says which nodes there are"));
  std::optional<topology::ImportFormat> format;
  if (const auto name = arguments.value("import-format"))
    format = topology::find_import_format(*name);
  const auto imported =
      topology::read_topology(std::move(text), path == "-" ? "<stdin>" : path, format);
  if (!imported) return fail(imported.error());
  auto spec = topology::wire(catalog, *imported, arguments.value("instance").value_or(""));
  if (!spec) return fail(spec.error());
  const auto fabric = fabric_from(arguments);
  if (!fabric) return fail(fabric.error());
  spec->fabric = *fabric;
  return built(arguments, catalog, *spec);
}

Result<topology::Cluster> cluster_from(const Arguments& arguments,
                                       const catalog::Catalog& catalog) {
  if (const auto path = arguments.value("import")) {
    auto text = read_text(*path, largest_import);
    if (!text) return fail(std::move(text.error()));
    return imported_cluster(arguments, catalog, std::move(*text));
  }
  if (arguments.has("import-format"))
    return fail(error(Code::usage, "--import-format belongs to --import"));
  const auto name = arguments.value("instance");
  if (!name) {
    return fail(error(Code::usage, "an instance type is needed",
                      "for example --instance p5.48xlarge; `flowplan catalog list` shows them"));
  }
  const auto instance = catalog.instance(*name);
  if (!instance) return fail(instance.error());
  const auto nodes = int_option(arguments, "nodes", 1, most_nodes);
  if (!nodes) return fail(nodes.error());
  const auto fabric = fabric_from(arguments);
  if (!fabric) return fail(fabric.error());
  topology::ClusterSpec spec;
  spec.instance = *instance;
  spec.count = nodes->value_or(1);
  spec.fabric = *fabric;
  return built(arguments, catalog, spec);
}

Option degrade_option() {
  return {"degrade",
          0,
          "SPEC",
          "Slow or fail a part: nic:gpu12=0.5 (its NICs at half rate, 0: failed), nic:node3, "
          "nvlink:gpu12, pcie:gpu12, gpu:gpu12, node:node3, leaf:leaf5, uplink:leaf5, uplink:pod1, "
          "link:node0.nic0->leaf0; several with commas. GPUs that fail (gpu: or node: at 0) get no "
          "ranks.",
          true,
          {}};
}

Result<topology::Cluster> degraded(const Arguments& arguments, const topology::Cluster& cluster) {
  std::vector<topology::Slowdown> slow;
  for (const std::string& text : arguments.values("degrade")) {
    const auto parsed = topology::parse_degradation(cluster, text);
    if (!parsed) return fail(parsed.error());
    slow.insert(slow.end(), parsed->begin(), parsed->end());
  }
  if (slow.empty()) return cluster;
  return cluster.degraded(slow);
}

std::vector<std::string> degradation_conditions(const Arguments& arguments,
                                                const topology::Cluster& cluster) {
  constexpr std::size_t most_named = 3;
  std::vector<std::string> conditions;
  for (const std::string& text : arguments.values("degrade"))
    conditions.push_back("degraded " + text);
  const std::vector<std::string> rerouted = topology::rerouted_gpus(cluster);
  for (std::size_t i = 0; i < std::min(most_named, rerouted.size()); ++i)
    conditions.push_back("rerouted over NVLink: " + rerouted[i]);
  if (rerouted.size() > most_named)
    conditions.push_back(fmt::format("and {} more GPUs rerouted", rerouted.size() - most_named));
  return conditions;
}

std::vector<Option> placement_options() {
  return {
      {"gpus", 'g', "N", "Ranks; by default one on every GPU that takes ranks.", false, {}},
      {"placement",
       0,
       "NAME",
       "Which nodes the ranks get: the first ones, random ones, the fewest leaves, dealt to the "
       "leaves in turn, the fewest UltraServers, or in the order of the imported file.",
       false,
       {"contiguous", "scattered", "by-leaf", "spread", "by-ultraserver", "imported"}},
      {"seed", 0, "N", "Of the scattered placement; 0 by default.", false, {}},
      {"per-domain",
       0,
       "N",
       "Ranks in each NVLink domain at most; the rest are spares.",
       false,
       {}}};
}

Result<Placed> placement_from(const Arguments& arguments, const topology::Cluster& cluster) {
  Placed placed;
  topology::PlacementSpec spec;
  if (const auto name = arguments.value("placement"))
    spec.kind = topology::find_placement(*name).value_or(spec.kind);
  const auto seed = int_option(arguments, "seed", 0, std::numeric_limits<int>::max());
  if (!seed) return fail(seed.error());
  if (seed->has_value() && spec.kind != topology::PlacementKind::scattered)
    return fail(error(Code::usage, "--seed belongs to --placement scattered"));
  spec.seed = static_cast<std::uint64_t>(seed->value_or(0));
  const auto per_domain = int_option(arguments, "per-domain", 1, most_ranks);
  if (!per_domain) return fail(per_domain.error());
  spec.gpus_per_domain = static_cast<std::uint32_t>(per_domain->value_or(0));
  if (spec.kind == topology::PlacementKind::scattered)
    placed.condition = fmt::format("nodes scattered, seed {}", spec.seed);
  else if (spec.kind != topology::PlacementKind::contiguous)
    placed.condition = fmt::format("placed {}", topology::name(spec.kind));

  if (const std::size_t failed = topology::failed_gpus(cluster).size(); failed > 0)
    placed.condition +=
        fmt::format("{}{} failed GPU{} without rank", placed.condition.empty() ? "" : ", ", failed,
                    failed == 1 ? "" : "s");

  const auto asked = int_option(arguments, "gpus", 2, most_ranks);
  if (!asked) return fail(asked.error());
  if (*asked && static_cast<std::uint32_t>(**asked) > cluster.gpus())
    return fail(error(Code::bad_placement,
                      fmt::format("{} ranks on {} GPUs", **asked, cluster.gpus()),
                      "give more --nodes or fewer --gpus"));
  std::uint32_t ranks = static_cast<std::uint32_t>(asked->value_or(0));
  if (!*asked)
    ranks = spec.gpus_per_domain > cluster.gpus_per_domain() ? 1 : topology::room(cluster, spec);
  auto placement = topology::place(cluster, ranks, spec);
  if (!placement) return fail(std::move(placement.error()));
  placed.placement = std::move(*placement);
  return placed;
}

}  // namespace flowplan::cli
