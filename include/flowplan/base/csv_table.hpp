#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"

namespace flowplan {

/// A CSV file with a header row (RFC 4180; read with libcsv).
class CsvTable {
 public:
  [[nodiscard]] static Result<CsvTable> parse(std::string_view text, std::string file);
  [[nodiscard]] static Result<CsvTable> read(const std::string& path);

  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] const std::vector<std::string>& columns() const { return columns_; }
  [[nodiscard]] std::size_t rows() const { return cells_.size() / columns_.size(); }
  /// Position of a column; nothing when the table has none of that name.
  [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const;

  /// The cell as written; "" for a column that the table does not have.
  [[nodiscard]] const std::string& text(std::size_t row, std::string_view column) const;
  /// The cell as a number; nothing when it is blank or not entirely a number.
  [[nodiscard]] std::optional<double> number(std::size_t row, std::string_view column) const;

 private:
  std::string file_;
  std::vector<std::string> columns_;
  std::vector<std::string> cells_;  // row after row
};

}  // namespace flowplan
