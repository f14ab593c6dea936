#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/provenance.hpp"

namespace flowplan::operations {

/// What is assumed about power; what is not stated comes from the catalog's set "energy".
struct EnergyAssumptions {
  std::optional<double> node_over_gpu_tdp;  ///< rated power of a node over its GPUs' TDP, >= 1
  std::optional<double> share_of_rating;    ///< of it that training draws, 0..1
  std::optional<double> pue;                ///< power of the site over that of its machines, >= 1
};

/// Energy of a run. An estimate: nobody publishes what an EC2 instance draws.
struct Energy {
  double gpu_tdp_w = 0.0;
  double node_over_gpu_tdp = 0.0, share_of_rating = 0.0, pue = 0.0;
  double machines_kwh = 0.0;  ///< GPUs, hosts, network cards, fans
  double site_kwh = 0.0;      ///< with cooling and losses: machines x PUE
  std::vector<UsedFigure> figures;
};

/// TDP x node rating over it x share x GPUs x time x PUE; time in which the job is down counts like
/// any other. `gpus` > 0. Errors: FP030 without the set "energy", FP032 when the GPU's power is not
/// known.
[[nodiscard]] Result<Energy> energy(const catalog::Catalog& catalog, const catalog::Gpu& gpu,
                                    double gpus, Seconds time,
                                    const EnergyAssumptions& assumptions = {});

}  // namespace flowplan::operations
