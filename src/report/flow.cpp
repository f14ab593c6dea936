#include "flowplan/report/flow.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

std::string bottleneck_name(const flow::Case& flow_case, flow::LinkId link) {
  return link == flow::no_link ? "" : flow_case.link_name(flow::index(link));
}

/// Share of what each link could have carried until the last flow ended.
std::vector<double> utilisation(const flow::Case& flow_case, const flow::Completion& completion) {
  std::vector<double> shares;
  for (std::size_t l = 0; l < flow_case.network.size(); ++l) {
    const double possible = flow_case.network.capacity[l] * completion.makespan_s;
    shares.push_back(possible > 0 ? completion.link_amount[l] / possible : 0.0);
  }
  return shares;
}

/// All rows in order or, if there are more than `most`, those of the largest keys, largest first.
std::vector<std::uint32_t> top_rows(const std::vector<double>& keys, std::size_t most) {
  std::vector<std::uint32_t> rows(keys.size());
  std::iota(rows.begin(), rows.end(), 0U);
  if (rows.size() <= most) return rows;
  const auto larger = [&](std::uint32_t a, std::uint32_t b) {
    return keys[a] != keys[b] ? keys[a] > keys[b] : a < b;
  };
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(most), rows.end(),
                    larger);
  rows.resize(most);
  return rows;
}

std::vector<std::string> cut_remark(std::size_t shown, std::size_t all, std::string_view which) {
  if (shown == all) return {};
  return {fmt::format("{} of {}: {}; --top shows more", grouped(static_cast<std::int64_t>(shown)),
                      grouped(static_cast<std::int64_t>(all)), which)};
}

Section tasks_section(const flow::Case& flow_case, const flow::Replay& replay, std::size_t most) {
  Section section{
      "Tasks", {}, Table{{{"task", false}, {"flows"}, {"runs"}, {"start, s"}, {"end, s"}}, {}}, {}};
  const auto rows = top_rows(replay.task_end_s, most);
  for (const std::uint32_t t : rows) {
    const flow::TaskGraph::Task& task = flow_case.tasks[t];
    section.table->rows.push_back({task.name, grouped(task.flow_end - task.flow_begin),
                                   grouped(task.repeat), significant(replay.task_start_s[t], 6),
                                   significant(replay.task_end_s[t], 6)});
  }
  section.remarks = cut_remark(rows.size(), flow_case.tasks.size(), "those that end last");
  return section;
}

Section flows_section(const flow::Case& flow_case, const flow::Replay& replay, std::size_t most) {
  Section section{
      "Flows",
      {},
      Table{{{"flow", false}, {"bytes"}, {"start, s"}, {"end, s"}, {"held by", false}}, {}},
      {}};
  const auto rows = top_rows(replay.flows.end_s, most);
  for (const std::uint32_t f : rows) {
    section.table->rows.push_back(
        {flow_case.flow_name(f), fmt::format("{:.0f}", flow_case.flows.bytes[f]),
         significant(replay.flow_start_s[f], 6), significant(replay.flows.end_s[f], 6),
         bottleneck_name(flow_case, replay.flows.bottleneck[f])});
  }
  section.remarks = cut_remark(rows.size(), flow_case.flows.size(), "those that end last");
  if (!flow_case.tasks.empty()) section.remarks.push_back("in the first run of their task");
  return section;
}

Section links_section(const flow::Case& flow_case, const flow::Replay& replay, std::size_t most) {
  Section section{
      "Links",
      {},
      Table{{{"link", false}, {"GB/s"}, {"carried, GB"}, {"utilisation"}, {"", false}}, {}},
      {}};
  const std::vector<double> shares = utilisation(flow_case, replay.flows);
  const auto rows = top_rows(shares, most);
  for (const std::uint32_t l : rows) {
    section.table->rows.push_back(
        {flow_case.link_name(l), significant(flow_case.network.capacity[l] / 1e9),
         significant(replay.flows.link_amount[l] / 1e9), percent(shares[l]), Cell::bar(shares[l])});
  }
  section.remarks = cut_remark(rows.size(), flow_case.network.size(), "the busiest");
  return section;
}

}  // namespace

Document flow(const flow::Case& flow_case, const flow::Replay& replay, const FlowView& view) {
  const std::size_t most = view.top.value_or(flow_report_rows);
  Section totals;
  totals.facts = {{"makespan", duration(Seconds(replay.flows.makespan_s))}};
  if (!flow_case.tasks.empty()) {
    totals.facts.emplace_back("tasks", grouped(static_cast<std::int64_t>(flow_case.tasks.size())));
  }
  totals.facts.emplace_back("flows", grouped(static_cast<std::int64_t>(flow_case.flows.size())));
  totals.facts.emplace_back("links", grouped(static_cast<std::int64_t>(flow_case.network.size())));
  totals.facts.emplace_back("instants solved",
                            grouped(static_cast<std::int64_t>(replay.flows.events)));
  if (view.verified) {
    totals.facts.emplace_back(
        "verified",
        "the first rates are max-min fair: no link is over capacity, every flow is at "
        "its cap or among the fastest on a full link");
  }
  Document document{flow_case.name, flow_case.about, {std::move(totals)}};
  if (!flow_case.tasks.empty()) {
    document.sections.push_back(tasks_section(flow_case, replay, most));
  }
  document.sections.push_back(flows_section(flow_case, replay, most));
  document.sections.push_back(links_section(flow_case, replay, most));
  return document;
}

std::string flow_json(const flow::Case& flow_case, const flow::Replay& replay,
                      const FlowView& view) {
  Json json{{"format_version", result_format_version},
            {"kind", "flow"},
            {"name", flow_case.name},
            {"makespan_s", replay.flows.makespan_s},
            {"events", replay.flows.events}};
  if (view.verified) json["verified"] = true;
  if (!flow_case.tasks.empty()) {
    Json& tasks = json["tasks"] = Json::array();
    for (const std::uint32_t t :
         top_rows(replay.task_end_s, view.top.value_or(flow_case.tasks.size()))) {
      tasks.push_back({{"name", flow_case.tasks[t].name},
                       {"start_s", replay.task_start_s[t]},
                       {"end_s", replay.task_end_s[t]}});
    }
  }
  Json& flows = json["flows"] = Json::array();
  for (const std::uint32_t f :
       top_rows(replay.flows.end_s, view.top.value_or(flow_case.flows.size()))) {
    const std::string held = bottleneck_name(flow_case, replay.flows.bottleneck[f]);
    // An id that the file spells as a number stays one.
    const Json parsed = Json::parse(flow_case.flow_name(f), nullptr, false);
    flows.push_back({{"id", parsed.is_number_integer() ? parsed : Json(flow_case.flow_name(f))},
                     {"start_s", replay.flow_start_s[f]},
                     {"end_s", replay.flows.end_s[f]},
                     {"bottleneck", held.empty() ? Json(nullptr) : Json(held)}});
  }
  Json& links = json["links"] = Json::array();
  const std::vector<double> shares = utilisation(flow_case, replay.flows);
  for (const std::uint32_t l : top_rows(shares, view.top.value_or(shares.size()))) {
    links.push_back({{"id", l},
                     {"name", flow_case.link_name(l)},
                     {"bytes", replay.flows.link_amount[l]},
                     {"utilisation", shares[l]}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flowplan::report
