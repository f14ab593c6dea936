#include "collective_compare.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "flowplan/accuracy/compare_log.hpp"
#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/collective/profile.hpp"
#include "flowplan/report/measured_log.hpp"

namespace flowplan::cli {

namespace {

constexpr double highest_ratio = 10.0;

Result<double> min_ratio(const Arguments& arguments) {
  const auto text = arguments.value("min-ratio");
  if (!text) return 0.0;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (end == text->c_str() || *end != '\0' || !(value >= 0.0 && value <= highest_ratio)) {
    return fail(error(Code::usage, fmt::format("--min-ratio {}: a ratio is needed", *text),
                      "0.9 asks for 90 % of the expected bandwidth"));
  }
  return value;
}

/// -b and -e keep what lies between them.
Result<void> keep_sizes(const Arguments& arguments, accuracy::NcclLog& log) {
  double least = 0.0, most = std::numeric_limits<double>::infinity();
  for (const auto& [option, bound] : {std::pair{"begin", &least}, std::pair{"end", &most}}) {
    const auto text = arguments.value(option);
    if (!text) continue;
    const auto size = parse_nccl_size(*text);
    if (!size) return fail(size.error());
    *bound = size->value();
  }
  std::erase_if(log.lines, [&](const accuracy::NcclLogLine& line) {
    return line.size_bytes < least || line.size_bytes > most;
  });
  if (!log.lines.empty()) return {};
  return fail(error(Code::usage, "the log has no size between -b and -e"));
}

Result<void> refuse_sweep_options(const Arguments& arguments) {
  for (const char* option : {"factor", "step", "gpus", "placement", "seed", "degrade", "timing",
                             "no-fold", "channels", "groups"}) {
    if (!arguments.has(option)) continue;
    return fail(error(Code::usage, fmt::format("--{} does not go with --compare", option),
                      "ranks and sizes are the log's; -b and -e limit which sizes count"));
  }
  return {};
}

struct Compared {
  accuracy::NcclLog log;
  accuracy::LogComparison comparison;
  double least = 0.0;
};

Result<Compared> compared(const Arguments& arguments, const catalog::Catalog& catalog,
                          std::optional<collective::Operation> operation) {
  Compared result;
  if (auto sound = refuse_sweep_options(arguments); !sound) return fail(std::move(sound.error()));
  const auto least = min_ratio(arguments);
  if (!least) return fail(least.error());
  result.least = *least;
  auto log = accuracy::read_nccl_log(*arguments.value("compare"));
  if (!log) return fail(std::move(log.error()));
  if (operation && log->operation && *operation != *log->operation) {
    return fail(
        error(Code::bad_collective, in_file(log->file),
              fmt::format("the log is of {}, not of {}", name(*log->operation), name(*operation)),
              fmt::format("flowplan collective {} --compare ...", name(*log->operation))));
  }
  accuracy::CompareOptions options;
  const auto of = operation.value_or(log->operation.value_or(collective::Operation::all_reduce));
  const auto algorithm =
      collective::parse_algorithms(arguments.value("algorithm").value_or("auto"), of);
  if (!algorithm) return fail(algorithm.error());
  options.algorithm = *algorithm;
  const auto protocol =
      collective::parse_protocols(arguments.value("protocol").value_or("auto"), of);
  if (!protocol) return fail(protocol.error());
  options.protocol = *protocol;
  result.log = std::move(*log);
  if (auto kept = keep_sizes(arguments, result.log); !kept) return fail(std::move(kept.error()));
  const auto cluster = cluster_of_log(arguments, catalog, result.log.hosts);
  if (!cluster) return fail(cluster.error());
  const auto profile = profile_of_log(arguments, catalog, *cluster->spec().instance, result.log);
  if (!profile) return fail(profile.error());
  auto comparison =
      accuracy::compare_log(catalog, *cluster, **profile, result.log, operation, options);
  if (!comparison) return fail(std::move(comparison.error()));
  result.comparison = std::move(*comparison);
  if (arguments.has("min-ratio") && result.comparison.of_other_cluster) {
    return fail(error(Code::bad_collective, in_file(result.log.file),
                      "the log is of another cluster: --min-ratio cannot be asked of it",
                      result.comparison.remarks.front()));
  }
  return result;
}

}  // namespace

Result<topology::Cluster> cluster_of_log(const Arguments& arguments,
                                         const catalog::Catalog& catalog, int hosts) {
  Arguments with_nodes = arguments;
  if (!arguments.has("nodes") && hosts > 0) {
    const auto instance = catalog.instance(arguments.value("instance").value_or(""));
    // An UltraServer counts as one node and has 9 or 18 hosts.
    const int each = instance ? (*instance)->instances : 1;
    with_nodes.options["nodes"] = {std::to_string(std::max(1, hosts / each))};
  }
  return cluster_from(with_nodes, catalog);
}

Result<const catalog::Constants*> profile_of_log(const Arguments& arguments,
                                                 const catalog::Catalog& catalog,
                                                 const catalog::Instance& instance,
                                                 const accuracy::NcclLog& log) {
  if (const auto named = arguments.value("profile")) return catalog.constants(*named);
  return collective::find_profile(catalog, instance.collective_profile,
                                  {log.nccl_version, log.plugin_version});
}

int compare_collective(const Arguments& arguments, Session& session,
                       std::optional<collective::Operation> operation) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto result = compared(arguments, *catalog, operation);
  if (!result) return refuse(session, result.error());
  const int code = result->comparison.least_ratio < result->least ? 1 : 0;
  return emit(
      arguments, session,
      renderings(
          session,
          [&] { return report::log_comparison(result->comparison, result->log, result->least); },
          {{"json",
            [&] {
              return report::log_comparison_json(result->comparison, result->log, result->least);
            }}}),
      code);
}

}  // namespace flowplan::cli
