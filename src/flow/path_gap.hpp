#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "flowplan/flow/case.hpp"

namespace flowplan::flow {

/// End of a link whose file does not say where it is.
inline constexpr std::uint32_t nowhere = ~std::uint32_t{0};

struct PathGap {
  std::size_t hop;  ///< position in the path
  std::string message;
};

/// Where a path, which is not empty, does not lead on, or not to its target. Nothing where a link's
/// end is unknown.
[[nodiscard]] std::optional<PathGap> find_gap(const Case& flow_case, std::span<const Use> path,
                                              std::uint32_t source, std::uint32_t target);

}  // namespace flowplan::flow
