#pragma once

#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "command.hpp"
#include "session.hpp"

namespace flowplan::cli {

/// What `flowplan collective OP` knows beside NCCL's operations: `custom_all_reduce` (the kernels
/// of serving engines), `ep_dispatch`, `ep_combine` and `ep`, which is both (tokens to their
/// experts).
[[nodiscard]] bool is_kernel_exchange(std::string_view operation);
int kernel_exchange(const Arguments& arguments, Session& session, std::string_view operation);
/// Those of its options that the collectives do not have.
[[nodiscard]] std::vector<Option> kernel_exchange_options();

}  // namespace flowplan::cli
