#include "flowplan/collective/allowed.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

namespace flowplan::collective {
namespace {

/// What stands before the next separator; taken off the rest.
std::string_view next_part(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return part;
}

template <class T>
struct Kind {
  std::string_view what;
  std::optional<T> (*find)(std::string_view);
  std::string_view names;
};

/// "RING,TREE" or "^RING,TREE".
template <class T>
Result<Allowed<T>> parse_list(std::string_view text, const Kind<T>& kind) {
  const bool all_but = text.starts_with('^');
  if (all_but) text.remove_prefix(1);
  Allowed<T> allowed({}, all_but);
  do {
    const std::string_view name = next_part(text, ',');
    const auto value = kind.find(name);
    if (!value) {
      return fail(error(Code::bad_collective, fmt::format("there is no {} `{}`", kind.what, name),
                        fmt::format("one of {}; a list A,B; ^A,B for all but these", kind.names)));
    }
    allowed.add(*value);
  } while (!text.empty());
  return allowed;
}

template <class T>
Result<Allowed<T>> parse(std::string_view text, Operation operation, const Kind<T>& kind) {
  Allowed<T> allowed;
  if (text == "auto") return allowed;
  while (!text.empty()) {
    std::string_view list = next_part(text, ';');
    bool ours = true;
    if (const std::size_t colon = list.find(':'); colon != std::string_view::npos) {
      const auto function = find_operation(list.substr(0, colon));
      if (!function) {
        return fail(error(Code::bad_collective,
                          fmt::format("there is no function `{}`", list.substr(0, colon)),
                          "allreduce, allgather, reducescatter, broadcast, reduce"));
      }
      ours = *function == operation;
      list.remove_prefix(colon + 1);
    }
    const auto parsed = parse_list(list, kind);
    if (!parsed) return parsed;
    if (ours) allowed = *parsed;
  }
  return allowed;
}

std::string_view algorithms_of(Operation operation) {
  if (operation == Operation::all_to_all) return "PAIRWISE, PXN, HIERARCHICAL";
  if (operation == Operation::send_recv) return "RING";
  return "RING, TREE, NVLS, NVLSTREE, PAT, COLLNET";
}

}  // namespace

Result<Allowed<Algorithm>> parse_algorithms(std::string_view text, Operation operation) {
  return parse<Algorithm>(text, operation, {"algorithm", find_algorithm, algorithms_of(operation)});
}

Result<Allowed<Protocol>> parse_protocols(std::string_view text, Operation operation) {
  return parse<Protocol>(text, operation, {"protocol", find_protocol, "LL, LL128, SIMPLE"});
}

}  // namespace flowplan::collective
