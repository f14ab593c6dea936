#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "command.hpp"
#include "flowplan/base/text_file.hpp"
#include "flowplan/export/topology_drawing.hpp"
#include "flowplan/report/topology.hpp"
#include "flowplan/topology/degradation.hpp"
#include "flowplan/topology/import.hpp"
#include "flowplan/topology/node_picture.hpp"
#include "scenario_flags.hpp"

namespace flowplan::cli {

namespace {

constexpr std::size_t largest_topology_file = 256u << 20;
constexpr double published_ratios[] = {1.0,
                                       2.0};  // the claim, and what would show if it were wrong

enum class Drawing { svg, dot, graphml };

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

/// By --draw-format, else by the file's suffix.
Result<Drawing> drawing_of(const Arguments& arguments, const std::string& path) {
  const std::string suffix =
      path.find('.') == path.npos ? std::string() : path.substr(path.rfind('.') + 1);
  const std::string format = arguments.value("draw-format").value_or(suffix);
  if (format == "svg") return Drawing::svg;
  if (format == "dot" || format == "gv") return Drawing::dot;
  if (format == "graphml") return Drawing::graphml;
  return fail(error(Code::usage, fmt::format("--draw {}: which format?", path),
                    "end it in .svg, .dot or .graphml, or give --draw-format"));
}

Result<void> draw(const Arguments& arguments, Session& session, const topology::Cluster& cluster,
                  const std::string& title) {
  const std::string path = arguments.value("draw").value_or("");
  const auto drawing = drawing_of(arguments, path);
  if (!drawing) return fail(drawing.error());
  Result<std::string> text;
  if (*drawing == Drawing::svg) text = exporting::topology_svg(cluster, title);
  if (*drawing == Drawing::dot) text = exporting::topology_dot(cluster, title);
  if (*drawing == Drawing::graphml) text = exporting::topology_graphml(cluster);
  if (!text) return fail(text.error());
  if (path != "-") return write_text(path, *text);
  session.out << *text;
  return {};
}

/// A node's picture against the catalog's node of --instance.
int compare_with_node(const Arguments& arguments, Session& session, const catalog::Catalog& catalog,
                      const std::string& text, topology::ImportFormat format) {
  const std::string path = arguments.value("import").value_or("");
  const std::string file = path == "-" ? "<stdin>" : path;
  const auto picture = topology::read_node(text, file, format);
  if (!picture) return refuse(session, picture.error());
  for (const char* option : {"draw", "degrade", "nodes"})
    if (arguments.has(option))
      return refuse(
          session,
          error(Code::usage, fmt::format("{} describes the inside of a node", file),
                fmt::format("it is compared with --instance; --{} has no meaning", option)));
  const auto name = arguments.value("instance");
  if (!name)
    return refuse(session, error(Code::usage, fmt::format("which type of node is {}?", file),
                                 "give --instance, for example p5.48xlarge"));
  const auto instance = catalog.instance(*name);
  if (!instance) return refuse(session, instance.error());
  topology::ClusterSpec spec;
  spec.instance = *instance;
  const auto cluster = topology::Cluster::build(catalog, spec);
  if (!cluster) return refuse(session, cluster.error());
  const report::NodeView view{fmt::format("{} against {}", file, (*instance)->id), &*picture,
                              topology::compare_node(*picture, *cluster)};
  return emit(arguments, session,
              renderings(session, [&] { return report::node_comparison(view); },
                         {{"json", [&] { return report::node_comparison_json(view); }}}),
              0);
}

int show(const Arguments& arguments, Session& session, const topology::Cluster& built) {
  const auto cluster = degraded(arguments, built);
  if (!cluster) return refuse(session, cluster.error());
  report::TopologyView view;
  view.title = fmt::format("{} x {}", built.spec().count, built.spec().instance->id);
  view.summary = topology::summarise(*cluster);
  view.cluster = &*cluster;
  view.reroutes = topology::describe_reroutes(*cluster);
  if (!cluster->slowdowns().empty()) view.built = topology::summarise(built);
  for (const double ratio : published_ratios) {
    if (built.leaves() < 2) break;
    topology::ClusterSpec spec = built.spec();
    spec.fabric.leaf_oversubscription = ratio;
    const auto other = topology::Cluster::build(spec);
    if (!other) return refuse(session, other.error());
    // Under ecmp the ratio decides how many uplinks there are: one that is named may be gone.
    const auto as_slow = degraded(arguments, *other);
    if (!as_slow) continue;
    view.at.emplace_back(ratio, topology::summarise(*as_slow));
  }
  if (arguments.has("draw")) {
    if (const auto drawn = draw(arguments, session, *cluster, view.title); !drawn)
      return refuse(session, drawn.error());
    if (arguments.value("draw") == "-") return 0;
  }
  return emit(arguments, session,
              renderings(session, [&] { return report::topology(view); },
                         {{"json", [&] { return report::topology_json(view); }}}),
              0);
}

int run(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  if (arguments.has("draw-format") && !arguments.has("draw"))
    return refuse(session, error(Code::usage, "--draw-format belongs to --draw"));
  if (!arguments.positionals.empty()) {
    const auto cluster = cluster_of_scenario(arguments, session, *catalog);
    return cluster ? show(arguments, session, *cluster) : refuse(session, cluster.error());
  }
  if (const auto path = arguments.value("import")) {
    auto text = read_text(*path, largest_topology_file);
    if (!text) return refuse(session, text.error());
    const auto format =
        arguments.has("import-format")
            ? topology::find_import_format(arguments.value("import-format").value_or(""))
            : topology::recognise(*text);
    if (format && topology::describes_a_node(*format))
      return compare_with_node(arguments, session, *catalog, *text, *format);
    const auto cluster = imported_cluster(arguments, *catalog, std::move(*text));
    return cluster ? show(arguments, session, *cluster) : refuse(session, cluster.error());
  }
  const auto cluster = cluster_from(arguments, *catalog);
  return cluster ? show(arguments, session, *cluster) : refuse(session, cluster.error());
}

}  // namespace

Command topology_command() {
  Command command{
      "topology",
      "Summarise a cluster, draw it, import a real one, compare a node with its type.",
      "Counts, bisection bandwidth by tier also at 1:1 and 2:1, what is claimed and what is "
      "assumed. "
      "An imported NCCL topology XML or `nvidia-smi topo -m` is the inside of a node: it is "
      "compared "
      "with --instance.",
      {{"SCENARIO", "Take the cluster of a scenario file.", 0, 1}},
      cluster_options(),
      {{"topology --instance p5.48xlarge --nodes 256", "A cluster of 2,048 GPUs"},
       {"topology --instance p5.48xlarge --nodes 64 --draw cluster.svg", "The same drawn"},
       {"topology --import topology.json --instance p5.48xlarge",
        "The instances of a DescribeInstanceTopology answer"},
       {"topology --import nccl-topo.xml --instance p5.48xlarge", "What a node lacks of its type"}},
      run};
  command.options.push_back(degrade_option());
  command.options.push_back(
      {"draw", 0, "FILE", "Draw it: FILE.svg, FILE.dot or FILE.graphml (every link).", false, {}});
  command.options.push_back({"draw-format",
                             0,
                             "NAME",
                             "Of that file; by its suffix by default.",
                             false,
                             {"svg", "dot", "graphml"}});
  command.options.push_back(set_option());
  command.options.push_back(format_option());
  command.options.push_back(output_option());
  command.options.push_back(catalog_option());
  return command;
}

}  // namespace flowplan::cli
