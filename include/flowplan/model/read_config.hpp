#pragma once

#include <string>

#include "flowplan/model/transformer.hpp"

namespace flowplan::model {

/// Reads the configuration at a JSON pointer of a document that holds several. Errors as
/// read_config(config, name).
[[nodiscard]] Result<Transformer> read_config(const JsonDocument& document,
                                              const std::string& pointer, std::string name);

}  // namespace flowplan::model
