#pragma once

#include "flowplan/training/framework.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

/// Memory of every stage of a job whose layout has been checked.
[[nodiscard]] MemoryUse memory_use(const Framework& framework, const Job& job, Bytes hbm);

}  // namespace flowplan::training
