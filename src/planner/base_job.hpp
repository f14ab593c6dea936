#pragma once

#include <vector>

#include "flowplan/estimate/provenance.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::planner {

/// What every candidate of a search shares, and the space of the rest.
struct BaseJob {
  training::Job job;  ///< layout, batch and names: one value of the space each
  scenario::LayoutSpace space;
  std::vector<Defaulted> defaulted;
};

/// From the workload: what it states is a list of one value, unless `search.space` lists several.
[[nodiscard]] BaseJob base_job(const scenario::Scenario& scenario);

}  // namespace flowplan::planner
