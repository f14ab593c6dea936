#include "fault_place.hpp"

#include <algorithm>
#include <array>

#include "flowplan/planner/check.hpp"

namespace flowplan::cli {

namespace {

constexpr std::array codes_of_values{
    Code::unknown_key,        Code::missing_key,     Code::wrong_type,    Code::value_not_allowed,
    Code::value_out_of_range, Code::schema_other,    Code::unknown_name,  Code::ambiguous_name,
    Code::bad_quantity,       Code::bad_cluster,     Code::bad_placement, Code::bad_collective,
    Code::bad_storage,        Code::layout_mismatch, Code::not_divisible, Code::layout_too_deep,
    Code::bad_operations,     Code::unknown_metric,  Code::bad_check};

constexpr int usage_code = 2;

}  // namespace

bool typed(const Diagnostic& fault) {
  const std::string& file = fault.place.file;
  return file.empty() || file.starts_with("--") || file == "<command line>";
}

bool is_about_a_value(Code code) {
  return std::find(codes_of_values.begin(), codes_of_values.end(), code) != codes_of_values.end();
}

int exit_code_of(const Diagnostics& faults) {
  int worst = 0;
  for (const Diagnostic& fault : faults) {
    const int code =
        is_about_a_value(fault.code) && typed(fault) ? usage_code : exit_code(Diagnostics{fault});
    worst = planner::gravest(worst, code);
  }
  return worst;
}

Diagnostics placed_in(Diagnostics faults, const std::string& file) {
  for (Diagnostic& fault : faults) {
    if (fault.place.file.empty() && fault.code != Code::usage) fault.place.file = file;
  }
  return faults;
}

}  // namespace flowplan::cli
