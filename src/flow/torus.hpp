#pragma once

#include <memory>

#include "fabric.hpp"

namespace flowplan::flow {

[[nodiscard]] Result<std::unique_ptr<Fabric>> make_fabric(const Torus& torus);

}  // namespace flowplan::flow
