#pragma once

#include <string>
#include <vector>

#include "flowplan/catalog/hardware.hpp"

namespace flowplan::catalog {

/// Fills the typed members of an entry from its facts. Returns what is missing or impossible, in
/// sentences.
[[nodiscard]] std::vector<std::string> settle(Gpu& gpu);
[[nodiscard]] std::vector<std::string> settle(Instance& instance);

}  // namespace flowplan::catalog
