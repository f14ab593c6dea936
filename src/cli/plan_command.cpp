#include <ctime>
#include <optional>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "fault_place.hpp"
#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/planner/candidate.hpp"
#include "flowplan/planner/compute_optimal.hpp"
#include "flowplan/planner/plan.hpp"
#include "flowplan/planner/posttraining_plan.hpp"
#include "flowplan/planner/serving_plan.hpp"
#include "flowplan/report/plan.hpp"
#include "flowplan/report/posttraining_plan.hpp"
#include "flowplan/report/serving_plan.hpp"
#include "flowplan/scenario/overrides.hpp"
#include "progress.hpp"
#include "report_details.hpp"
#include "scenario_flags.hpp"
#include "stopwatch.hpp"

namespace flowplan::cli {

namespace {

constexpr int infeasible_plan = 4;
constexpr int most_threads = 1024;

/// An option of the search, and the value of the scenario that it sets.
struct SearchFlag {
  enum class Kind { text, number, names, numbers, yes };
  std::string_view name, value, about, path;
  Kind kind;
};

constexpr SearchFlag search_flags[] = {
    {"objective", "GOAL", "time, cost, throughput or smallest.", "search.objective",
     SearchFlag::Kind::text},
    {"instances", "A,B", "Instance types and UltraServers among which to choose.",
     "search.instances", SearchFlag::Kind::names},
    {"counts", "N,M", "How many of them, instead of a grid.", "search.counts",
     SearchFlag::Kind::numbers},
    {"min-gpus", "N", "Leave out smaller clusters.", "search.min_gpus", SearchFlag::Kind::number},
    {"max-gpus", "N", "Leave out larger clusters.", "search.max_gpus", SearchFlag::Kind::number},
    {"budget", "USD", "The most that the run may cost: 5M.", "search.budget_usd",
     SearchFlag::Kind::text},
    {"deadline", "TIME", "The longest that it may take: 30d.", "search.deadline",
     SearchFlag::Kind::text},
    {"headroom", "SHARE", "Of each GPU's memory that stays free: 0.05.", "search.memory_headroom",
     SearchFlag::Kind::number},
    {"purchasable", "", "Only what can be bought as far as known.", "search.only_purchasable",
     SearchFlag::Kind::yes},
    {"global-batches", "N,M", "Sequences in a step, several to choose from.",
     "search.space.global_batch", SearchFlag::Kind::numbers},
    {"top", "N", "Rows of the ranked table.", "search.top", SearchFlag::Kind::number},
    {"per-cluster", "N", "Layouts of one cluster among them.", "search.per_cluster",
     SearchFlag::Kind::number},
};

/// "A,B" as a JSON list.
std::string list_of(std::string_view text, bool quoted) {
  std::string list = "[";
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string one(text.substr(0, comma));
    list += quoted ? nlohmann::json(one).dump() : one;
    if (comma == std::string_view::npos) return list + "]";
    list += ',';
    text.remove_prefix(comma + 1);
  }
}

std::string json_of(const SearchFlag& flag, const std::string& value) {
  switch (flag.kind) {
    case SearchFlag::Kind::text:
      return nlohmann::json(value).dump();
    case SearchFlag::Kind::names:
      return list_of(value, true);
    case SearchFlag::Kind::numbers:
      return list_of(value, false);
    case SearchFlag::Kind::yes:
      return "true";
    case SearchFlag::Kind::number:
      break;
  }
  return value;
}

/// The options of the search stand before what --set says.
Arguments with_search(const Arguments& arguments) {
  Arguments result = arguments;
  std::vector<std::string> sets;
  for (const SearchFlag& flag : search_flags) {
    if (!arguments.has(flag.name)) continue;
    sets.push_back(
        fmt::format("{}={}", flag.path, json_of(flag, arguments.value(flag.name).value_or(""))));
  }
  const auto stated = arguments.values("set");
  sets.insert(sets.end(), stated.begin(), stated.end());
  if (!sets.empty()) result.options["set"] = std::move(sets);
  return result;
}

Result<scenario::Scenario> searched_scenario(const Arguments& arguments, const Session& session,
                                             const catalog::Catalog& catalog) {
  const auto schema = load_schema(arguments, session, "scenario");
  if (!schema) return fail(schema.error());
  auto document = scenario_from(arguments, *schema, "plan");
  if (!document) return fail(std::move(document.error()));
  return scenario::read(catalog, *document, *schema, scenario::ReadFor::search);
}

/// The report of the best candidate, where a full report is asked for and there is one. One that
/// cannot be made is said, and the ranking goes without.
template <class Ranked, class Overrides>
std::optional<report::Document> best_in_full(const Arguments& arguments, Session& session,
                                             const catalog::Catalog& catalog,
                                             const scenario::Scenario& scenario,
                                             const Ranked& ranked, const Overrides& overrides) {
  if (ranked.empty() || !wants_full_report(arguments)) return std::nullopt;
  const auto schema = load_schema(arguments, session, "scenario");
  if (!schema) return std::nullopt;
  auto report = candidate_report(catalog, *schema, scenario.document, overrides(ranked.front()));
  if (report) return std::move(*report);
  session.err << "note: the best candidate has no report of its own: "
              << report.error().front().message << "\n";
  return std::nullopt;
}

const report::Document* pointer_to(const std::optional<report::Document>& document) {
  return document ? &*document : nullptr;
}

double cpu_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

std::string timing_remark(const planner::LayoutCounts& counts, double cpu) {
  const auto raw = static_cast<double>(counts.raw);
  return fmt::format(
      "{} raw candidates, {} evaluated, {} pruned without; {:.2f} CPU s, {:.2f} us a candidate",
      counts.raw, counts.evaluated(), counts.raw - counts.evaluated(), cpu,
      raw > 0.0 ? cpu / raw * 1e6 : 0.0);
}

int show_optimal(const Arguments& arguments, Session& session, const std::string& text) {
  const auto count = parse_count(text);
  if (!count) {
    return refuse(session, error(Code::usage,
                                 fmt::format("--optimal-for {}: a number of FLOPs is needed", text),
                                 "for example --optimal-for 1e24"));
  }
  const Flops compute(*count);
  const auto models = planner::compute_optimal(compute);
  return emit(arguments, session,
              renderings(session, [&] { return report::compute_optimal(compute, models); },
                         {{"json", [&] { return report::compute_optimal_json(compute, models); }},
                          {"csv", [&] { return report::compute_optimal_csv(models); }}}),
              0);
}

int plan(const Arguments& stated, Session& session) {
  if (const auto flops = stated.value("optimal-for")) {
    return show_optimal(stated, session, *flops);
  }
  const auto threads = int_option(stated, "threads", 1, most_threads);
  if (!threads) return refuse(session, threads.error());
  Stopwatch watch;
  const Arguments arguments = with_search(stated);
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto scenario = searched_scenario(arguments, session, *catalog);
  const auto located = [&](const Diagnostics& faults) {
    const Diagnostics found = scenario::at_overrides(faults, arguments.values("set"));
    return stated.positionals.empty() ? found : placed_in(found, stated.positionals[0]);
  };
  if (!scenario) return refuse(session, located(scenario.error()));
  watch.lap("read");
  if (scenario->serving) {
    const auto fleets = [&] {
      const Progress progress(session, "plan", "engine instances simulated");
      return planner::plan_serving(*catalog, *scenario, threads->value_or(0),
                                   [&](auto done, auto all) { progress.set(done, all); });
    }();
    if (!fleets) return refuse(session, located(fleets.error()));
    const auto best =
        best_in_full(arguments, session, *catalog, *scenario, fleets->ranked,
                     [](const planner::ServingCandidate& one) { return overrides_of(one); });
    const report::Document* const in_full = pointer_to(best);
    const std::string& name = scenario->name;
    return emit(
        arguments, session,
        renderings(session, [&] { return report::serving_plan(*fleets, name, in_full); },
                   {{"json", [&] { return report::serving_plan_json(*fleets, name, in_full); }}}),
        fleets->ranked.empty() ? infeasible_plan : 0);
  }
  if (scenario->posttraining) {
    const auto splits = planner::plan_posttraining(*catalog, *scenario, threads->value_or(0));
    if (!splits) return refuse(session, splits.error());
    const auto best =
        best_in_full(arguments, session, *catalog, *scenario, splits->ranked,
                     [](const planner::PosttrainingCandidate& one) { return overrides_of(one); });
    return emit(
        arguments, session,
        renderings(
            session,
            [&] { return report::posttraining_plan(*splits, scenario->name, pointer_to(best)); },
            {{"json", [&] { return report::posttraining_plan_json(*splits, scenario->name); }}}),
        splits->ranked.empty() ? infeasible_plan : 0);
  }
  const double before = cpu_seconds();
  const auto found = [&] {
    const Progress progress(session, "plan", "clusters searched");
    return planner::plan(*catalog, *scenario, threads->value_or(0),
                         [&](auto done, auto all) { progress.set(done, all); });
  }();
  if (!found) return refuse(session, located(found.error()));
  watch.lap("search", timing_remark(found->counts, cpu_seconds() - before));
  const auto best =
      best_in_full(arguments, session, *catalog, *scenario, found->ranked,
                   [&](const planner::PlanRow& row) { return overrides_of(*found, row); });
  const report::Document* const in_full = pointer_to(best);
  const int code = emit(arguments, session,
                        renderings(session, [&] { return report::plan(*found, in_full); },
                                   {{"json", [&] { return report::plan_json(*found, in_full); }}}),
                        found->ranked.empty() ? infeasible_plan : 0);
  watch.lap("report");
  if (arguments.has("timing")) watch.print(session.err);
  return code;
}

}  // namespace

Command plan_command() {
  Command command{
      "plan",
      "Search machines, counts and layouts for an objective under limits.",
      "What a scenario or the options state is fixed; what they leave open is searched: instance "
      "type, count, all degrees of parallelism, micro-batch, recomputation, sharding, schedule, "
      "precision. The ranking is exact for that space. Exit code 4: nothing meets the limits, and "
      "the report says what comes nearest.",
      {{"SCENARIO", "Scenario file with a `search` section; - is standard input.", 0, 1}},
      scenario_options(),
      {{"plan --model llama3-70b --tokens 15T --deadline 30d", "The cheapest cluster in time"},
       {"plan --model llama3-70b --tokens 15T --budget 5M --instances p5.48xlarge,p6-b200.48xlarge",
        "The fastest within a budget"},
       {"plan --model gpt3-175b --instance p5.48xlarge --nodes 64",
        "The best layouts of a cluster"},
       {"plan scenarios/plan-llama3-70b.json --format json", "A scenario's `search`"},
       {"plan --optimal-for 1e24", "Compute-optimal model and tokens, by law"}},
      plan};
  for (const SearchFlag& flag : search_flags)
    command.options.push_back({flag.name, 0, flag.value, std::string(flag.about), false, {}});
  command.options.push_back({"optimal-for",
                             0,
                             "FLOPS",
                             "Only say which model and how many tokens the scaling laws call the "
                             "best for so much compute.",
                             false,
                             {}});
  command.options.push_back(
      {"threads", 0, "N", "Threads of the search; the answer does not depend on it.", false, {}});
  command.options.push_back(
      {"timing", 0, "", "Say on standard error how long the search took.", false, {}});
  Option full = full_option();
  full.about =
      "Also the best candidate's own report, as `run --full` shows it. HTML always does, and then "
      "every output of this command.";
  command.options.push_back(std::move(full));
  command.options.push_back(set_option());
  command.options.push_back(format_option({"text", "markdown", "json", "html", "csv"}));
  command.options.push_back(output_option({"text", "markdown", "json", "html", "csv"}));
  command.options.push_back(catalog_option());
  return command;
}

}  // namespace flowplan::cli
