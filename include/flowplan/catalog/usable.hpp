#pragma once

#include "flowplan/base/diagnostic.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::catalog {

/// What a prediction needs of an instance: its GPUs and their NVLink alone, or a cluster of several
/// units too.
enum class Purpose { one_unit, cluster };

/// Why an instance cannot be used for a purpose: FP032 naming each figure that is needed and not
/// known and where it was looked for, FP060 for an instance type that is sold inside UltraServers
/// only. Empty when it can.
[[nodiscard]] Diagnostics usable_for(const Catalog& catalog, const Instance& instance,
                                     Purpose purpose);

}  // namespace flowplan::catalog
