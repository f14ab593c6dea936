#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/diagnostic.hpp"

namespace flowplan::topology {

/// The lines of a text that is not JSON, for places in it.
class TextPlaces {
 public:
  TextPlaces(std::string file, std::string_view text);

  /// Lines and columns count from 1; a line without a column is where it begins.
  [[nodiscard]] Place at(int line, int column = 1, std::string pointer = {}) const;
  [[nodiscard]] Place at_offset(std::size_t offset) const;

 private:
  std::string file_;
  std::string_view text_;
  std::vector<std::size_t> begin_;  ///< of every line
};

}  // namespace flowplan::topology
