#pragma once

#include <memory>

#include "fabric.hpp"

namespace flowplan::flow {

[[nodiscard]] Result<std::unique_ptr<Fabric>> make_fabric(const Clos& clos);

}  // namespace flowplan::flow
