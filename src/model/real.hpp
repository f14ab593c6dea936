#pragma once

#include <cstdint>

namespace flowplan::model {

/// A count of the model as a factor of bytes or FLOPs.
inline double real(std::int64_t n) {
  return static_cast<double>(n);
}

}  // namespace flowplan::model
