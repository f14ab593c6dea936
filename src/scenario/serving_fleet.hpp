#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/provenance.hpp"
#include "flowplan/inference/deployment.hpp"
#include "flowplan/inference/serve.hpp"
#include "flowplan/scenario/serving.hpp"

namespace flowplan::scenario {

/// A serving deployment with nothing left open.
struct ServingFleet {
  inference::StepSetup setup;  ///< of an instance, or of a decode worker
  inference::Fleet fleet;
  std::optional<inference::Disaggregated> pools;  ///< instead of `fleet`
  std::optional<inference::StepSetup> prefill;
  int gpus = 0;  ///< that work
};

/// What is decided before anything is built: engine, formats, layout.
struct ServingChoice {
  inference::StepSetup setup;
  std::optional<inference::StepSetup> prefill;
  std::string engine;
  std::vector<Defaulted> defaulted;
  Diagnostics notes;
};

/// `longest`: tokens of the longest sequence of the load. `section` and the catalog outlive the
/// result. Errors with JSON pointers: FP030, FP070 to FP072.
[[nodiscard]] Result<ServingChoice> choose_serving(const catalog::Catalog& catalog,
                                                   const catalog::Instance& instance,
                                                   const ServingSection& section, double longest);

/// Builds the tables; `gpus` of the cluster. Errors: a layout larger than the cluster (FP070),
/// FP073.
[[nodiscard]] Result<ServingFleet> build_serving(const catalog::Catalog& catalog,
                                                 const ServingSection& section,
                                                 ServingChoice& choice, int gpus, double longest,
                                                 bool shares_prefixes);

}  // namespace flowplan::scenario
