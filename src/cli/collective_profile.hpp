#pragma once

#include "command.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::cli {

/// The software stack of --profile, --nccl and --plugin on an instance. Errors FP090 (no version),
/// FP030 (no such set).
[[nodiscard]] Result<const catalog::Constants*> profile_from(const Arguments& arguments,
                                                             const catalog::Catalog& catalog,
                                                             const catalog::Instance& instance);

}  // namespace flowplan::cli
