#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/figure.hpp"

namespace flowplan::catalog {

/// A named set of calibrated constants: the kernels of a GPU, a framework, a collective stack. The
/// module that uses it turns it into a struct of its own; all are read, traced and overlaid alike.
class Constants {
 public:
  struct Entry {
    std::string name;            ///< with its unit: "nvls.step_us"
    std::vector<double> values;  ///< one, or a table
    Source source;
  };

  /// `entries` in any order; a later one replaces an earlier one of the same name.
  Constants(std::string id, std::string kind, std::vector<Entry> entries, std::string about = {});

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const std::string& kind() const { return kind_; }
  [[nodiscard]] const std::string& about() const { return about_; }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

  /// Null when the set does not have it.
  [[nodiscard]] const Entry* find(std::string_view name) const;
  /// All values of that name; empty when the set does not have it.
  [[nodiscard]] std::span<const double> table(std::string_view name) const;
  /// The single value of that name; must exist (Catalog::load checks each kind's names against its
  /// schema, so a missing one is a fault of the program).
  [[nodiscard]] double at(std::string_view name) const;
  /// The single value of that name, or `otherwise` when the set does not have it.
  [[nodiscard]] double get(std::string_view name, double otherwise) const;

 private:
  std::string id_, kind_, about_;
  std::vector<Entry> entries_;  // sorted by name
};

/// Where the figures of a set stand.
struct Lineage {
  std::vector<std::string> bases;  ///< the sets that it extends, nearest first
  std::vector<std::string> own;    ///< names of the figures that it states itself
};

}  // namespace flowplan::catalog
