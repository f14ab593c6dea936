#pragma once

#include <string>
#include <vector>

#include "flowplan/base/csv_table.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::accuracy {

/// What a row of training measurements describes.
struct TrainingJob {
  std::string source;                ///< short: "vTrain", "Megatron-Bridge"
  std::string instance;              ///< catalog id of its system
  std::string gpu;                   ///< as the row spells it
  std::string group;                 ///< "dense", "experts", "LoRA"
  std::vector<std::string> assumed;  ///< what the row does not state
  model::AttentionCredit credit = model::AttentionCredit::causal_half;  ///< of its FLOP/s
  training::Job job;                                                    ///< its `gpus` are set
  bool recompute_is_open = false;  ///< not stated, and not none by its framework's habit
};

/// The job of a row, or why there is none: the row does not state enough of it, or it runs
/// something that this release does not model. Exactly one of `skipped` and `job` means something.
struct ReadJob {
  std::string skipped;
  TrainingJob job;
};
[[nodiscard]] ReadJob read_training_job(const catalog::Catalog& catalog, const CsvTable& table,
                                        std::size_t row);

/// Name of a row's source without its file and revision.
[[nodiscard]] std::string short_source(const std::string& source);

}  // namespace flowplan::accuracy
