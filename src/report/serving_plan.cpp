#include "flowplan/report/serving_plan.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/planner/candidate.hpp"
#include "flowplan/report/format.hpp"
#include "flowplan/report/saved.hpp"
#include "json_format.hpp"
#include "plan_charts.hpp"
#include "plan_text.hpp"

namespace flowplan::report {

namespace {

using planner::ServingCandidate;
using planner::ServingPlan;

constexpr std::size_t most_rows = 10;

std::string layout_text(const ServingCandidate& one) {
  std::string text = one.layout.attention_dp > 1 ? fmt::format("DP {}", one.layout.attention_dp)
                                                 : fmt::format("TP {}", one.layout.tp);
  if (one.layout.pp > 1) text += fmt::format(" PP {}", one.layout.pp);
  if (one.layout.ep > 1) text += fmt::format(" EP {}", one.layout.ep);
  return text;
}

Table fleets(const std::vector<ServingCandidate>& rows) {
  Table table{{{"machines", false},
               {"format", false},
               {"layout", false},
               {"engines"},
               {"req/s an engine"},
               {"TTFT p99, ms"},
               {"TPOT p50, ms"},
               {"USD/h"},
               {"bought as", false}},
              {}};
  for (const ServingCandidate& one : rows) {
    if (table.rows.size() == most_rows) break;
    table.rows.push_back({fmt::format("{} x {}", one.machines, one.instance->id),
                          std::string(inference::name(one.weights)), layout_text(one),
                          fmt::format("{}", one.replicas), significant(one.capacity_per_s),
                          significant(one.at_capacity.ttft_s.p99 * 1e3),
                          significant(one.at_capacity.tpot_s.p50 * 1e3),
                          significant(*one.usd_per_hour),
                          one.limits.empty() ? one.purchase : one.purchase + ", NOT possible"});
  }
  return table;
}

Json candidate_json(const ServingCandidate& one) {
  Json json{{"instance", one.instance->id},
            {"precision", inference::name(one.weights)},
            {"tp", one.layout.tp},
            {"pp", one.layout.pp},
            {"attention_dp", one.layout.attention_dp},
            {"ep", one.layout.ep}};
  if (!one.lost.empty()) {
    json["lost"] = one.lost;
    return json;
  }
  json["engines"] = one.replicas;
  json["count"] = one.machines;
  json["requests_per_s_an_engine"] = one.capacity_per_s;
  json["ttft_p99_s"] = one.at_capacity.ttft_s.p99;
  json["tpot_p50_s"] = one.at_capacity.tpot_s.p50;
  json["usd_per_hour"] = *one.usd_per_hour;
  json["purchase"] = one.purchase;
  json["limits"] = one.limits;
  return json;
}

Json candidates_json(const std::vector<ServingCandidate>& all) {
  Json list = Json::array();
  for (const ServingCandidate& one : all)
    list.push_back(candidate_json(one));
  return list;
}

}  // namespace

Document serving_plan(const ServingPlan& plan, const std::string& name, const Document* best) {
  Document document;
  document.title = name.empty() ? fmt::format("Fleet for {}", plan.model.name) : name;
  document.lead = fmt::format(
      "{} requests/s within the limits for {} of them, {} of the capacity free, {} spare engine "
      "instance(s); {} deployments simulated",
      significant(plan.goal.rate_per_s), percent(plan.goal.slo.share), percent(plan.goal.headroom),
      plan.goal.spare_instances, plan.ranked.size() + plan.refused.size());
  if (plan.ranked.empty()) {
    document.sections.push_back({"No fleet keeps the limits", {}, {}, {}});
  } else {
    document.sections.push_back({"Cheapest first", {}, fleets(plan.ranked), {}});
    document.sections.push_back(candidate_section(planner::overrides_of(plan.ranked.front())));
    document.sections.push_back(
        {"Money against speed: none of these is beaten in both", {}, fleets(plan.pareto), {}});
    document.sections.back().charts = fleet_charts(plan);
  }
  std::map<std::string, std::size_t> reasons;
  for (const ServingCandidate& one : plan.refused)
    ++reasons[one.lost.substr(0, one.lost.find(':'))];
  Section lost{"Why the others lost", {}, {}, {}};
  for (const auto& [reason, count] : reasons)
    lost.remarks.push_back(fmt::format("{}: {}", count, reason));
  if (!lost.remarks.empty()) document.sections.push_back(std::move(lost));
  append_best(document, best);
  document.verdict = fleet_verdict(plan);
  document.highlights = fleet_highlights(plan);
  document.data = fleet_table(plan);
  return document;
}

std::string serving_plan_json(const ServingPlan& plan, const std::string& name,
                              const Document* best) {
  Json json{{"format_version", result_format_version},
            {"kind", "serving_plan"},
            {"name", name},
            {"model", plan.model.name},
            {"engine", plan.engine},
            {"rate_per_s", plan.goal.rate_per_s},
            {"headroom", plan.goal.headroom},
            {"spare_instances", plan.goal.spare_instances}};
  json["ranked"] = candidates_json(plan.ranked);
  json["pareto"] = candidates_json(plan.pareto);
  json["refused"] = candidates_json(plan.refused);
  json["report"] = document_json(serving_plan(plan, name, best));
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
