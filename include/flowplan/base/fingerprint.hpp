#pragma once

#include <cstdint>
#include <string_view>

namespace flowplan {

/// 64-bit FNV-1a of texts one after the other (Fowler, Noll and Vo; IETF draft-eastlake-fnv): tells
/// changed inputs apart, and is no protection against forged ones.
class Fingerprint {
 public:
  constexpr void add(std::string_view text) {
    for (const char c : text)
      value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

[[nodiscard]] constexpr std::uint64_t fingerprint(std::string_view text) {
  Fingerprint print;
  print.add(text);
  return print.value();
}

}  // namespace flowplan
