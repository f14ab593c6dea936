#pragma once

#include <string>

#include "flowplan/catalog/catalog.hpp"

namespace flowplan::catalog {

/// A figure of the catalog and what it is multiplied by.
struct Scaling {
  enum class What {
    matrix_rate,    ///< of a GPU, all its precisions
    hbm_bandwidth,  ///< of a GPU
    nvlink,         ///< of a GPU
    hbm_capacity,   ///< that a program can allocate on a GPU of an instance type
    network,        ///< EFA or InfiniBand of an instance type
    price,          ///< all prices of an instance type
    constant,       ///< one of a constants set, or its whole table
  };
  What what{};
  std::string id;        ///< of the GPU, the instance type or the constants set
  std::string constant;  ///< its name, of a constant
  double factor = 1.0;   ///< > 0
};

/// The same catalog with one figure multiplied; what the id does not name is left as it is. Facts
/// that `catalog show` prints keep the published value.
[[nodiscard]] Catalog scaled(Catalog catalog, const Scaling& scaling);

}  // namespace flowplan::catalog
