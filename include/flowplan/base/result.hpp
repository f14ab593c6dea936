#pragma once

#include <utility>

#include <tl/expected.hpp>

#include "flowplan/base/diagnostic.hpp"

namespace flowplan {

/// A value, or everything that was wrong with the input.
template <class T>
using Result = tl::expected<T, Diagnostics>;

[[nodiscard]] inline tl::unexpected<Diagnostics> fail(Diagnostics diagnostics) {
  return tl::unexpected<Diagnostics>(std::move(diagnostics));
}
[[nodiscard]] inline tl::unexpected<Diagnostics> fail(Diagnostic diagnostic) {
  return fail(Diagnostics{std::move(diagnostic)});
}

}  // namespace flowplan
