#include "flowplan/report/job_log.hpp"

#include <utility>

#include <fmt/format.h>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using operations::JobStatistics;

std::string job_count(std::size_t count) {
  return grouped(static_cast<std::int64_t>(count));
}

std::string size_of(const operations::JobSizeClass& size) {
  if (size.most_gpus == 0.0) return fmt::format("{:.0f} and more", size.least_gpus);
  if (size.least_gpus == size.most_gpus) return fmt::format("{:.0f}", size.least_gpus);
  return fmt::format("{:.0f} to {:.0f}", size.least_gpus, size.most_gpus);
}

double part(double one, double all) {
  return all > 0.0 ? one / all : 0.0;
}

Section job_totals(const operations::JobLog& log, const JobStatistics& seen) {
  Section section;
  section.facts = {{"log", fmt::format("{}, {} jobs, {} of them ran on GPUs", name(log.format),
                                       job_count(seen.jobs), job_count(seen.started))},
                   {"span", duration(seen.span)},
                   {"GPU hours", significant(seen.gpu_hours)},
                   {"peak", fmt::format("{} GPUs in use at once", exact(seen.peak_gpus))}};
  if (seen.utilisation)
    section.facts.emplace_back(
        "utilisation",
        fmt::format("{} of {} GPUs", percent(*seen.utilisation), exact(*seen.cluster_gpus)));
  if (seen.wait.count > 0) {
    section.facts.emplace_back("wait",
                               fmt::format("median {}, mean {}, 90 % below {}, longest {}",
                                           duration(seen.wait.median), duration(seen.wait.mean),
                                           duration(seen.wait.p90), duration(seen.wait.longest)));
    section.facts.emplace_back(
        "run",
        fmt::format("median {}, mean {}, 90 % below {}, longest {}", duration(seen.run.median),
                    duration(seen.run.mean), duration(seen.run.p90), duration(seen.run.longest)));
  }
  if (seen.failures) {
    const operations::ObservedFailures& failures = *seen.failures;
    section.facts.emplace_back(
        "failures", fmt::format("{} of nodes in {} node days: {} a node and day (90 %: {} to {})",
                                job_count(failures.failures), significant(failures.node_days),
                                significant(failures.per_node_day, 3), significant(failures.low, 3),
                                significant(failures.high, 3)));
    if (failures.failures > 0)
      section.remarks.push_back(
          fmt::format("what runs on this cluster takes it as --set "
                      "operations.failures.per_node_day={:.4g}",
                      failures.per_node_day));
  }
  for (const std::string& note : log.notes)
    section.remarks.push_back(note);
  if (seen.without_gpus > 0)
    section.remarks.push_back(
        fmt::format("{} jobs ran without GPUs and are not counted", job_count(seen.without_gpus)));
  return section;
}

}  // namespace

Document job_log(const operations::JobLog& log, const JobStatistics& seen) {
  Document document{log.file, "", {job_totals(log, seen)}};
  Section sizes{"By size",
                {},
                Table{{{"GPUs", false},
                       {"jobs"},
                       {"GPU hours"},
                       {"share"},
                       {"", false},
                       {"median run"},
                       {"median wait"},
                       {"90 % wait below"}},
                      {}},
                {}};
  for (const operations::JobSizeClass& size : seen.sizes) {
    const double share = part(size.gpu_hours, seen.gpu_hours);
    sizes.table->rows.push_back({size_of(size), job_count(size.jobs), significant(size.gpu_hours),
                                 percent(share), Cell::bar(share), duration(size.run.median),
                                 duration(size.wait.median), duration(size.wait.p90)});
  }
  if (!seen.sizes.empty()) document.sections.push_back(std::move(sizes));
  Section ends{
      "By end", {}, Table{{{"end", false}, {"jobs"}, {"share"}, {"GPU hours"}, {"share"}}, {}}, {}};
  for (const operations::JobEndCount& end : seen.ends)
    ends.table->rows.push_back(
        {std::string(name(end.end)), job_count(end.jobs),
         percent(part(static_cast<double>(end.jobs), static_cast<double>(seen.jobs))),
         significant(end.gpu_hours), percent(part(end.gpu_hours, seen.gpu_hours))});
  document.sections.push_back(std::move(ends));
  return document;
}

std::string job_log_json(const operations::JobLog& log, const JobStatistics& seen) {
  const auto summary = [](const operations::DurationSummary& one) {
    return Json{{"count", one.count},         {"median_s", one.median.value()},
                {"mean_s", one.mean.value()}, {"p90_s", one.p90.value()},
                {"p99_s", one.p99.value()},   {"longest_s", one.longest.value()}};
  };
  const auto or_null = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  Json json{{"format_version", result_format_version},
            {"kind", "job_log"},
            {"file", log.file},
            {"format", name(log.format)},
            {"jobs", seen.jobs},
            {"started", seen.started},
            {"span_s", seen.span.value()},
            {"gpu_s", seen.gpu_hours * hours(1).value()},
            {"peak_gpus", seen.peak_gpus},
            {"cluster_gpus", or_null(seen.cluster_gpus)},
            {"utilisation", or_null(seen.utilisation)},
            {"wait", summary(seen.wait)},
            {"run", summary(seen.run)}};
  Json& sizes = json["sizes"] = Json::array();
  for (const operations::JobSizeClass& size : seen.sizes)
    sizes.push_back({{"least_gpus", size.least_gpus},
                     {"most_gpus", size.most_gpus == 0.0 ? Json(nullptr) : Json(size.most_gpus)},
                     {"jobs", size.jobs},
                     {"gpu_s", size.gpu_hours * hours(1).value()},
                     {"run", summary(size.run)},
                     {"wait", summary(size.wait)}});
  Json& ends = json["ends"] = Json::array();
  for (const operations::JobEndCount& end : seen.ends)
    ends.push_back(
        {{"end", name(end.end)}, {"jobs", end.jobs}, {"gpu_s", end.gpu_hours * hours(1).value()}});
  if (seen.failures) {
    json["failures"] = {{"failures", seen.failures->failures},
                        {"node_days", seen.failures->node_days},
                        {"per_node_day", seen.failures->per_node_day},
                        {"per_node_day_low", seen.failures->low},
                        {"per_node_day_high", seen.failures->high}};
    if (seen.failures->failures > 0)
      json["operations"]["failures"]["per_node_day"] = seen.failures->per_node_day;
  }
  json["notes"] = log.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flowplan::report
