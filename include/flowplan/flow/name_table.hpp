#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace flowplan::flow {

/// Texts in one buffer: a hundred thousand names cost little more than their characters.
class NameTable {
 public:
  /// Makes room for so many names and characters in all.
  void reserve(std::size_t names, std::size_t characters);
  /// Returns the position of the new name. Asserts that the characters stay within 4 GiB.
  std::uint32_t add(std::string_view name);

  [[nodiscard]] std::size_t size() const { return end_.size(); }
  [[nodiscard]] bool empty() const { return end_.empty(); }
  /// Valid until the next `add()`.
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    const std::uint32_t begin = i == 0 ? 0 : end_[i - 1];
    return std::string_view(characters_).substr(begin, end_[i] - begin);
  }

 private:
  std::string characters_;
  std::vector<std::uint32_t> end_;
};

}  // namespace flowplan::flow
