#pragma once

#include <string>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::model {

/// Largest relative difference of two parameter counts that is no cause for a warning.
inline constexpr double checkpoint_tolerance = 0.01;

/// The name that Hugging Face gives the index of a checkpoint in several files.
inline constexpr const char* checkpoint_index_name = "model.safetensors.index.json";

/// A model's parameter count against the size of its checkpoint.
struct CheckpointCheck {
  enum class Agreement {
    equal,           ///< to the parameter
    close,           ///< within checkpoint_tolerance
    differs,         ///< by more than that
    not_comparable,  ///< quantised, or of an element type that the config does not say
  };

  Agreement agreement = Agreement::not_comparable;
  std::string file;         ///< the index
  Bytes size{};             ///< `metadata.total_size`
  double stored = 0.0;      ///< parameters in the checkpoint; 0 when not comparable
  double counted = 0.0;     ///< parameters that the model has, copies in the checkpoint included
  std::string explanation;  ///< one sentence with both counts
};

/// Holds `model`, read from `config` (a Hugging Face config.json), against `index` (its
/// model.safetensors.index.json): `metadata.total_parameters` where the index has it, else
/// `metadata.total_size` over the bytes of the config's `torch_dtype` (or `dtype`). The names of
/// `weight_map` say whether multi-token prediction modules, their copies of embedding and output,
/// and the output matrix of tied embeddings are stored too, and how many layers there are. Where
/// they say that weights are quantised, or the config does, bytes do not count parameters and only
/// a size that no quantisation explains differs. Errors FP016, FP021, FP022 and FP024 with the
/// place in the index.
[[nodiscard]] Result<CheckpointCheck> check_checkpoint(const Transformer& model,
                                                       const JsonDocument& config,
                                                       const JsonDocument& index);

}  // namespace flowplan::model
