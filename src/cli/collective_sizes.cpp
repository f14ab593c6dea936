#include "collective_sizes.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "flowplan/base/parse_quantity.hpp"
#include "session.hpp"

namespace flowplan::cli {

namespace {

constexpr std::size_t most_sizes = 10000;

Result<Bytes> size_option(const Arguments& arguments, std::string_view name,
                          std::string_view otherwise) {
  return parse_nccl_size(arguments.value(name).value_or(std::string(otherwise)));
}

}  // namespace

Result<std::vector<Bytes>> collective_sizes(const Arguments& arguments) {
  const auto begin = size_option(arguments, "begin", "32M");
  if (!begin) return fail(begin.error());
  const auto end = size_option(arguments, "end", arguments.value("begin").value_or("32M"));
  if (!end) return fail(end.error());
  const auto factor = int_option(arguments, "factor", 2, 1 << 20);
  if (!factor) return fail(factor.error());
  std::optional<Bytes> step;
  if (arguments.has("step")) {
    const auto parsed = size_option(arguments, "step", "");
    if (!parsed) return fail(parsed.error());
    step = *parsed;
  }
  if (*end < *begin) {
    return fail(error(Code::usage, "-e is smaller than -b", "sizes grow from -b to -e"));
  }
  std::vector<Bytes> list;
  for (Bytes size = *begin; size <= *end;
       size = step ? size + *step : size * static_cast<double>(factor->value_or(2))) {
    if (list.size() == most_sizes) {
      return fail(error(Code::usage, fmt::format("more than {} sizes", most_sizes)));
    }
    list.push_back(size);
  }
  return list;
}

}  // namespace flowplan::cli
