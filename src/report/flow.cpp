#include "flowplan/report/flow.hpp"

#include <cstddef>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

std::string bottleneck_name(const flow::Case& flow_case, flow::LinkId link) {
  return link == flow::no_link ? "" : flow_case.link_name(flow::index(link));
}

/// Share of what the link could have carried until the last flow ended.
double utilisation(const flow::Case& flow_case, const flow::Completion& completion,
                   std::size_t link) {
  const double possible = flow_case.network.capacity[link] * completion.makespan_s;
  return possible > 0 ? completion.link_amount[link] / possible : 0.0;
}

}  // namespace

Document flow(const flow::Case& flow_case, const flow::Completion& completion) {
  Section totals;
  totals.facts = {{"makespan", duration(Seconds(completion.makespan_s))},
                  {"flows", grouped(static_cast<std::int64_t>(flow_case.flows.size()))},
                  {"links", grouped(static_cast<std::int64_t>(flow_case.network.size()))},
                  {"instants solved", grouped(static_cast<std::int64_t>(completion.events))}};
  Section flows{
      "Flows",
      {},
      Table{{{"flow", false}, {"bytes"}, {"start, s"}, {"end, s"}, {"held by", false}}, {}},
      {}};
  for (std::size_t f = 0; f < flow_case.flows.size(); ++f) {
    flows.table->rows.push_back(
        {flow_case.flow_name(f), fmt::format("{:.0f}", flow_case.flows.bytes[f]),
         significant(flow_case.flows.start_s[f], 6), significant(completion.end_s[f], 6),
         bottleneck_name(flow_case, completion.bottleneck[f])});
  }
  Section links{
      "Links",
      {},
      Table{{{"link", false}, {"GB/s"}, {"carried, GB"}, {"utilisation"}, {"", false}}, {}},
      {}};
  for (std::size_t l = 0; l < flow_case.network.size(); ++l) {
    const double share = utilisation(flow_case, completion, l);
    links.table->rows.push_back(
        {flow_case.link_name(l), significant(flow_case.network.capacity[l] / 1e9),
         significant(completion.link_amount[l] / 1e9), percent(share), Cell::bar(share)});
  }
  return {flow_case.name, flow_case.about, {std::move(totals), std::move(flows), std::move(links)}};
}

std::string flow_json(const flow::Case& flow_case, const flow::Completion& completion) {
  using Json = nlohmann::ordered_json;
  Json flows = Json::array();
  for (std::size_t f = 0; f < flow_case.flows.size(); ++f) {
    const std::string held = bottleneck_name(flow_case, completion.bottleneck[f]);
    // An id that the file spells as a number stays one.
    const Json parsed = Json::parse(flow_case.flow_name(f), nullptr, false);
    flows.push_back({{"id", parsed.is_number_integer() ? parsed : Json(flow_case.flow_name(f))},
                     {"end_s", completion.end_s[f]},
                     {"bottleneck", held.empty() ? Json(nullptr) : Json(held)}});
  }
  Json links = Json::array();
  for (std::size_t l = 0; l < flow_case.network.size(); ++l) {
    links.push_back({{"id", l},
                     {"name", flow_case.link_name(l)},
                     {"bytes", completion.link_amount[l]},
                     {"utilisation", utilisation(flow_case, completion, l)}});
  }
  Json json{{"format_version", result_format_version},
            {"kind", "flow"},
            {"name", flow_case.name},
            {"makespan_s", completion.makespan_s},
            {"events", completion.events},
            {"flows", std::move(flows)},
            {"links", std::move(links)}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
