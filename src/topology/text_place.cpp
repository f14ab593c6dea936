#include "text_place.hpp"

#include <algorithm>
#include <utility>

namespace flowplan::topology {
namespace {

constexpr std::size_t longest_shown_line = 200;

}  // namespace

TextPlaces::TextPlaces(std::string file, std::string_view text)
    : file_(std::move(file)), text_(text), begin_{0} {
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '\n') begin_.push_back(i + 1);
}

Place TextPlaces::at(int line, int column, std::string pointer) const {
  Place place;
  place.file = file_;
  place.line = line;
  place.column = line >= 1 ? std::max(column, 1) : column;
  place.pointer = std::move(pointer);
  const auto number = static_cast<std::size_t>(std::max(line, 1)) - 1;
  if (line >= 1 && number < begin_.size()) {
    std::string_view text = text_.substr(begin_[number]);
    text = text.substr(0, text.find_first_of("\r\n"));
    place.source_line = text.substr(0, longest_shown_line);
  }
  return place;
}

Place TextPlaces::at_offset(std::size_t offset) const {
  const auto after = std::upper_bound(begin_.begin(), begin_.end(), offset);
  const auto line = static_cast<std::size_t>(after - begin_.begin());
  return at(static_cast<int>(line), static_cast<int>(offset - begin_[line - 1]) + 1);
}

}  // namespace flowplan::topology
