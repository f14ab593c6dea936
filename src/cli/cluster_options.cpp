#include "cluster_options.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace flowplan::cli {

namespace {

constexpr int most_nodes = 1000000;
constexpr double most_oversubscription = 1000.0;

Result<double> oversubscription(const Arguments& arguments) {
  const auto text = arguments.value("oversubscription");
  if (!text) return 1.0;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (end == text->c_str() || *end != '\0' || !(value >= 1.0 && value <= most_oversubscription)) {
    return fail(error(Code::usage, fmt::format("--oversubscription {}: a ratio is needed", *text),
                      "from 1 to 1000: 2 means 2:1"));
  }
  return value;
}

}  // namespace

std::vector<Option> cluster_options() {
  return {{"instance", 0, "NAME", "Instance type, UltraServer or reference system.", false, {}},
          {"nodes", 0, "N", "How many of them; 1 by default.", false, {}},
          {"nodes-per-leaf", 0, "N", "Nodes under one leaf.", false, {}},
          {"oversubscription", 0, "RATIO", "Of the leaves' uplinks; 1 by default.", false, {}},
          {"routing", 0, "NAME", "How flows spread over equal paths.", false, {"spray", "ecmp"}}};
}

Result<topology::Cluster> cluster_from(const Arguments& arguments,
                                       const catalog::Catalog& catalog) {
  const auto name = arguments.value("instance");
  if (!name) {
    return fail(error(Code::usage, "an instance type is needed",
                      "for example --instance p5.48xlarge; `flowplan catalog list` shows them"));
  }
  const auto instance = catalog.instance(*name);
  if (!instance) return fail(instance.error());
  const auto nodes = int_option(arguments, "nodes", 1, most_nodes);
  if (!nodes) return fail(nodes.error());
  const auto per_leaf = int_option(arguments, "nodes-per-leaf", 1, most_nodes);
  if (!per_leaf) return fail(per_leaf.error());
  const auto ratio = oversubscription(arguments);
  if (!ratio) return fail(ratio.error());
  topology::ClusterSpec spec;
  spec.instance = *instance;
  spec.count = nodes->value_or(1);
  spec.fabric.nodes_per_leaf = per_leaf->value_or(0);
  spec.fabric.leaf_oversubscription = *ratio;
  if (arguments.value("routing") == "ecmp") spec.fabric.routing = topology::Routing::ecmp;
  return topology::Cluster::build(catalog, spec);
}

}  // namespace flowplan::cli
