#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"

namespace flowplan::topology {

inline constexpr std::size_t most_hosts = 1u << 20;

/// The names that a Slurm hostlist stands for, in its order: "p5-[1-3,7],head" is p5-1, p5-2, p5-3,
/// p5-7, head. Zero padding is kept ("gb[008-010]"), a name may have several brackets, the last
/// varies fastest. Blanks around commas are ignored. Error FP060, without a place, for unbalanced
/// brackets, a range that is none or runs backwards, an empty name, more than `most_hosts`.
[[nodiscard]] Result<std::vector<std::string>> expand_hostlist(std::string_view text);

/// The shortest way back for names whose last number varies: runs of consecutive numbers of equal
/// prefix, suffix and width are joined, in the order given. `expand_hostlist` of it gives `hosts`.
[[nodiscard]] std::string compress_hostlist(std::span<const std::string> hosts);

}  // namespace flowplan::topology
