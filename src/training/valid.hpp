#pragma once

#include <cstdint>

#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

/// Whether every degree of a job divides what it has to, on so many GPUs: the arithmetic behind
/// `check`, without words.
[[nodiscard]] bool divides(std::int64_t gpus, const Job& job);

}  // namespace flowplan::training
