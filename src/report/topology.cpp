#include "flowplan/report/topology.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/catalog/constants.hpp"
#include "flowplan/report/format.hpp"
#include "flowplan/topology/hostlist.hpp"
#include "flowplan/topology/tier_name.hpp"
#include "json_format.hpp"

namespace flowplan::report {

nlohmann::ordered_json network_json(const topology::Summary& summary, std::string_view nic_kind) {
  Json tiers = Json::array();
  for (const topology::TierSummary& tier : summary.tiers) {
    tiers.push_back({{"tier", topology::tier_name(tier.tier, nic_kind)},
                     {"links", tier.links},
                     {"capacity_bytes_per_s", tier.capacity.value()},
                     {"bisection_bytes_per_s", tier.bisection.value()},
                     {"oversubscription", tier.oversubscription}});
  }
  return {{"gpus", summary.gpus},
          {"nodes", summary.nodes},
          {"nvlink_domains", summary.domains},
          {"leaves", summary.leaves},
          {"pods", summary.pods},
          {"vertices", summary.vertices},
          {"links", summary.links},
          {"tiers", std::move(tiers)},
          {"assumptions", summary.assumptions}};
}

namespace {

std::string whole_number(std::uint64_t value) {
  return grouped(static_cast<std::int64_t>(value));
}

Section cluster_counts(const topology::Summary& summary) {
  Section counts;
  counts.facts = {
      {"GPUs", grouped(summary.gpus)},
      {"nodes", grouped(summary.nodes)},
      {"NVLink domains", grouped(summary.domains)},
      {"leaves", grouped(summary.leaves)},
      {"pods", grouped(summary.pods)},
      {"graph", fmt::format("{} vertices, {} directed links", whole_number(summary.vertices),
                            whole_number(summary.links))}};
  return counts;
}

Section cluster_tiers(const TopologyView& view) {
  Table table{{{"tier", false},
               {"links"},
               {"capacity, GB/s (both ways)"},
               {"bisection, GB/s (one way)"},
               {"oversubscription"}},
              {}};
  for (const auto& [ratio, summary] : view.at)
    table.columns.push_back({fmt::format("bisection at {:g}:1", ratio)});
  if (view.built) {
    table.columns.push_back({"capacity as built"});
    table.columns.push_back({"bisection as built"});
  }
  for (std::size_t t = 0; t < view.summary.tiers.size(); ++t) {
    const topology::TierSummary& tier = view.summary.tiers[t];
    std::vector<Cell> row{
        std::string(topology::tier_name(tier.tier, *view.cluster->spec().instance)),
        whole_number(tier.links), significant(tier.capacity.value() / 1e9),
        significant(tier.bisection.value() / 1e9), fmt::format("{:g}:1", tier.oversubscription)};
    for (const auto& [ratio, summary] : view.at)
      row.push_back(significant(summary.tiers[t].bisection.value() / 1e9));
    if (view.built) {
      row.push_back(significant(view.built->tiers[t].capacity.value() / 1e9));
      row.push_back(significant(view.built->tiers[t].bisection.value() / 1e9));
    }
    table.rows.push_back(std::move(row));
  }
  return {view.built ? "Tiers, degraded" : "Tiers", {}, std::move(table), view.summary.assumptions};
}

std::string standing(const Source& source) {
  return source.text.empty() ? source.confidence
                             : fmt::format("{}: {}", source.confidence, source.text);
}

/// What is known of the network, what somebody claims and what is assumed.
Section cluster_claims(const topology::Cluster& cluster) {
  const topology::ClusterSpec& spec = cluster.spec();
  const catalog::Instance& instance = *spec.instance;
  Section claims{"Claims and unknowns",
                 {},
                 Table{{{"figure", false}, {"value", false}, {"standing", false}}, {}},
                 {}};
  const auto say = [&](const char* figure, std::string value, std::string why) {
    claims.table->rows.push_back({figure, std::move(value), std::move(why)});
  };
  const bool ec2 = instance.kind != catalog::InstanceKind::reference;
  const auto unpublished = [&](const char* key) {
    if (spec.wiring) return std::string("largest in the imported file, or as given");
    const auto* entry = spec.defaults->find(key);
    const double value = spec.defaults->at(key);
    return fmt::format("not published; {:g} unless given ({})", value,
                       entry != nullptr ? standing(entry->source) : std::string());
  };
  say("network of a unit", fmt::format("{:g} Gbit/s one way", instance.efa_gbps_total.value),
      standing(instance.efa_gbps_total.source));
  if (instance.network_nodes.known)
    say("layers that EC2 reports", fmt::format("{:g}", instance.network_nodes.value),
        standing(instance.network_nodes.source));
  say("nodes below a leaf", fmt::format("{}", spec.fabric.nodes_per_leaf),
      unpublished("leaf.nodes"));
  say("leaves in a pod", fmt::format("{}", spec.fabric.leaves_per_pod), unpublished("pod.leaves"));
  say("oversubscription",
      fmt::format("{:g}:1 leaf, {:g}:1 core", spec.fabric.leaf_oversubscription,
                  spec.fabric.core_oversubscription),
      ec2 ? "no ratio is published; \"non-blocking\" is a claim" : "not described");
  say("routing", std::string(topology::name(spec.fabric.routing)),
      ec2 ? "SRD sprays packets over equal paths: a claim" : "not described");
  return claims;
}

/// The leaves of an imported cluster with their nodes.
Section imported_leaves(const topology::Cluster& cluster) {
  constexpr std::size_t most_leaves = 64;
  const topology::Wiring& wiring = *cluster.spec().wiring;
  std::vector<std::vector<std::string>> nodes(wiring.leaf_name.size());
  std::vector<std::size_t> idle(wiring.leaf_name.size(), 0);
  for (std::size_t node = 0; node < wiring.node.size(); ++node) {
    nodes[wiring.leaf[node]].push_back(wiring.node[node]);
    if (wiring.idle[node]) ++idle[wiring.leaf[node]];
  }
  Section section{
      "Leaves",
      {},
      Table{{{"leaf", false}, {"pod", false}, {"nodes"}, {"without ranks"}, {"names", false}}, {}},
      {}};
  for (std::size_t leaf = 0; leaf < std::min(most_leaves, nodes.size()); ++leaf)
    section.table->rows.push_back({wiring.leaf_name[leaf], wiring.pod_name[wiring.pod[leaf]],
                                   whole_number(nodes[leaf].size()), whole_number(idle[leaf]),
                                   topology::compress_hostlist(nodes[leaf])});
  if (nodes.size() > most_leaves)
    section.remarks.push_back(fmt::format("and {} more leaves", nodes.size() - most_leaves));
  return section;
}

}  // namespace

Document topology(const TopologyView& view) {
  Document document{view.title, "", {cluster_counts(view.summary), cluster_tiers(view)}};
  if (view.cluster->has_nics()) document.sections.push_back(cluster_claims(*view.cluster));
  if (view.cluster->spec().wiring) document.sections.push_back(imported_leaves(*view.cluster));
  if (!view.reroutes.empty())
    document.sections.push_back({"Degraded", {}, std::nullopt, view.reroutes});
  return document;
}

std::string topology_json(const TopologyView& view) {
  Json json{{"format_version", result_format_version}, {"kind", "topology"}, {"name", view.title}};
  const std::string_view nic_kind = topology::nic_kind(*view.cluster->spec().instance);
  json.update(network_json(view.summary, nic_kind));
  Json at = Json::array();
  for (const auto& [ratio, summary] : view.at) {
    Json tiers = Json::object();
    for (const topology::TierSummary& tier : summary.tiers)
      tiers[std::string(topology::tier_name(tier.tier, nic_kind))] = tier.bisection.value();
    at.push_back({{"leaf_oversubscription", ratio}, {"bisection_bytes_per_s", std::move(tiers)}});
  }
  json["at_oversubscription"] = std::move(at);
  if (const auto& wiring = view.cluster->spec().wiring) {
    Json nodes = Json::array();
    for (std::size_t node = 0; node < wiring->node.size(); ++node) {
      const std::uint32_t leaf = wiring->leaf[node];
      nodes.push_back({{"name", wiring->node[node]},
                       {"leaf", wiring->leaf_name[leaf]},
                       {"pod", wiring->pod_name[wiring->pod[leaf]]},
                       {"takes_ranks", !wiring->idle[node]}});
    }
    json["imported_nodes"] = std::move(nodes);
  }
  if (!view.reroutes.empty()) json["degraded"] = view.reroutes;
  if (view.built) json["tiers_as_built"] = network_json(*view.built, nic_kind)["tiers"];
  return json.dump(2) + "\n";
}

Document node_comparison(const NodeView& view) {
  Section counts;
  counts.facts = {{"read", std::string(topology::name(view.picture->format))},
                  {"GPUs", grouped(static_cast<std::int64_t>(view.picture->gpus.size()))},
                  {"NICs", grouped(static_cast<std::int64_t>(view.picture->nics.size()))}};
  Section differences{"Differences", {}, std::nullopt, {}};
  if (view.differences.empty())
    differences.remarks.push_back("None: the node is as the catalog describes its type.");
  else
    differences.table = Table{{{"what", false},
                               {"catalog", false},
                               {"found", false},
                               {"effect", false},
                               {"to predict it", false}},
                              {}};
  for (const topology::NodeDifference& one : view.differences)
    differences.table->rows.push_back(
        {one.what, one.expected, one.found, one.effect,
         one.degrade.empty() ? std::string() : "--degrade " + one.degrade});
  return {view.title, "", {std::move(counts), std::move(differences)}};
}

std::string node_comparison_json(const NodeView& view) {
  Json differences = Json::array();
  for (const topology::NodeDifference& one : view.differences) {
    Json entry{{"what", one.what},
               {"expected", one.expected},
               {"found", one.found},
               {"effect", one.effect}};
    if (!one.degrade.empty()) entry["degrade"] = one.degrade;
    differences.push_back(std::move(entry));
  }
  const Json json{{"format_version", result_format_version},
                  {"kind", "node"},
                  {"name", view.title},
                  {"format", topology::name(view.picture->format)},
                  {"gpus", view.picture->gpus.size()},
                  {"nics", view.picture->nics.size()},
                  {"differences", std::move(differences)}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
