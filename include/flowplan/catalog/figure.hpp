#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/estimate/provenance.hpp"

namespace flowplan::catalog {

/// A catalog figure with where it comes from. `known` is false where it was looked for and not
/// found.
struct Figure {
  double value = 0.0;
  bool known = false;
  Source source;

  explicit operator bool() const { return known; }
};

/// A figure by name, as the catalog's files list it; what is not a number is in `text`.
struct Fact {
  std::string name;  ///< with its unit: "efa_gbps_total"
  Figure figure;     ///< 1 and 0 for yes and no
  std::string text;  ///< "AMD EPYC 7R13"; empty for a number
  bool is_flag = false;
};

/// The fact of that name; null when there is none.
[[nodiscard]] const Fact* find(const std::vector<Fact>& facts, std::string_view name);
/// Its figure, or one that is not known.
[[nodiscard]] Figure figure_of(const std::vector<Fact>& facts, std::string_view name);

/// The unit that a figure's name carries: "Gbit/s" for "efa_gbps_total", "MiB" for
/// "host_memory_mib"; empty for a plain number.
[[nodiscard]] std::string_view unit_of(std::string_view name);

}  // namespace flowplan::catalog
