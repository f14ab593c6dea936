#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include "flowplan/topology/cluster.hpp"
#include "layout.hpp"

namespace flowplan::topology {

/// The frozen graph. Vertices are `VertexId`s; the edge index is the link id, since both number
/// links by their source.
struct Cluster::Graph {
  using Csr = boost::compressed_sparse_row_graph<boost::bidirectionalS, boost::no_property,
                                                 boost::no_property, boost::no_property,
                                                 std::uint32_t, std::uint32_t>;
  Csr csr;

  explicit Graph(const Layout& layout) : Graph(layout, ends_of(layout)) {}

 private:
  using Ends = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  Graph(const Layout& layout, const Ends& ends)
      : csr(boost::edges_are_unsorted_multi_pass, ends.begin(), ends.end(), layout.vertices) {}

  static Ends ends_of(const Layout& layout) {
    Ends ends;
    ends.reserve(layout.links);
    for (std::uint32_t link = 0; link < layout.links; ++link) {
      const Layout::Ends of_link = layout.ends(link);
      ends.emplace_back(of_link.from, of_link.to);
    }
    return ends;
  }
};

}  // namespace flowplan::topology
