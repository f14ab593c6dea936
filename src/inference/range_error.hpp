#pragma once

#include <string>
#include <utility>

#include "flowplan/base/diagnostic.hpp"

namespace flowplan::inference {

/// FP024 at a part of a scenario.
[[nodiscard]] inline Diagnostic out_of_range(std::string pointer, std::string message) {
  Place place;
  place.pointer = std::move(pointer);
  return error(Code::value_out_of_range, std::move(place), std::move(message));
}

}  // namespace flowplan::inference
