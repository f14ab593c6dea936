#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace flowplan {

/// Byte offsets of a value and, in an object, of its key.
struct JsonOffsets {
  std::size_t value = 0;
  std::size_t key = 0;
};

/// Where every value of a valid JSON text (comments allowed) stands, by JSON pointer.
std::unordered_map<std::string, JsonOffsets> json_offsets(std::string_view text);

/// Offset of the first value that stands deeper than `levels` (0: the outermost) in a text that is
/// valid JSON up to there; the text's size when there is none.
std::size_t offset_deeper_than(std::string_view text, std::size_t levels);

/// Offset of the first character of the next token at or after `at`, past white space and comments.
std::size_t skip_space(std::string_view text, std::size_t at);

}  // namespace flowplan
