#pragma once

#include <cstddef>
#include <functional>

namespace flowplan::planner {

/// Told how many of all parts of a search are done; from any of its threads, several at once. Parts
/// are told in no order, so a later call may say less.
using SearchProgress = std::function<void(std::size_t done, std::size_t all)>;

}  // namespace flowplan::planner
