#pragma once

namespace flowplan {

/// Prints the broken invariant with its place and aborts: a fault of the program, never of its
/// input.
[[noreturn]] void assertion_failed(const char* condition, const char* file, int line);

}  // namespace flowplan

/// Checked in every build: a planner that goes on after a broken invariant prints wrong numbers.
#define FLOWPLAN_ASSERT(condition) \
  ((condition) ? void() : ::flowplan::assertion_failed(#condition, __FILE__, __LINE__))
