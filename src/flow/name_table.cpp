#include "flowplan/flow/name_table.hpp"

#include <limits>

#include "flowplan/base/assert.hpp"

namespace flowplan::flow {

void NameTable::reserve(std::size_t names, std::size_t characters) {
  end_.reserve(names);
  characters_.reserve(characters);
}

std::uint32_t NameTable::add(std::string_view name) {
  FLOWPLAN_ASSERT(characters_.size() + name.size() <= std::numeric_limits<std::uint32_t>::max());
  characters_ += name;
  end_.push_back(static_cast<std::uint32_t>(characters_.size()));
  return static_cast<std::uint32_t>(end_.size() - 1);
}

}  // namespace flowplan::flow
