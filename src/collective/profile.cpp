#include "flowplan/collective/profile.hpp"

#include <charconv>
#include <compare>
#include <optional>

#include <fmt/format.h>

namespace flowplan::collective {
namespace {

struct Version {
  int major_number = 0, minor_number = 0;
  auto operator<=>(const Version&) const = default;
};

std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{}) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

/// The first two numbers of "2.18.5"; words before them are passed over.
std::optional<Version> parse_version(std::string_view text) {
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  text.remove_prefix(begin);
  const std::optional<int> first = take_number(text);
  if (!first || text.empty() || text.front() != '.') return std::nullopt;
  text.remove_prefix(1);
  const std::optional<int> second = take_number(text);
  if (!second) return std::nullopt;
  return Version{*first, *second};
}

/// The set "ID-SOFTWAREversion" with the lowest version that is not below the one asked for.
std::optional<std::string> for_version(const catalog::Catalog& catalog, std::string_view id,
                                       std::string_view software, std::string_view version) {
  const std::optional<Version> wanted = parse_version(version);
  if (!wanted) return std::nullopt;
  const std::string prefix = std::string(id) + "-" + std::string(software);
  std::optional<std::string> found;
  Version lowest{};
  for (std::string& set : catalog.constants_ids()) {
    if (!set.starts_with(prefix)) continue;
    const auto covers = parse_version(std::string_view(set).substr(prefix.size()));
    if (!covers || *covers < *wanted) continue;
    if (!found || *covers < lowest) found = std::move(set), lowest = *covers;
  }
  return found;
}

}  // namespace

bool holds_version(std::string_view text) {
  return parse_version(text).has_value();
}

Result<const catalog::Constants*> find_profile(const catalog::Catalog& catalog, std::string_view id,
                                               const Versions& versions) {
  auto current = catalog.constants(id);
  if (!current) return current;
  for (const auto& [software, version] :
       {std::pair("nccl", versions.nccl), std::pair("plugin", versions.plugin)}) {
    if (const auto set = for_version(catalog, id, software, version))
      return catalog.constants(*set);
  }
  return current;
}

std::string newer_than_known(const catalog::Constants& set, const Versions& versions) {
  const auto wanted = parse_version(versions.nccl);
  const auto known = set.table("stack.nccl_version");
  if (!wanted || known.size() != 2) return {};
  const Version newest{static_cast<int>(known[0]), static_cast<int>(known[1])};
  if (*wanted <= newest) return {};
  return fmt::format("NCCL {}.{} by the tables of {}.{}, the newest known", wanted->major_number,
                     wanted->minor_number, newest.major_number, newest.minor_number);
}

}  // namespace flowplan::collective
