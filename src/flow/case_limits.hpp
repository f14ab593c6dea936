#pragma once

namespace flowplan::flow {

// Limits of the figures of a case, in its own units. They are far beyond anything real and keep
// every quotient finite.
inline constexpr double least_capacity = 1e-6, most_capacity = 1e24;  // units a second
inline constexpr double most_bytes = 1e24;
inline constexpr double most_seconds = 1e12;

}  // namespace flowplan::flow
