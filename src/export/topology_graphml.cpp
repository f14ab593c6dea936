#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/graph/graphml.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <fmt/format.h>

#include "flowplan/export/topology_drawing.hpp"
#include "flowplan/topology/tier_name.hpp"

namespace flowplan::exporting {
namespace {

constexpr std::uint32_t most_links = 1000000;

using Ends = std::pair<std::uint32_t, std::uint32_t>;
using IdGraph =
    boost::compressed_sparse_row_graph<boost::directedS, boost::no_property, boost::no_property,
                                       boost::no_property, std::uint32_t, std::uint32_t>;
using Edge = boost::graph_traits<IdGraph>::edge_descriptor;

}  // namespace

Result<std::string> topology_graphml(const topology::Cluster& cluster) {
  if (cluster.links() > most_links)
    return fail(error(Code::bad_cluster,
                      fmt::format("a GraphML of {} links would be too large", cluster.links()),
                      "DOT and SVG draw what is alike once"));
  std::vector<Ends> ends;
  ends.reserve(cluster.links());
  for (std::uint32_t id = 0; id < cluster.links(); ++id)
    ends.emplace_back(index(cluster.source(flow::LinkId{id})),
                      index(cluster.target(flow::LinkId{id})));
  // Links are numbered by their source, so the edge index is the link's id.
  const IdGraph graph(boost::edges_are_sorted, ends.begin(), ends.end(), cluster.vertices());

  const auto of_vertex = [](auto&& text) {
    return boost::make_function_property_map<std::uint32_t>(
        [text](std::uint32_t id) { return text(topology::VertexId{id}); });
  };
  const auto of_link = [&](auto&& value) {
    return boost::make_function_property_map<Edge>([&graph, value](const Edge& edge) {
      return value(flow::LinkId{boost::get(boost::edge_index, graph, edge)});
    });
  };
  boost::dynamic_properties properties;
  properties.property("name", of_vertex([&](auto id) { return cluster.vertex_name(id); }));
  properties.property("kind",
                      of_vertex([&](auto id) { return std::string(name(cluster.kind(id))); }));
  properties.property("name", of_link([&](auto id) { return cluster.link_name(id); }));
  properties.property(
      "tier", of_link([&](auto id) {
        return std::string(topology::tier_name(cluster.tier(id), *cluster.spec().instance));
      }));
  properties.property("capacity_bytes_per_s",
                      of_link([&](auto id) { return cluster.capacity(id); }));
  properties.property("latency_s", of_link([&](auto id) { return cluster.latency(id).value(); }));
  std::ostringstream out;
  boost::write_graphml(out, graph, properties, true);
  return std::move(out).str();
}

}  // namespace flowplan::exporting
