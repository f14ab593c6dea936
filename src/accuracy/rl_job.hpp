#pragma once

#include <string>
#include <vector>

#include "flowplan/base/csv_table.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/posttraining/reinforcement.hpp"

namespace flowplan::accuracy {

/// What a row of a reinforcement-learning step describes.
struct RlMeasurement {
  std::string skipped;  ///< why it can't be predicted; the job is then incomplete
  std::string source;   ///< short: "NeMo-RL"
  std::string instance, gpu;
  std::vector<std::string> assumed;  ///< what neither the row nor its recipe states
  bool recompute_stated = false;     ///< `job.actor.recompute` is its recipe's
  posttraining::RlJob job;           ///< its `gpus` are set
};
/// A row with metric `rl_step_time`: columns of training rows, and in its notes the mean length,
/// samples a step and the engine's layout.
[[nodiscard]] RlMeasurement read_rl_job(const catalog::Catalog& catalog, const CsvTable& table,
                                        std::size_t row);

/// Whether a row of training measurements is one of these.
[[nodiscard]] bool is_rl_row(const CsvTable& table, std::size_t row);

}  // namespace flowplan::accuracy
