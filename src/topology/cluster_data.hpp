#pragma once

#include <vector>

#include "cluster_graph.hpp"
#include "figures.hpp"
#include "layout.hpp"

namespace flowplan::topology {

struct Cluster::Data {
  ClusterSpec spec;  ///< with the sizes of the fabric filled in
  Figures figures;
  Layout layout;
  Graph graph;
  flow::Network network;
  std::vector<Tier> tier;  ///< by link
};

}  // namespace flowplan::topology
