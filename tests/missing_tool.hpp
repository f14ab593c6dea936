#pragma once

#include <cstdlib>
#include <string>

#include <catch2/catch.hpp>

/// Says that a tool which a test asks is not installed: the test is skipped with these words, and
/// fails where FLOWPLAN_REQUIRE_TOOLS is set, as in CI, where all of them must be there.
inline void missing_tool(const std::string& what) {
  if (std::getenv("FLOWPLAN_REQUIRE_TOOLS") != nullptr) FAIL(what);
  WARN(what);
}
