#include "places.hpp"

#include <string>

namespace flowplan::scenario {

Diagnostics placed(Diagnostics diagnostics, const JsonDocument& document,
                   std::string_view otherwise) {
  for (Diagnostic& d : diagnostics) {
    if (!d.place.file.empty()) continue;
    d.place = document.place(d.place.pointer.empty() ? std::string(otherwise) : d.place.pointer);
  }
  return diagnostics;
}

}  // namespace flowplan::scenario
