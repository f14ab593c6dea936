#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::posttraining {

/// What a post-training framework costs beside training and generation, as a constants set of kind
/// "posttraining" says it. docs/models/posttraining.md explains each.
struct Profile {
  std::string id;         ///< of the set: "posttraining-nemo-rl"
  Seconds sync_tensor{};  ///< a tensor, each synchronisation to GPUs apart
  Seconds sync_tensor_least{}, sync_tensor_most{};  ///< ends of what was measured
  Seconds sync_colocated_tensor{};                  ///< the same on the trainer's own GPUs
  Seconds multi_host_pass{};      ///< a pass of an engine whose GPUs are on several hosts
  Seconds engine_wake{};          ///< an engine going to sleep and waking up, beside what is moved
  Seconds controller{};           ///< a step: data, advantages, logging
  Seconds controller_sample{};    ///< and a sample: tokenising, moving between processes
  double colocated_memory = 0.0;  ///< share of a GPU's memory that a colocated engine gets
  double apart_memory = 0.0;      ///< and one on GPUs of its own
  double band_p90 = 0.0;          ///< 90 % of rows are within this many percent
  std::string band_regime;
};

/// The profile of that name ("default": the set "posttraining-default"). Errors FP030 with the
/// known ones, FP032 when the set lacks a figure.
[[nodiscard]] Result<Profile> profile(const catalog::Catalog& catalog, std::string_view name);
/// Names that `profile` takes, in alphabetical order.
[[nodiscard]] std::vector<std::string> profile_names(const catalog::Catalog& catalog);

}  // namespace flowplan::posttraining
