#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan::scenario {

/// Gathers the faults of a document, each with its place there. The document outlives it.
class PlacedFaults {
 public:
  explicit PlacedFaults(const JsonDocument& document) : document_(document) {}

  void add(Code code, std::string_view pointer, std::string message, std::string hint = {}) {
    all.push_back(error(code, document_.place(pointer), std::move(message), std::move(hint)));
  }

  /// A result's value, or its faults, placed at `pointer` unless they have a place.
  template <class T>
  std::optional<T> take(Result<T> result, std::string_view pointer) {
    if (result) return std::move(*result);
    for (Diagnostic& d : result.error()) {
      if (d.place.file.empty()) d.place = document_.place(pointer);
      all.push_back(std::move(d));
    }
    return std::nullopt;
  }

  Diagnostics all;

 private:
  const JsonDocument& document_;
};

}  // namespace flowplan::scenario
