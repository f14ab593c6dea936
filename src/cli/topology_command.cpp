#include <string>
#include <utility>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "command.hpp"
#include "flowplan/report/topology.hpp"
#include "scenario_flags.hpp"

namespace flowplan::cli {

namespace {

Result<topology::Cluster> cluster_of_scenario(const Arguments& arguments, const Session& session,
                                              const catalog::Catalog& catalog) {
  const auto scenario = load_scenario(arguments, session, catalog, "topology");
  if (!scenario) return fail(scenario.error());
  topology::ClusterSpec spec;
  spec.instance = scenario->cluster.instance;
  spec.count = scenario->cluster.count;
  spec.fabric = scenario->cluster.fabric;
  return topology::Cluster::build(catalog, spec);
}

int summarise(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto cluster = arguments.positionals.empty()
                           ? cluster_from(arguments, *catalog)
                           : cluster_of_scenario(arguments, session, *catalog);
  if (!cluster) return refuse(session, cluster.error());
  const topology::Summary summary = topology::summarise(*cluster);
  const std::string title =
      fmt::format("{} x {}", cluster->spec().count, cluster->spec().instance->id);
  return emit(arguments, session,
              renderings(session, [&] { return report::topology(title, summary); },
                         {{"json", [&] { return report::topology_json(title, summary); }}}),
              0);
}

}  // namespace

Command topology_command() {
  Command command{"topology",
                  "Summarise a cluster: counts, bisection bandwidth by tier, oversubscription.",
                  "",
                  {{"SCENARIO", "Take the cluster of a scenario file.", 0, 1}},
                  cluster_options(),
                  {{"topology --instance p5.48xlarge --nodes 256", "A cluster of 2,048 GPUs"}},
                  summarise};
  command.options.push_back(set_option());
  command.options.push_back(format_option());
  command.options.push_back(output_option());
  command.options.push_back(catalog_option());
  return command;
}

}  // namespace flowplan::cli
