#pragma once

#include <vector>

#include "arguments.hpp"
#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan::cli {

/// The sizes of -b, -e, -f and -i: from begin to end, times a factor or plus a step, as nccl-tests
/// does.
[[nodiscard]] Result<std::vector<Bytes>> collective_sizes(const Arguments& arguments);

}  // namespace flowplan::cli
