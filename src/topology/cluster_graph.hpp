#pragma once

#include <cstdint>

#include <boost/graph/compressed_sparse_row_graph.hpp>

#include "flowplan/topology/cluster.hpp"
#include "link_list.hpp"

namespace flowplan::topology {

/// The frozen graph. Vertices are `VertexId`s; the edge index is the link id, since both number
/// links by their source.
struct Cluster::Graph {
  using Csr = boost::compressed_sparse_row_graph<boost::bidirectionalS, boost::no_property,
                                                 boost::no_property, boost::no_property,
                                                 std::uint32_t, std::uint32_t>;
  Csr csr;

  Graph(const Layout& layout, const LinkList& list)
      : csr(boost::edges_are_unsorted_multi_pass, list.ends.begin(), list.ends.end(),
            layout.vertices) {}
};

}  // namespace flowplan::topology
