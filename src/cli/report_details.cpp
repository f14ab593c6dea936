#include "report_details.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "flowplan/export/topology_drawing.hpp"
#include "flowplan/operations/course.hpp"
#include "flowplan/planner/sensitivity.hpp"
#include "flowplan/scenario/overrides.hpp"
#include "flowplan/scenario/resolve.hpp"

namespace flowplan::cli {

namespace {

constexpr int course_points = 40, course_runs = 200;

Result<std::string> cluster_picture(const catalog::Catalog& catalog,
                                    const scenario::Scenario& scenario) {
  if (!exporting::has_graphviz()) return std::string();
  topology::ClusterSpec spec;
  spec.instance = scenario.cluster.instance;
  spec.count = scenario.cluster.count;
  spec.fabric = scenario.cluster.fabric;
  const auto cluster = topology::Cluster::build(catalog, spec);
  if (!cluster) return fail(cluster.error());
  return exporting::topology_svg(
      *cluster, fmt::format("{} x {}", scenario.cluster.count, scenario.cluster.instance->id));
}

Result<training::StepTimeline> timeline(const catalog::Catalog& catalog,
                                        const scenario::Scenario& scenario) {
  const auto resolved = scenario::resolve(catalog, scenario);
  if (!resolved) return fail(resolved.error());
  return training::step_timeline(catalog, resolved->cluster, resolved->job);
}

}  // namespace

bool wants_full_report(const Arguments& arguments) {
  const auto outputs = arguments.values("output");
  return arguments.has("full") || arguments.value("format") == "html" ||
         std::any_of(outputs.begin(), outputs.end(),
                     [](const std::string& output) { return output.starts_with("html="); });
}

Result<report::SizingDetails> report_details(const catalog::Catalog& catalog,
                                             const JsonDocument& schema,
                                             const scenario::Scenario& scenario,
                                             const scenario::Answer& answer) {
  report::SizingDetails details;
  auto picture = cluster_picture(catalog, scenario);
  if (!picture) return fail(std::move(picture.error()));
  details.picture = std::move(*picture);
  if (!answer.feasible()) return details;
  if (answer.kind == "pretraining") {
    auto played = timeline(catalog, scenario);
    if (!played) return fail(std::move(played.error()));
    details.timeline = std::move(*played);
  }
  if (answer.operations && answer.operations->wall && answer.operations->model.mttf) {
    details.course =
        operations::goodput_course(answer.operations->model, *answer.operations->wall,
                                   course_points, course_runs, answer.operations->seed);
  }
  planner::SensitivityOptions options;
  options.program_version = FLOWPLAN_VERSION;
  auto sensitivity = planner::sensitivity(catalog, scenario.document, schema, options);
  if (!sensitivity) return fail(std::move(sensitivity.error()));
  details.sensitivity = std::move(*sensitivity);
  return details;
}

Result<report::Document> candidate_report(const catalog::Catalog& catalog,
                                          const JsonDocument& schema, const JsonDocument& searched,
                                          const std::vector<std::string>& overrides) {
  const auto document = scenario::with_overrides(searched, schema, overrides);
  if (!document) return fail(document.error());
  const auto scenario = scenario::read(catalog, *document, schema);
  if (!scenario) return fail(scenario.error());
  const auto answer = scenario::run(catalog, *scenario, FLOWPLAN_VERSION);
  if (!answer) return fail(answer.error());
  const auto details = report_details(catalog, schema, *scenario, *answer);
  if (!details) return fail(details.error());
  return report::sizing(*answer, *details);
}

}  // namespace flowplan::cli
