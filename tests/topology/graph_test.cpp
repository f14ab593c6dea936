// The Boost.Graph model behind a cluster against the arithmetic of its routes.
#include <set>

#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <boost/range/iterator_range.hpp>
#include <catch2/catch.hpp>

#include "../../src/topology/cluster_graph.hpp"
#include "random_cluster.hpp"

namespace flowplan::topology::graph_test {
namespace {

constexpr std::uint32_t seeds = 300;

using Csr = Cluster::Graph::Csr;
using Edge = boost::graph_traits<Csr>::edge_descriptor;

flow::LinkId link_of(const Csr& csr, const Edge& edge) {
  return static_cast<flow::LinkId>(boost::get(boost::edge_index, csr, edge));
}

/// Tiers of the path of least latency.
std::vector<Tier> shortest(const Cluster& cluster, GpuId from, GpuId to) {
  const Csr& csr = cluster.graph().csr;
  std::vector<std::uint32_t> parent(cluster.vertices());
  std::vector<double> distance(cluster.vertices());
  const auto latency = boost::make_function_property_map<Edge>(
      [&](const Edge& edge) { return cluster.latency(link_of(csr, edge)).value(); });
  boost::dijkstra_shortest_paths(csr, index(cluster.vertex(from)),
                                 boost::weight_map(latency)
                                     .predecessor_map(boost::make_iterator_property_map(
                                         parent.begin(), boost::get(boost::vertex_index, csr)))
                                     .distance_map(boost::make_iterator_property_map(
                                         distance.begin(), boost::get(boost::vertex_index, csr))));
  std::vector<Tier> path;
  for (std::uint32_t at = index(cluster.vertex(to)); at != index(cluster.vertex(from));
       at = parent[at]) {
    REQUIRE(parent[at] != at);
    path.push_back(cluster.tier(link_of(csr, boost::edge(parent[at], at, csr).first)));
  }
  return {path.rbegin(), path.rend()};
}

TEST_CASE("a route is as long as the shortest path through the graph and crosses the same tiers") {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    RandomCluster random = random_cluster(seed);
    // Where the GPUs of a domain are below several leaves, detours over NVLink (as PXN takes) can
    // be shorter than the direct way over the spine.
    random.fabric.rail_optimised = false;
    random.fabric.nodes_per_leaf *= random.hardware.instance.instances;
    const Cluster cluster = random.build();
    std::mt19937 pick(seed);
    for (int pair = 0; pair < 4; ++pair) {
      const GpuId from = any_gpu(cluster, pick), to = any_gpu(cluster, pick);
      CAPTURE(seed, index(from), index(to));
      CHECK(tiers(cluster, route(cluster, index(from), index(to))) == shortest(cluster, from, to));
    }
  }
}

TEST_CASE("a route is a chain of links from one GPU to the other, none twice") {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    const Cluster cluster = random_cluster(seed).build();
    std::mt19937 pick(seed);
    for (int pair = 0; pair < 20; ++pair) {
      const GpuId from = any_gpu(cluster, pick), to = any_gpu(cluster, pick);
      if (from == to) continue;
      std::vector<flow::LinkId> links;
      cluster.route(from, to, links);
      VertexId at = cluster.vertex(from);
      bool chained = true;
      for (flow::LinkId link : links) {
        chained = chained && cluster.source(link) == at;
        at = cluster.target(link);
      }
      CAPTURE(seed, index(from), index(to));
      CHECK(chained);
      CHECK(at == cluster.vertex(to));
      CHECK(std::set<flow::LinkId>(links.begin(), links.end()).size() == links.size());
    }
  }
}

TEST_CASE("edge indices are link ids and sources ascend") {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    const Cluster cluster = random_cluster(seed).build();
    const Csr& csr = cluster.graph().csr;
    REQUIRE(boost::num_edges(csr) == cluster.network().size());
    REQUIRE(boost::num_vertices(csr) == cluster.vertices());
    std::uint32_t next = 0;
    bool same = true;
    for (const Edge& edge : boost::make_iterator_range(boost::edges(csr))) {
      const flow::LinkId link = link_of(csr, edge);
      same = same && flow::index(link) == next++ &&
             index(cluster.source(link)) == boost::source(edge, csr) &&
             index(cluster.target(link)) == boost::target(edge, csr);
    }
    CAPTURE(seed);
    CHECK(same);
  }
}

TEST_CASE("every vertex can send as much as it can receive, and every link has its way back") {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    const Cluster cluster = random_cluster(seed).build();
    std::vector<double> balance(cluster.vertices(), 0.0), through(cluster.vertices(), 0.0);
    std::set<std::pair<VertexId, VertexId>> ends;
    for (std::uint32_t id = 0; id < cluster.network().size(); ++id) {
      const flow::LinkId link{id};
      const double rate = capacity(cluster, link);
      CHECK(rate > 0.0);
      balance[index(cluster.source(link))] -= rate;
      balance[index(cluster.target(link))] += rate;
      through[index(cluster.source(link))] += rate;
      ends.emplace(cluster.source(link), cluster.target(link));
    }
    bool conserved = true, paired = true;
    for (std::uint32_t v = 0; v < cluster.vertices(); ++v)
      conserved = conserved && std::abs(balance[v]) <= 1e-12 * through[v];
    for (const auto& [from, to] : ends)
      paired = paired && ends.count({to, from}) == 1;
    CAPTURE(seed);
    CHECK(conserved);
    CHECK(paired);
    CHECK(ends.size() == cluster.network().size());
  }
}

TEST_CASE("a GPU's ports are its own links") {
  for (std::uint32_t seed = 0; seed < seeds; ++seed) {
    const Cluster cluster = random_cluster(seed).build();
    bool right = true;
    for (std::uint32_t g = 0; g < cluster.gpus(); ++g) {
      const GpuId gpu{g};
      const flow::LinkId out = cluster.nic_out(gpu), in = cluster.nic_in(gpu);
      right = right && cluster.kind(cluster.vertex(gpu)) == VertexKind::gpu &&
              cluster.kind(cluster.source(out)) == VertexKind::nic_group &&
              cluster.source(out) == cluster.target(in) &&
              cluster.target(out) == cluster.source(in) &&
              cluster.vertex_name(cluster.vertex(gpu)) == "gpu" + std::to_string(g);
      if (cluster.gpus_per_domain() == 1) continue;
      right = right && cluster.source(cluster.nvlink_out(gpu)) == cluster.vertex(gpu) &&
              cluster.target(cluster.nvlink_in(gpu)) == cluster.vertex(gpu) &&
              cluster.target(cluster.nvlink_out(gpu)) == cluster.source(cluster.nvlink_in(gpu)) &&
              cluster.kind(cluster.target(cluster.nvlink_out(gpu))) == VertexKind::nvswitch_plane;
    }
    CAPTURE(seed);
    CHECK(right);
  }
}

TEST_CASE("no two vertices and no two links have the same name") {
  for (std::uint32_t seed = 0; seed < seeds / 4; ++seed) {
    const Cluster cluster = random_cluster(seed).build();
    std::set<std::string> vertices, links;
    for (std::uint32_t v = 0; v < cluster.vertices(); ++v)
      vertices.insert(cluster.vertex_name(VertexId{v}));
    for (std::uint32_t l = 0; l < cluster.network().size(); ++l)
      links.insert(cluster.link_name(flow::LinkId{l}));
    CAPTURE(seed);
    CHECK(vertices.size() == cluster.vertices());
    CHECK(links.size() == cluster.network().size());
  }
}

TEST_CASE("the same spec gives the same cluster") {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Cluster one = random_cluster(seed).build(), two = random_cluster(seed).build();
    CHECK(one.network().capacity == two.network().capacity);
    CHECK(one.vertices() == two.vertices());
    for (std::uint32_t to = 0; to < one.gpus(); ++to)
      CHECK(route(one, 0, to) == route(two, 0, to));
  }
}

}  // namespace
}  // namespace flowplan::topology::graph_test
