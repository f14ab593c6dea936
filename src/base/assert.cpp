#include "flowplan/base/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace flowplan {

void assertion_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "%s:%d: broken invariant: %s\n", file, line, condition);
  std::abort();
}

}  // namespace flowplan
