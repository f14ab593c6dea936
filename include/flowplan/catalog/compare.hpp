#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::catalog {

/// Everything that the catalog says of one entry, for showing it.
struct Sheet {
  std::string id;
  std::string kind;  ///< "instance", "ultraserver", "reference", "gpu", "network", "storage",
                     ///< "loader", "model" or "constants"
  std::string name;
  std::vector<Fact> facts;  ///< the entry's own, then derived ones, then its GPU's as "gpu.NAME"
  std::vector<std::string> notes;
};

/// The sheet of an instance, GPU, network, model or constants set by any of its names, looked for
/// in that order. Errors: FP030 with the nearest name of any kind, FP031 with the choices.
[[nodiscard]] Result<Sheet> sheet(const Catalog& catalog, std::string_view name);

/// One figure of two entries side by side.
struct Compared {
  std::string name;
  std::string unit;          ///< unit_of(name)
  std::optional<Fact> a, b;  ///< nothing where the entry does not have it
  bool same = false;         ///< both have it and it is the same
};

struct Comparison {
  Sheet a, b;
  std::vector<Compared> figures;  ///< in the order of `a`, then those that only `b` has
};

/// Compares two entries of one kind (instances, UltraServers and reference systems are one kind).
/// Errors as `sheet`; FP023 when they are of different kinds.
[[nodiscard]] Result<Comparison> compare(const Catalog& catalog, std::string_view a,
                                         std::string_view b);

}  // namespace flowplan::catalog
