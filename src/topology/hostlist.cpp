#include "flowplan/topology/hostlist.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace flowplan::topology {
namespace {

constexpr std::size_t most_digits = 9;  // the number fits 32 bits

Diagnostic bad_hostlist(std::string_view text, std::string why) {
  return error(Code::bad_cluster, fmt::format("`{}` is not a hostlist: {}", text, why),
               "for example p5-[1-8,12] or gb[001-018]");
}

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(" \t");
  if (from == text.npos) return {};
  return text.substr(from, text.find_last_not_of(" \t") - from + 1);
}

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= most_digits &&
         std::all_of(text.begin(), text.end(), is_digit);
}

std::uint32_t number(std::string_view digits) {
  std::uint32_t value = 0;
  for (const char c : digits)
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  return value;
}

/// The entries between commas that stand outside brackets; nothing for unbalanced ones.
std::optional<std::vector<std::string_view>> entries_of(std::string_view text) {
  std::vector<std::string_view> entries;
  bool inside = false;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if ((c == '[' && inside) || (c == ']' && !inside)) return std::nullopt;
    if (c == '[' || c == ']') inside = c == '[';
    if (i == text.size() && inside) return std::nullopt;
    if (c != ',' || inside) continue;
    entries.push_back(trimmed(text.substr(begin, i - begin)));
    begin = i + 1;
  }
  return entries;
}

/// What stands in one pair of brackets: "1-3,7".
Result<std::vector<std::string>> expand_ranges(std::string_view whole, std::string_view ranges) {
  std::vector<std::string> numbers;
  while (true) {
    const std::size_t comma = ranges.find(',');
    const std::string_view range = trimmed(ranges.substr(0, comma));
    const std::size_t dash = range.find('-');
    const std::string_view first = range.substr(0, dash);
    const std::string_view last = dash == range.npos ? first : range.substr(dash + 1);
    if (!is_number(first) || !is_number(last))
      return fail(bad_hostlist(whole, fmt::format("`{}` is no range of numbers", range)));
    const std::uint32_t from = number(first), to = number(last);
    if (to < from) return fail(bad_hostlist(whole, fmt::format("`{}` runs backwards", range)));
    if (to - from >= most_hosts - std::min(numbers.size(), most_hosts - 1))
      return fail(bad_hostlist(whole, fmt::format("more than {} hosts", most_hosts)));
    for (std::uint32_t value = from; value <= to; ++value)
      numbers.push_back(fmt::format("{:0{}}", value, first.size()));
    if (comma == ranges.npos) return numbers;
    ranges.remove_prefix(comma + 1);
  }
}

Result<std::vector<std::string>> expand_entry(std::string_view whole, std::string_view entry) {
  if (entry.empty()) return fail(bad_hostlist(whole, "a name is empty"));
  std::vector<std::string> names{""};
  while (!entry.empty()) {
    const std::size_t open = entry.find('[');
    for (std::string& name : names)
      name += entry.substr(0, open);
    if (open == entry.npos) break;
    const std::size_t close = entry.find(']', open);
    const auto numbers = expand_ranges(whole, entry.substr(open + 1, close - open - 1));
    if (!numbers) return numbers;
    if (names.size() * numbers->size() > most_hosts)
      return fail(bad_hostlist(whole, fmt::format("more than {} hosts", most_hosts)));
    std::vector<std::string> longer;
    longer.reserve(names.size() * numbers->size());
    for (const std::string& name : names)
      for (const std::string& digits : *numbers)
        longer.push_back(name + digits);
    names = std::move(longer);
    entry.remove_prefix(close + 1);
  }
  return names;
}

/// A name as its last number and what stands around it.
struct Split {
  std::string_view prefix, digits, suffix;
  [[nodiscard]] bool continues(const Split& last) const {
    return joins(last) && digits.size() >= last.digits.size() &&
           number(digits) == number(last.digits) + 1 &&
           (digits.size() == last.digits.size() || digits.front() != '0') &&
           (last.digits.front() != '0' || digits.size() == last.digits.size());
  }
  [[nodiscard]] bool joins(const Split& other) const {
    return !digits.empty() && !other.digits.empty() && prefix == other.prefix &&
           suffix == other.suffix;
  }
};

Split split(std::string_view name) {
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1]))
    --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(name[begin - 1]) && end - begin < most_digits)
    --begin;
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

}  // namespace

Result<std::vector<std::string>> expand_hostlist(std::string_view text) {
  const auto entries = entries_of(text);
  if (!entries) return fail(bad_hostlist(text, "a bracket has no partner"));
  std::vector<std::string> hosts;
  for (const std::string_view entry : *entries) {
    auto names = expand_entry(text, entry);
    if (!names) return names;
    if (hosts.size() + names->size() > most_hosts)
      return fail(bad_hostlist(text, fmt::format("more than {} hosts", most_hosts)));
    hosts.insert(hosts.end(), names->begin(), names->end());
  }
  return hosts;
}

std::string compress_hostlist(std::span<const std::string> hosts) {
  std::string text;
  for (std::size_t i = 0; i < hosts.size();) {
    const Split first = split(hosts[i]);
    std::string ranges;
    std::size_t names = 0;
    do {  // one range
      const std::size_t from = i++;
      while (i < hosts.size() && split(hosts[i]).continues(split(hosts[i - 1])))
        ++i;
      names += i - from;
      ranges += ranges.empty() ? "" : ",";
      ranges += split(hosts[from]).digits;
      if (i - from > 1) ranges += "-" + std::string(split(hosts[i - 1]).digits);
    } while (i < hosts.size() && split(hosts[i]).joins(first));
    text += text.empty() ? "" : ",";
    text += names == 1 ? hosts[i - 1] : fmt::format("{}[{}]{}", first.prefix, ranges, first.suffix);
  }
  return text;
}

}  // namespace flowplan::topology
