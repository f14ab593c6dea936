#include "left_out.hpp"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace flowplan::accuracy {

namespace {

constexpr std::string_view prefix = "left_out_", suffix = "error_percent";

/// "left_out_tpot_error_percent": "tpot"; empty for one of all metrics; nothing for other columns.
std::optional<std::string> metric_of_column(std::string_view column) {
  if (!column.starts_with(prefix) || !column.ends_with(suffix)) return std::nullopt;
  column.remove_prefix(prefix.size());
  column.remove_suffix(suffix.size());
  if (column.ends_with('_')) column.remove_suffix(1);
  return std::string(column);
}

}  // namespace

Result<void> add_left_out(const std::string& path, std::vector<Row>& rows) {
  const auto table = CsvTable::read(path);
  if (!table) return fail(table.error());
  std::unordered_map<std::string, std::size_t> lines;
  for (std::size_t i = 0; i < table->rows(); ++i)
    lines.emplace(table->text(i, "id"), i);
  bool any = false;
  for (const std::string& column : table->columns()) {
    const auto metric = metric_of_column(column);
    if (!metric) continue;
    any = true;
    for (Row& row : rows) {
      if (!row.predicted || (!metric->empty() && row.metric != *metric)) continue;
      if (const auto line = lines.find(row.id); line != lines.end())
        row.left_out_percent = table->number(line->second, column);
    }
  }
  if (!any || !table->column("id")) {
    return fail(error(Code::wrong_kind_of_file, in_file(path, 1),
                      "no table of errors of rows that were left out of a fit",
                      "it has the columns `id` and `left_out_error_percent`, or "
                      "`left_out_METRIC_error_percent`"));
  }
  return {};
}

std::string left_out_beside(const std::string& path) {
  std::filesystem::path beside(path);
  beside.replace_filename(beside.stem().string() + "-left-out.csv");
  std::error_code ignored;
  return std::filesystem::is_regular_file(beside, ignored) ? beside.string() : std::string();
}

}  // namespace flowplan::accuracy
