#pragma once

#include <functional>
#include <string>

#include "flowplan/accuracy/validate.hpp"
#include "flowplan/base/csv_table.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/topology/placement.hpp"

namespace flowplan::accuracy {

/// A cluster of that instance that holds so many GPUs, and how ranks are placed on it.
using ClusterOf = std::function<Result<const topology::Cluster*>(
    const std::string& instance, std::uint32_t gpus, topology::PlacementSpec& placement)>;

/// Predicts one row of a reinforcement-learning step into `row`.
void predict_rl(const catalog::Catalog& catalog, const CsvTable& table, std::size_t index,
                const ClusterOf& cluster_of, Row& row);

}  // namespace flowplan::accuracy
