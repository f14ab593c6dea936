#pragma once

#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/provenance.hpp"
#include "flowplan/scenario/scenario.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::scenario {

/// A scenario with nothing left open.
struct Resolved {
  topology::Cluster cluster;
  training::Job job;
  std::string region;
  std::vector<Defaulted> defaulted;  ///< what was left out, the value it got, and the rule
};

/// Fills in what the scenario leaves out, each by one written rule (docs/scenario.md, "Defaults").
/// What it states is never changed: degrees that do not agree are errors (FP070-FP073).
[[nodiscard]] Result<Resolved> resolve(const catalog::Catalog& catalog, const Scenario& scenario);

}  // namespace flowplan::scenario
