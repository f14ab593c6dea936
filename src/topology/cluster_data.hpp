#pragma once

#include <vector>

#include "cluster_graph.hpp"
#include "figures.hpp"
#include "layout.hpp"
#include "lazy.hpp"

namespace flowplan::topology {

/// What is as built: shared by a cluster and all its degraded views.
struct Cluster::Data {
  ClusterSpec spec;  ///< with the sizes of the fabric filled in
  Figures figures;
  Layout layout;
  Lazy<Graph> graph;
  Lazy<flow::Network> network;

  Data(ClusterSpec its_spec, Figures its_figures, Layout its_layout)
      : spec(std::move(its_spec)), figures(std::move(its_figures)), layout(std::move(its_layout)) {}
};

/// What is worse than built.
struct Cluster::View {
  std::vector<Slowdown> slowed;  ///< by link, each once
  Lazy<flow::Network> network;

  explicit View(std::vector<Slowdown> links) : slowed(std::move(links)) {}

  [[nodiscard]] double factor(flow::LinkId link) const;
};

}  // namespace flowplan::topology
