#include "flowplan/base/diagnostic.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace flowplan {

namespace {

constexpr std::array all_codes{
    CodeInfo{Code::file_not_found, "The file does not exist.", 3},
    CodeInfo{Code::file_unreadable, "The file cannot be read or written.", 3},
    CodeInfo{Code::file_too_large, "The file is larger than the limit for its kind.", 3},
    CodeInfo{Code::json_syntax, "The text is not JSON.", 3},
    CodeInfo{Code::json_duplicate_key, "An object names a key twice.", 3},
    CodeInfo{Code::json_too_deep, "Values are nested deeper than 64 levels.", 3},
    CodeInfo{Code::csv_syntax, "The text is not a CSV table with a header row.", 3},
    CodeInfo{Code::wrong_kind_of_file, "The file is of another kind than the command takes.", 3},
    CodeInfo{Code::unknown_key, "The schema does not have this key.", 3},
    CodeInfo{Code::missing_key, "A key that the schema requires is missing.", 3},
    CodeInfo{Code::wrong_type, "The value is of another type than the schema requires.", 3},
    CodeInfo{Code::value_not_allowed, "The value is not one of those allowed.", 3},
    CodeInfo{Code::value_out_of_range, "The number or length is outside the allowed range.", 3},
    CodeInfo{Code::schema_other, "The value breaks another rule of the schema.", 3},
    CodeInfo{Code::unknown_name, "The catalog has no entry of that name.", 3},
    CodeInfo{Code::ambiguous_name, "The name stands for several catalog entries.", 3},
    CodeInfo{Code::unknown_figure, "Nobody published a figure that the prediction needs.", 3},
    CodeInfo{Code::catalog_invalid, "A catalog file is not valid.", 3},
    CodeInfo{Code::catalog_not_found, "There is no catalog at that place.", 3},
    CodeInfo{Code::bad_quantity, "The text is not a quantity of that kind.", 3},
    CodeInfo{Code::task_cycle, "Tasks depend on each other in a circle.", 3},
    CodeInfo{Code::dangling_dependency, "A task depends on one that does not exist.", 3},
    CodeInfo{Code::bad_flow_case, "The flow case contradicts itself.", 3},
    CodeInfo{Code::bad_generator, "There is no such generated flow case.", 2},
    CodeInfo{Code::no_route, "No path of links leads from a flow's source to its target.", 3},
    CodeInfo{Code::bad_cluster, "The cluster cannot be built as described.", 3},
    CodeInfo{Code::bad_placement, "Ranks are placed on GPUs that do not fit them.", 3},
    CodeInfo{Code::bad_collective, "The collective cannot be run as asked.", 3},
    CodeInfo{Code::bad_storage, "The storage cannot be set up or used as asked.", 3},
    CodeInfo{Code::no_price, "No price is known for what is asked in that region.", 3},
    CodeInfo{Code::layout_mismatch, "Degrees of parallelism, batch and GPUs do not agree.", 3},
    CodeInfo{Code::not_divisible, "A degree does not divide what it has to divide.", 3},
    CodeInfo{Code::layout_too_deep, "There are more pipeline stages than layers.", 3},
    CodeInfo{Code::unsupported_feature, "This release does not model the feature.", 3},
    CodeInfo{Code::bad_operations, "Failures, checkpoints and restarts do not go together.", 3},
    CodeInfo{Code::cannot_be_bought, "The capacity is not sold as the scenario asks for it.", 4},
    CodeInfo{Code::unknown_metric, "There is no metric of that name.", 3},
    CodeInfo{Code::bad_check, "A check contradicts itself.", 3},
    CodeInfo{Code::bad_measurement, "A measurement (a row, a log, a trace) cannot be read.", 3},
    CodeInfo{Code::bad_sweep_file, "Rows of a sweep do not belong to this sweep, or are missing.",
             3},
    CodeInfo{Code::usage, "The command line is not understood.", 2},
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// Two neighbours exchanged count as one edit, as people mistype (optimal string alignment).
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const bool same = a[i - 1] == b[j - 1];
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

int gravity(int code) {
  switch (code) {
    case 5:
      return 4;
    case 3:
      return 3;
    case 4:
      return 2;
    case 2:
      return 1;
    default:
      return 0;
  }
}

std::string_view name(Severity severity) {
  switch (severity) {
    case Severity::note:
      return "note";
    case Severity::warning:
      return "warning";
    case Severity::error:
      break;
  }
  return "error";
}

/// The line and a caret under the column, cut to a readable width.
std::string excerpt(const Place& place) {
  constexpr std::size_t width = 120;
  if (place.source_line.empty() || place.column < 1) return {};
  const auto column = static_cast<std::size_t>(place.column - 1);
  const std::size_t from = column > width / 2 ? column - width / 2 : 0;
  if (from >= place.source_line.size()) return {};
  std::string line = place.source_line.substr(from, width);
  std::replace(line.begin(), line.end(), '\t', ' ');
  return fmt::format("  {}\n  {:>{}}\n", line, "^", column - from + 1);
}

}  // namespace

Place in_file(std::string file, int line) {
  Place place;
  place.file = std::move(file);
  place.line = line;
  place.column = line > 0 ? 1 : 0;
  return place;
}

Diagnostic error(Code code, std::string message, std::string hint) {
  return {Severity::error, code, std::move(message), {}, std::move(hint)};
}

Diagnostic error(Code code, Place place, std::string message, std::string hint) {
  return {Severity::error, code, std::move(message), std::move(place), std::move(hint)};
}

std::string code_name(Code code) {
  return fmt::format("FP{:03}", static_cast<int>(code));
}

std::span<const CodeInfo> code_table() {
  return all_codes;
}

int exit_code(const Diagnostics& diagnostics) {
  int worst = 0;
  for (const Diagnostic& d : diagnostics) {
    if (d.severity != Severity::error) continue;
    const auto info = std::find_if(all_codes.begin(), all_codes.end(),
                                   [&](const CodeInfo& c) { return c.code == d.code; });
    const int code = info == all_codes.end() ? 5 : info->exit_code;
    if (gravity(code) > gravity(worst)) worst = code;
  }
  return worst;
}

std::string render(const Diagnostic& d) {
  std::string text;
  if (!d.place.file.empty()) {
    text += d.place.file;
    if (d.place.line > 0) text += fmt::format(":{}:{}", d.place.line, d.place.column);
    text += ": ";
  }
  text += fmt::format("{}[{}]: {}", name(d.severity), code_name(d.code), d.message);
  if (!d.place.pointer.empty()) text += fmt::format(" (at {})", d.place.pointer);
  text += '\n';
  text += excerpt(d.place);
  if (!d.hint.empty()) text += fmt::format("  hint: {}\n", d.hint);
  return text;
}

std::string render(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics)
    text += render(d);
  return text;
}

std::optional<std::string> nearest(std::string_view name, std::span<const std::string> candidates) {
  const std::string wanted = lower(name);
  std::size_t best = std::max<std::size_t>(1, wanted.size() / 3) + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string suggest(std::string_view name, std::span<const std::string> candidates) {
  if (const auto near = nearest(name, candidates)) return fmt::format("did you mean `{}`?", *near);
  if (candidates.empty()) return {};
  constexpr std::size_t shown = 12;
  const auto first = candidates.first(std::min(shown, candidates.size()));
  return fmt::format("known: {}{}", fmt::join(first, ", "),
                     candidates.size() > shown ? ", ..." : "");
}

}  // namespace flowplan
