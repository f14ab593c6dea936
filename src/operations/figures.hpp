#pragma once

#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/diagnostic.hpp"
#include "flowplan/catalog/constants.hpp"

namespace flowplan::operations {

/// Reads figures of a set and collects the names of those that are not there.
class FigureReader {
 public:
  explicit FigureReader(const catalog::Constants& set) : set_(set) {}

  double one(std::string_view name) { return values(name, 1)[0]; }
  /// At least `count` values; zeros where the set has fewer.
  std::span<const double> values(std::string_view name, std::size_t count) {
    static constexpr double zeros[3] = {};
    const std::span<const double> found = set_.table(name);
    if (found.size() >= count) return found;
    missing_.push_back(error(Code::unknown_figure,
                             fmt::format("{} lacks `{}` ({} values)", set_.id(), name, count)));
    return std::span<const double>(zeros).first(count);
  }
  [[nodiscard]] Source source(std::string_view name) const {
    const catalog::Constants::Entry* entry = set_.find(name);
    return entry == nullptr ? Source{} : entry->source;
  }
  [[nodiscard]] Diagnostics missing() { return std::move(missing_); }

 private:
  const catalog::Constants& set_;
  Diagnostics missing_;
};

}  // namespace flowplan::operations
