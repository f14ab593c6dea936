#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "flowplan/catalog/constants.hpp"

namespace flowplan::accuracy {

[[nodiscard]] double four_digits(double value);

/// New figures of one constants set, as an overlay states them: one a line, with their notes.
class FigureLines {
 public:
  explicit FigureLines(const catalog::Constants& set) : set_(set) {}

  /// Number `index` of the figure becomes `value`; `what` is added to its note.
  void put(const std::string& name, std::size_t index, double value, std::string what);
  /// The set as a member of the overlay's list `constants`.
  [[nodiscard]] std::string set() const;

 private:
  struct Written {
    std::vector<double> values;
    std::string note;
  };

  const catalog::Constants& set_;
  std::vector<std::string> names_;
  std::map<std::string, Written> written_;
};

/// An overlay of sets whose figures have the source "fit", which `about` describes.
[[nodiscard]] std::string overlay_of(const std::string& about,
                                     const std::vector<std::string>& sets);

}  // namespace flowplan::accuracy
