#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "collective_compare.hpp"
#include "command.hpp"
#include "flowplan/accuracy/compare_log.hpp"
#include "flowplan/accuracy/fit.hpp"
#include "flowplan/accuracy/kernel_fit.hpp"
#include "flowplan/accuracy/training_fit.hpp"
#include "flowplan/base/text_file.hpp"
#include "flowplan/report/kernel_fit.hpp"
#include "flowplan/report/measured_log.hpp"
#include "flowplan/report/training_fit.hpp"

namespace flowplan::cli {

namespace {

struct Fitted {
  accuracy::FitInput input;
  accuracy::FitReport report;
  const catalog::Constants* profile = nullptr;
  std::vector<std::string> only;  // figures that may change; empty: all
};

/// Rows files and logs may be mixed; all are of one instance type and one software stack.
class FitReader {
 public:
  FitReader(const Arguments& arguments, const catalog::Catalog& catalog)
      : arguments_(arguments), catalog_(catalog) {}

  Result<Fitted> read(std::optional<collective::Operation> operation) {
    if (auto ready = take_options(); !ready) return fail(std::move(ready.error()));
    for (const std::string& path : arguments_.positionals) {
      auto added = path.ends_with(".csv") ? add_rows(path) : add_log(path, operation);
      if (!added) return fail(std::move(added.error()));
    }
    return std::move(fitted_);
  }

 private:
  Result<void> take_options() {
    const auto name = arguments_.value("instance");
    const auto set = arguments_.value("set");
    if (!name && !set) {
      return fail(
          error(Code::usage, "an instance type is needed", "for example --instance p5.48xlarge"));
    }
    if (name) {
      const auto instance = catalog_.instance(*name);
      if (!instance) return fail(instance.error());
      instance_ = *instance;
    }
    if (set) {
      const auto found = catalog_.constants(*set);
      if (!found) return fail(found.error());
      fitted_.profile = *found;
      fitted_.only = catalog_.lineage(*set)->own;
    }
    auto nodes = int_option(arguments_, "nodes", 1, 1000000);
    if (!nodes) return fail(std::move(nodes.error()));
    nodes_ = *nodes;
    return {};
  }

  Result<void> use_profile(const catalog::Constants* profile, const std::string& path) {
    if (fitted_.profile == nullptr) fitted_.profile = profile;
    if (fitted_.profile == profile) return {};
    return fail(error(Code::bad_measurement, in_file(path),
                      fmt::format("this is of another software stack: {} and {}",
                                  fitted_.profile->id(), profile->id()),
                      "fit each alone, or name one with --profile"));
  }

  void append(accuracy::FitInput input) {
    for (accuracy::FitPoint& point : input.points)
      fitted_.input.points.push_back(std::move(point));
    for (auto& skipped : input.skipped)
      fitted_.input.skipped.push_back(std::move(skipped));
  }

  Result<void> add_rows(const std::string& path) {
    const auto table = CsvTable::read(path);
    if (!table) return fail(table.error());
    const bool heirs = arguments_.value("set").has_value();
    if (!heirs) {
      const auto profile =
          catalog_.constants(arguments_.value("profile").value_or(instance_->collective_profile));
      if (!profile) return fail(profile.error());
      if (auto same = use_profile(*profile, path); !same) return same;
    }
    auto input =
        accuracy::fit_points_of_rows(catalog_, {instance_, fitted_.profile, heirs, nodes_}, *table);
    if (!input) return fail(std::move(input.error()));
    append(std::move(*input));
    return {};
  }

  Result<void> add_log(const std::string& path, std::optional<collective::Operation> operation) {
    if (instance_ == nullptr) {
      return fail(error(Code::usage, "the instance type of a log is needed",
                        "for example --instance p5.48xlarge; --set alone is for files of rows"));
    }
    const auto log = accuracy::read_nccl_log(path);
    if (!log) return fail(log.error());
    const auto profile = profile_of_log(arguments_, catalog_, *instance_, *log);
    if (!profile) return fail(profile.error());
    if (!arguments_.value("set")) {
      if (auto same = use_profile(*profile, path); !same) return same;
    }
    auto cluster = cluster_of_log(arguments_, catalog_, log->hosts);
    if (!cluster) return fail(std::move(cluster.error()));
    auto input = accuracy::fit_points_of_log(
        std::make_shared<const topology::Cluster>(std::move(*cluster)), **profile, *log, operation);
    if (!input) return fail(std::move(input.error()));
    append(std::move(*input));
    return {};
  }

  const Arguments& arguments_;
  const catalog::Catalog& catalog_;
  const catalog::Instance* instance_ = nullptr;
  std::optional<int> nodes_;
  Fitted fitted_;
};

Result<Fitted> fitted(const Arguments& arguments, const catalog::Catalog& catalog) {
  std::optional<collective::Operation> operation;
  if (const auto text = arguments.value("operation")) {
    operation = collective::find_operation(*text);
    if (!operation) {
      return fail(error(Code::bad_collective, fmt::format("there is no collective `{}`", *text)));
    }
  }
  auto result = FitReader(arguments, catalog).read(operation);
  if (!result) return result;
  auto report = accuracy::fit_collectives(*result->profile, result->input.points,
                                          {result->only, arguments.has("leave-out")});
  if (!report) return fail(std::move(report.error()));
  result->report = std::move(*report);
  return result;
}

/// Writes what an option asks for beside the output.
Result<void> write_beside(const Arguments& arguments, std::string_view option,
                          const std::function<std::string()>& text) {
  const auto path = arguments.value(option);
  if (!path) return {};
  return write_text(*path, text());
}

std::string source_of(const Arguments& arguments) {
  std::string source;
  for (const std::string& path : arguments.positionals)
    source += (source.empty() ? "" : ", ") + path;
  return source;
}

int fit_steps(const Arguments& arguments, Session& session, const catalog::Catalog& catalog,
              const CsvTable& table) {
  const auto found = accuracy::fit_training(catalog, table, arguments.has("leave-out"));
  if (!found) return refuse(session, found.error());
  const accuracy::StepFitReport& report = *found;
  const auto overlay = [&] {
    return accuracy::training_fit_overlay(catalog, report, source_of(arguments));
  };
  for (const auto& [option, text] :
       {std::pair<std::string_view, std::function<std::string()>>{"overlay", overlay},
        {"residuals", [&] { return accuracy::training_fit_residuals(report, false); }},
        {"source-residuals", [&] { return accuracy::training_fit_residuals(report, true); }}}) {
    if (const auto written = write_beside(arguments, option, text); !written)
      return refuse(session, written.error());
  }
  return emit(arguments, session,
              renderings(session, [&] { return report::training_fit(report); },
                         {{"json", [&] { return report::training_fit_json(report); }},
                          {"overlay", overlay}}),
              0);
}

int fit_surfaces(const Arguments& arguments, Session& session,
                 const std::vector<accuracy::KernelSample>& samples) {
  if (!arguments.has("leave-out") || arguments.has("overlay")) {
    return refuse(session, error(Code::usage, "kernels are fitted to be left out",
                                 "give --leave-out; the catalog has the surfaces of all rows"));
  }
  const auto report = accuracy::fit_kernels(samples);
  if (!report) return refuse(session, report.error());
  if (const auto written = write_beside(arguments, "residuals",
                                        [&] { return accuracy::kernel_fit_residuals(*report); });
      !written)
    return refuse(session, written.error());
  return emit(arguments, session,
              renderings(session, [&] { return report::kernel_fit(*report); },
                         {{"json", [&] { return report::kernel_fit_json(*report); }}}),
              0);
}

/// A single table; nothing when the measurements are something else.
std::optional<CsvTable> single_table(const Arguments& arguments) {
  if (arguments.positionals.size() != 1 || !arguments.positionals[0].ends_with(".csv")) return {};
  auto table = CsvTable::read(arguments.positionals[0]);
  if (!table) return {};
  return std::move(*table);
}

int fit(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  if (const auto table = single_table(arguments)) {
    if (accuracy::is_training_table(*table)) return fit_steps(arguments, session, *catalog, *table);
    if (const auto samples = accuracy::kernel_samples(*catalog, *table))
      return fit_surfaces(arguments, session, *samples);
  }
  const auto result = fitted(arguments, *catalog);
  if (!result) return refuse(session, result.error());
  const auto overlay = [&] {
    return accuracy::fit_overlay(*result->profile, result->report, source_of(arguments));
  };
  const std::vector<Rendering> shown =
      renderings(session, [&] { return report::fit(result->report, result->input); },
                 {{"json", [&] { return report::fit_json(result->report, result->input); }},
                  {"overlay", overlay}});
  for (const auto& [option, text] :
       {std::pair<std::string_view, std::function<std::string()>>{"overlay", overlay},
        {"residuals", [&] { return accuracy::fit_residuals(result->report); }}}) {
    if (const auto written = write_beside(arguments, option, text); !written)
      return refuse(session, written.error());
  }
  return emit(arguments, session, shown, 0);
}

}  // namespace

Command fit_command() {
  return {
      "fit",
      "Fit the catalog's collectives or training steps to your own measurements.",
      "Logs of nccl-tests (text, or JSON of -J) or rows as in tests/accuracy/collectives.csv; or "
      "one "
      "file of training rows as tests/accuracy/training.csv. Figures that the measurements tell "
      "are "
      "fitted, the others kept; --overlay writes a file for --catalog. Of one file of kernel "
      "latencies, as ai-dynamo/aiconfigurator has them, --leave-out says how the shipped surfaces "
      "hold on sizes left out.",
      {{"MEASUREMENTS", "Logs of nccl-tests, or CSV files of rows.", 1, 1000000}},
      {{"instance", 0, "INSTANCE", "Instance type that they were measured on.", false, {}},
       {"nodes",
        0,
        "N",
        "Nodes of the logs, by default the hosts that a log lists; of rows only those on N nodes.",
        false,
        {}},
       {"operation", 0, "OP", "Collective of logs that do not name it.", false, {}},
       {"profile", 0, "CONSTANTS", "Constants set to fit; by default the instance's.", false, {}},
       {"set",
        0,
        "CONSTANTS",
        "Fit the figures that this set itself states, to rows of every stack that extends it.",
        false,
        {}},
       {"leave-out",
        0,
        "",
        "Also predict each group from the others: a log, or an operation "
        "on a number of nodes. The overlay gets the bands that follow.",
        false,
        {}},
       {"residuals",
        0,
        "FILE",
        "Write the errors of each point, in and out of the fit.",
        false,
        {}},
       {"source-residuals",
        0,
        "FILE",
        "Of training: write the errors by fits without the row's whole source.",
        false,
        {}},
       {"overlay", 0, "FILE", "Write the fitted figures as a catalog overlay.", false, {}},
       format_option({"text", "markdown", "json", "overlay", "html", "csv"}),
       output_option({"text", "markdown", "json", "overlay", "html", "csv"}),
       catalog_option()},
      {{"fit all_reduce.log --instance p5.48xlarge --overlay mine.json",
        "Figures of your own cluster"},
       {"fit tests/accuracy/collectives.csv --instance p5.48xlarge --leave-out",
        "How the shipped figures hold when a group is left out"},
       {"fit tests/accuracy/training.csv --leave-out",
        "The same of whole training steps, by groups and by whole sources"}},
      fit};
}

}  // namespace flowplan::cli
