#include "flowplan/report/posttraining_plan.hpp"

#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/planner/candidate.hpp"
#include "flowplan/report/format.hpp"
#include "json_format.hpp"
#include "plan_text.hpp"

namespace flowplan::report {

namespace {

using planner::PosttrainingCandidate;

constexpr std::size_t most_split_rows = 15;

Json split_json(const PosttrainingCandidate& one) {
  Json json{{"instance", one.instance->id},
            {"count", one.count},
            {"gpus", one.gpus},
            {"placement", posttraining::name(one.placement)},
            {"rollout_gpus", one.rollout_gpus},
            {"engine_tp", one.engine_tp}};
  if (one.step_s <= 0.0) {
    json["lost"] = one.lost;
    return json;
  }
  json["step_s"] = one.step_s;
  json["samples_per_s"] = one.samples_per_s;
  json["trainer_idle_share"] = one.trainer_idle;
  json["rollout_idle_share"] = one.rollout_idle;
  json["staleness_mean"] = one.staleness;
  json["limit"] = one.limit;
  json["usd_per_step"] = one.usd_per_step ? Json(*one.usd_per_step) : Json(nullptr);
  if (one.days) json["days"] = *one.days;
  if (one.usd) json["usd"] = *one.usd;
  if (!one.lost.empty()) json["lost"] = one.lost;
  return json;
}

}  // namespace

Document posttraining_plan(const planner::PosttrainingPlan& plan, const std::string& name,
                           const Document* best) {
  Document document;
  document.title = name.empty() ? fmt::format("{} of {}", plan.method, plan.model) : name;
  document.lead =
      fmt::format("placements and splits by {}; {} tried", scenario::name(plan.objective),
                  plan.ranked.size() + plan.refused.size());
  if (plan.ranked.empty()) {
    document.sections.push_back({"None fits", {}, {}, {}});
  } else {
    Section rows{"Best first",
                 {},
                 Table{{{"machines", false},
                        {"placement", false},
                        {"train"},
                        {"generate"},
                        {"engine TP"},
                        {"step, s"},
                        {"samples/s"},
                        {"trainer idle"},
                        {"rollout idle"},
                        {"stale"},
                        {"USD/step"},
                        {"limited by", false}},
                       {}},
                 {}};
    for (const PosttrainingCandidate& one : plan.ranked) {
      if (rows.table->rows.size() == most_split_rows) break;
      const bool together = one.placement == posttraining::Placement::colocated;
      rows.table->rows.push_back(
          {fmt::format("{} x {}", one.count, one.instance->id),
           std::string(posttraining::name(one.placement)), grouped(one.gpus - one.rollout_gpus),
           grouped(together ? one.gpus : one.rollout_gpus), fmt::format("{}", one.engine_tp),
           significant(one.step_s), significant(one.samples_per_s), percent(one.trainer_idle),
           percent(one.rollout_idle), significant(one.staleness),
           one.usd_per_step ? significant(*one.usd_per_step) : "-", one.limit});
    }
    document.sections.push_back(std::move(rows));
    document.sections.push_back(candidate_section(planner::overrides_of(plan.ranked.front())));
  }
  std::map<std::string, std::size_t> reasons;
  for (const PosttrainingCandidate& one : plan.refused)
    ++reasons[one.lost.substr(0, one.lost.find(':'))];
  Section lost{"Why the others lost", {}, {}, {}};
  for (const auto& [reason, count] : reasons)
    lost.remarks.push_back(fmt::format("{}: {}", count, reason));
  if (!lost.remarks.empty()) document.sections.push_back(std::move(lost));
  append_best(document, best);
  return document;
}

std::string posttraining_plan_json(const planner::PosttrainingPlan& plan, const std::string& name) {
  Json json{{"format_version", result_format_version},
            {"kind", "posttraining_plan"},
            {"name", name},
            {"model", plan.model},
            {"method", plan.method},
            {"objective", scenario::name(plan.objective)}};
  const auto list = [](const std::vector<PosttrainingCandidate>& all) {
    Json rows = Json::array();
    for (const PosttrainingCandidate& one : all)
      rows.push_back(split_json(one));
    return rows;
  };
  json["ranked"] = list(plan.ranked);
  json["refused"] = list(plan.refused);
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
