#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "flowplan/base/csv_table.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::accuracy {

[[nodiscard]] inline bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A row's cells by name.
class Cells {
 public:
  Cells(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}
  [[nodiscard]] const std::string& operator[](std::string_view column) const {
    return table_.text(row_, column);
  }
  /// A whole number of at least 1; nothing for anything else.
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view column) const {
    const auto number = table_.number(row_, column);
    if (!number || *number < 1.0) return std::nullopt;
    return static_cast<std::int64_t>(*number);
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

/// The model of a row: the catalog's where the row names one that a line of dimensions does not
/// describe (experts, latent attention, windows), else what the row states. Nothing when its
/// dimensions are not stated.
[[nodiscard]] std::optional<model::Transformer> transformer_of(const catalog::Catalog& catalog,
                                                               const Cells& row);

/// Catalog id of the system behind a row: where it names one, that; empty when there is none.
[[nodiscard]] std::string instance_of(const catalog::Catalog& catalog, const Cells& row);

/// Software profile of a row: that of a column `profile`, else by what is known of its source;
/// empty when there is none for it.
[[nodiscard]] std::string framework_of(const Cells& row);

}  // namespace flowplan::accuracy
