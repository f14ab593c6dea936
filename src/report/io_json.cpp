#include <utility>

#include <nlohmann/json.hpp>

#include "flowplan/report/io.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

Json io_breakdown(const Breakdown& node) {
  Json json{{"id", node.id}, {"label", node.label}, {"time_s", node.time().value()}};
  if (!node.limit.empty()) json["limit"] = node.limit;
  if (!node.next.empty()) json["next"] = node.next;
  if (!node.formula.empty()) json["formula"] = node.formula;
  if (!node.children.empty()) {
    Json children = Json::array();
    for (const Breakdown& child : node.children)
      children.push_back(io_breakdown(child));
    json["parts"] = std::move(children);
  }
  return json;
}

Json io_limits(const storage::Answer& answer) {
  Json list = Json::array();
  for (const storage::LimitUse& use : answer.limits) {
    list.push_back({{"id", use.limit.id},
                    {"name", use.limit.name},
                    {"shared", use.limit.shared},
                    {"ceiling_bytes_per_s", use.ceiling.value()},
                    {"utilisation", use.utilisation},
                    {"how", use.limit.how},
                    {"confidence", use.limit.confidence}});
  }
  return list;
}

Json io_part(const IoPart& part) {
  const storage::Answer& answer = part.answer;
  Json json{{"id", part.id}, {"title", part.title}, {"feasible", answer.feasible}};
  if (!answer.feasible) json["does_not_fit"] = answer.why_not;
  json["bytes"] = answer.bytes.value();
  json["time_s"] = answer.time.value();
  json["throughput_bytes_per_s"] = answer.rate.value();
  json["limit"] = answer.limit;
  json["next"] = answer.next;
  json["next_time_s"] = answer.next_time.value();
  for (const storage::Detail& detail : answer.details)
    json[detail.id] = detail.value;
  json["breakdown"] = io_breakdown(answer.breakdown);
  json["limits"] = io_limits(answer);
  Json warnings = Json::array();
  for (const Warning& warning : answer.warnings)
    warnings.push_back({{"id", warning.id}, {"message", warning.message}});
  json["warnings"] = std::move(warnings);
  return json;
}

Json io_parts(const std::vector<IoPart>& parts) {
  Json list = Json::array();
  for (const IoPart& part : parts)
    list.push_back(io_part(part));
  return list;
}

Json io_cost(const storage::Cost& cost) {
  Json json{{"usd", cost.usd ? Json(cost.usd->value()) : Json(nullptr)}};
  if (!cost.as_of.empty()) json["as_of"] = cost.as_of;
  if (!cost.confidence.empty()) json["confidence"] = cost.confidence;
  if (!cost.why_not.empty()) json["unknown"] = cost.why_not;
  return json;
}

Json io_sizing(const IoReport& report) {
  Json rows = Json::array();
  for (const storage::SizingRow& row : report.sizing) {
    rows.push_back({{"storage", row.mount.service->id},
                    {"capacity_bytes", row.mount.capacity.value()},
                    {"throughput_bytes_per_s", row.mount.throughput.value()},
                    {"access", storage::name(row.mount.access)},
                    {"steps", row.steps},
                    {"meets", row.meets},
                    {"time_s", row.timed.time.value()},
                    {"limit", row.timed.limit},
                    {"next", row.timed.next},
                    {"month", io_cost(row.month)}});
  }
  return {{"target_s", report.target->value()}, {"rows", std::move(rows)}};
}

}  // namespace

std::string io_json(const IoReport& report) {
  Json json{{"format_version", result_format_version},
            {"kind", "io"},
            {"operation", report.operation},
            {"instance", report.instance},
            {"nodes", report.nodes},
            {"storage", report.storage},
            {"conditions", report.conditions},
            {"feasible", report.feasible()},
            {"parts", io_parts(report.parts)},
            {"region", report.region}};
  if (report.month) json["month"] = io_cost(*report.month);
  if (report.requests) json["requests"] = io_cost(*report.requests);
  if (!report.networks.empty()) {
    Json networks = Json::array();
    for (const IoNetwork& network : report.networks)
      networks.push_back({{"network", network.name}, {"parts", io_parts(network.parts)}});
    json["networks"] = std::move(networks);
  }
  if (report.target) json["sizing"] = io_sizing(report);
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
