#include "flowplan/base/csv_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <utility>

#include <csv.h>
#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "flowplan/base/text_file.hpp"

namespace flowplan {

namespace {

constexpr std::size_t max_csv_bytes = std::size_t{256} << 20;

/// Cells as libcsv hands them out, row after row.
struct Reader {
  std::vector<std::string> cells;
  std::vector<std::size_t> row_ends;
};

void on_cell(void* cell, std::size_t size, void* reader) {
  static_cast<Reader*>(reader)->cells.emplace_back(static_cast<const char*>(cell), size);
}

void on_row(int, void* reader) {
  auto* r = static_cast<Reader*>(reader);
  r->row_ends.push_back(r->cells.size());
}

Result<Reader> read_cells(std::string_view text, const std::string& file) {
  csv_parser parser;
  FLOWPLAN_ASSERT(csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) == 0);
  const std::unique_ptr<csv_parser, void (*)(csv_parser*)> owner(&parser, csv_free);
  Reader reader;
  const std::size_t used = csv_parse(&parser, text.data(), text.size(), on_cell, on_row, &reader);
  if (used != text.size() || csv_fini(&parser, on_cell, on_row, &reader) != 0) {
    const Place place = in_file(file, 1 + static_cast<int>(reader.row_ends.size()));
    return fail(error(
        Code::csv_syntax, place,
        fmt::format("row {}: {}", reader.row_ends.size() + 1, csv_strerror(csv_error(&parser)))));
  }
  return reader;
}

}  // namespace

Result<CsvTable> CsvTable::parse(std::string_view text, std::string file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  auto reader = read_cells(text, file);
  if (!reader) return fail(reader.error());
  if (reader->row_ends.empty()) {
    return fail(error(Code::csv_syntax, in_file(file), "no header row"));
  }
  CsvTable table;
  table.file_ = std::move(file);
  const std::size_t columns = reader->row_ends.front();
  const auto body = reader->cells.begin() + static_cast<std::ptrdiff_t>(columns);
  table.columns_.assign(reader->cells.begin(), body);
  Diagnostics faults;
  for (std::size_t row = 1; row < reader->row_ends.size(); ++row) {
    const std::size_t cells = reader->row_ends[row] - reader->row_ends[row - 1];
    if (cells != columns) {
      const Place place = in_file(table.file_, static_cast<int>(row) + 1);
      faults.push_back(
          error(Code::csv_syntax, place,
                fmt::format("row {} has {} cells, the header has {}", row, cells, columns)));
      if (faults.size() == 10) break;
    }
  }
  if (!faults.empty()) return fail(std::move(faults));
  table.cells_.assign(body, reader->cells.end());
  return table;
}

Result<CsvTable> CsvTable::read(const std::string& path) {
  auto text = read_text(path, max_csv_bytes);
  if (!text) return fail(text.error());
  return parse(*text, path == "-" ? "<stdin>" : path);
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::find(columns_.begin(), columns_.end(), name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

const std::string& CsvTable::text(std::size_t row, std::string_view name) const {
  static const std::string blank;
  FLOWPLAN_ASSERT(row < rows());
  const auto at = column(name);
  return at ? cells_[row * columns_.size() + *at] : blank;
}

std::optional<double> CsvTable::number(std::size_t row, std::string_view name) const {
  const std::string& cell = text(row, name);
  double value = 0.0;
  const auto [end, code] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (code != std::errc() || end != cell.data() + cell.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace flowplan
