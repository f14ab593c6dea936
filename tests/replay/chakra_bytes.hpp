#pragma once

// Writes Chakra traces byte by byte, from the wire format alone, so that the reader is held against
// something other than itself.
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace flowplan::replay {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7)
    out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}

inline std::string field(std::uint32_t number, std::uint64_t value) {
  return varint(number << 3) + varint(value);
}

inline std::string field(std::uint32_t number, std::string_view bytes) {
  return varint(number << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}

/// An attribute with an int64 value.
inline std::string attribute(std::string_view name, std::uint64_t value) {
  return field(10, field(1, name) + field(9, value));
}

inline std::string attribute(std::string_view name, std::string_view value) {
  return field(10, field(1, name) + field(29, value));
}

/// The file: each message after its length.
inline std::string chakra_file(const std::vector<std::string>& nodes) {
  const std::string metadata = field(1, "0.0.4");
  std::string out = varint(metadata.size()) + metadata;
  for (const std::string& node : nodes)
    out += varint(node.size()) + node;
  return out;
}

inline std::string chakra_node(std::uint64_t id, std::string_view name, std::uint64_t type,
                               std::initializer_list<std::uint64_t> after) {
  std::string out = field(1, id) + field(2, name) + field(3, type);
  for (const std::uint64_t one : after)
    out += field(5, one);
  return out;
}

inline std::string compute_bytes(std::uint64_t id, std::uint64_t micros,
                                 std::initializer_list<std::uint64_t> after = {}) {
  return chakra_node(id, "compute" + std::to_string(id), 4, after) + field(7, micros);
}

inline std::string all_reduce_bytes(std::uint64_t id, std::uint64_t bytes,
                                    std::initializer_list<std::uint64_t> after = {},
                                    std::string_view group = "") {
  std::string out = chakra_node(id, "all_reduce" + std::to_string(id), 7, after) +
                    attribute("comm_type", 0) + attribute("comm_size", bytes);
  if (!group.empty()) out += attribute("pg_name", group);
  return out;
}

}  // namespace flowplan::replay
