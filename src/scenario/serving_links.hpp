#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/inference/load.hpp"
#include "flowplan/scenario/link_load.hpp"
#include "flowplan/scenario/serving.hpp"
#include "serving_fleet.hpp"

namespace flowplan::scenario {

/// What a fleet puts on its links: the collectives of a decode pass at the run's mean batch, which
/// takes `pass`, and the KV that prefill workers send. `nic` names the NICs' tier. Errors: those of
/// `inference::pass_traffic`.
[[nodiscard]] Result<LinkLoads> serving_links(const catalog::Catalog& catalog,
                                              const ServingFleet& fleet,
                                              const ServingAnswer& answer,
                                              const inference::Workload& workload, Seconds pass,
                                              const std::string& nic);

}  // namespace flowplan::scenario
