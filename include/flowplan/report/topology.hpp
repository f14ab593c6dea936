#pragma once

#include <string>

#include "flowplan/report/document.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::report {

/// Counts, capacity and bisection by tier, assumptions. `title` names the cluster.
[[nodiscard]] Document topology(const std::string& title, const topology::Summary& summary);
[[nodiscard]] std::string topology_json(const std::string& title, const topology::Summary& summary);

}  // namespace flowplan::report
