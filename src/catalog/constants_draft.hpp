#pragma once

#include <string>
#include <vector>

#include "flowplan/base/diagnostic.hpp"
#include "flowplan/catalog/constants.hpp"

namespace flowplan::catalog {

/// A constants set as its files give it, before `extends` is followed.
struct ConstantsDraft {
  std::string id, kind, about, extends;
  std::vector<Constants::Entry> entries;
  Place place;  ///< the file and pointer where it was last written
};

/// The sets with what they inherit, in the order of their ids. Appends to `faults` a set that
/// extends an unknown one, one of another kind or itself; and, where the schema folder of
/// `directory` has a constants-KIND.schema.json, names that a set of that kind must have or may not
/// have.
[[nodiscard]] std::vector<Constants> assemble(std::vector<ConstantsDraft> drafts,
                                              const std::string& directory, Diagnostics& faults);

}  // namespace flowplan::catalog
