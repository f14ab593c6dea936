#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace flowplan {

/// Stable codes of everything that can be wrong with an input. Numbers are never reused; the table
/// in diagnostic.cpp says what each means, and docs/reference/diagnostics.md is generated from it.
enum class Code {
  // files and JSON
  file_not_found = 1,
  file_unreadable = 2,
  file_too_large = 3,
  json_syntax = 10,
  json_duplicate_key = 11,
  json_too_deep = 12,
  csv_syntax = 15,
  wrong_kind_of_file = 16,
  // against a schema
  unknown_key = 20,
  missing_key = 21,
  wrong_type = 22,
  value_not_allowed = 23,
  value_out_of_range = 24,
  schema_other = 29,
  // names in the catalog
  unknown_name = 30,
  ambiguous_name = 31,
  unknown_figure = 32,
  catalog_invalid = 33,
  catalog_not_found = 34,
  // quantities as people type them
  bad_quantity = 40,
  // flows
  task_cycle = 50,
  dangling_dependency = 51,
  bad_flow_case = 52,
  bad_generator = 53,
  no_route = 54,
  // clusters and collectives
  bad_cluster = 60,
  bad_placement = 61,
  bad_collective = 62,
  bad_storage = 63,
  no_price = 64,
  // workloads
  layout_mismatch = 70,
  not_divisible = 71,
  layout_too_deep = 72,
  unsupported_feature = 73,
  bad_operations = 74,
  cannot_be_bought = 75,
  // checks and measurements
  unknown_metric = 80,
  bad_check = 81,
  bad_measurement = 82,
  bad_sweep_file = 83,
  // command line
  usage = 90,
};

enum class Severity { note, warning, error };

/// Where in an input something is. `line` and `column` count from 1; 0 means unknown.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  std::string pointer;      ///< JSON pointer, "" for the whole document
  std::string source_line;  ///< the text of that line, for the caret
};

/// A place that names the file, and the line where that is known.
[[nodiscard]] Place in_file(std::string file, int line = 0);

/// One thing that is wrong (or worth a warning), as data.
struct Diagnostic {
  Severity severity = Severity::error;
  Code code = Code::schema_other;
  std::string message;
  Place place;
  std::string hint;  ///< what is allowed, or the nearest valid name; may be empty
};

using Diagnostics = std::vector<Diagnostic>;

/// An error without a place.
[[nodiscard]] Diagnostic error(Code code, std::string message, std::string hint = {});
/// An error at a place.
[[nodiscard]] Diagnostic error(Code code, Place place, std::string message, std::string hint = {});

/// "FP020" for `Code::unknown_key`.
[[nodiscard]] std::string code_name(Code code);

struct CodeInfo {
  Code code;
  std::string_view meaning;  ///< one sentence
  int exit_code;             ///< 2 usage, 3 invalid input, 4 infeasible
};
/// The table of all codes, in order of their numbers.
[[nodiscard]] std::span<const CodeInfo> code_table();
/// The gravest exit code of several diagnostics: 3 over 4 over 2 over 0 (no error).
[[nodiscard]] int exit_code(const Diagnostics& diagnostics);

/// As a compiler prints it: `file:line:column: error[FP020]: message`, the source line, a caret,
/// and the hint. Ends with a newline.
[[nodiscard]] std::string render(const Diagnostic& diagnostic);
[[nodiscard]] std::string render(const Diagnostics& diagnostics);

/// The candidate nearest to `name` (case-insensitive edit distance, at most a third of its length),
/// the first of equals; nothing when none is near.
[[nodiscard]] std::optional<std::string> nearest(std::string_view name,
                                                 std::span<const std::string> candidates);
/// "did you mean `x`?" when one is near, else "known: a, b, c" (at most 12 of them).
[[nodiscard]] std::string suggest(std::string_view name, std::span<const std::string> candidates);

}  // namespace flowplan
