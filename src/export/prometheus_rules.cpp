#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/export/observation.hpp"
#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

Json predicted_group(const Observation& seen) {
  Json rules = Json::array();
  for (const Prediction& one : seen.predictions) {
    Json rule{{"record", one.name},
              {"expr", fmt::format("vector({})", one.value)},
              {"labels", {{"scenario", seen.slug}}}};
    if (!one.tier.empty()) rule["labels"]["tier"] = one.tier;
    rules.push_back(std::move(rule));
  }
  return {{"name", "flowplan-predicted-" + seen.slug}, {"interval", "1m"}, {"rules", rules}};
}

Json measured_group(const Observation& seen) {
  Json rules = Json::array();
  for (const Comparison& one : seen.comparisons)
    rules.push_back({{"record", one.recorded}, {"expr", one.measure}});
  return {{"name", "flowplan-measured"}, {"interval", "1m"}, {"rules", rules}};
}

std::string alert_expression(const Observation& seen, const Comparison& one) {
  const std::string predicted = fmt::format("{}{{scenario=\"{}\"}}", one.predicted, seen.slug);
  const std::string measured = one.over.empty()
                                   ? one.recorded
                                   : fmt::format("max_over_time({}[{}])", one.recorded, one.over);
  if (one.exact) return fmt::format("{} < on () group_left () {}", measured, predicted);
  if (one.higher_is_better)
    return fmt::format("{} < on () group_left () ({:g} * {})", measured, seen.ratio, predicted);
  return fmt::format("{} > on () group_left () ({} / {:g})", measured, predicted, seen.ratio);
}

std::string summary_of(const Observation& seen, const Comparison& one) {
  if (one.exact) return fmt::format("{}: fewer than planned", one.title);
  return one.higher_is_better
             ? fmt::format("{}: below {:.0f} % of the prediction", one.title, 100 * seen.ratio)
             : fmt::format("{}: above {:.0f} % of the prediction", one.title, 100 / seen.ratio);
}

Json alert_group(const Observation& seen) {
  Json rules = Json::array();
  for (const Comparison& one : seen.comparisons)
    rules.push_back({{"alert", one.alert},
                     {"expr", alert_expression(seen, one)},
                     {"for", fmt::format("{}m", seen.wait_minutes)},
                     {"labels", {{"severity", "warning"}, {"scenario", seen.slug}}},
                     {"annotations", {{"summary", summary_of(seen, one)}}}});
  return {{"name", "flowplan-alerts-" + seen.slug}, {"interval", "1m"}, {"rules", rules}};
}

}  // namespace

std::string prometheus_rules(const Observation& observation) {
  Json file;
  file["groups"] = {predicted_group(observation), measured_group(observation),
                    alert_group(observation)};
  return commented(fmt::format("{}: predicted and measured.", observation.title)) + yaml_text(file);
}

}  // namespace flowplan::exporting
