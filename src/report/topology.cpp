#include "flowplan/report/topology.hpp"

#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

nlohmann::ordered_json network_json(const topology::Summary& summary) {
  using Json = nlohmann::ordered_json;
  Json tiers = Json::array();
  for (const topology::TierSummary& tier : summary.tiers) {
    tiers.push_back({{"tier", topology::name(tier.tier)},
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

Document topology(const std::string& title, const topology::Summary& summary) {
  Section counts;
  counts.facts = {{"GPUs", grouped(summary.gpus)},
                  {"nodes", grouped(summary.nodes)},
                  {"NVLink domains", grouped(summary.domains)},
                  {"leaves", grouped(summary.leaves)},
                  {"pods", grouped(summary.pods)},
                  {"graph", fmt::format("{} vertices, {} directed links",
                                        grouped(static_cast<std::int64_t>(summary.vertices)),
                                        grouped(static_cast<std::int64_t>(summary.links)))}};
  Section tiers{"Tiers",
                {},
                Table{{{"tier", false},
                       {"links"},
                       {"capacity, GB/s (both ways)"},
                       {"bisection, GB/s (one way)"},
                       {"oversubscription"}},
                      {}},
                summary.assumptions};
  for (const topology::TierSummary& tier : summary.tiers) {
    tiers.table->rows.push_back(
        {std::string(topology::name(tier.tier)), grouped(static_cast<std::int64_t>(tier.links)),
         significant(tier.capacity.value() / 1e9), significant(tier.bisection.value() / 1e9),
         fmt::format("{:g}:1", tier.oversubscription)});
  }
  return {title, "", {std::move(counts), std::move(tiers)}};
}

std::string topology_json(const std::string& title, const topology::Summary& summary) {
  nlohmann::ordered_json json{
      {"format_version", result_format_version}, {"kind", "topology"}, {"name", title}};
  json.update(network_json(summary));
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
