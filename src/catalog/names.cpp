#include "flowplan/catalog/names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace flowplan::catalog {

namespace {

// What publishers append without changing a model's dimensions.
constexpr std::array<std::string_view, 12> variants{"-instruct", "-chat", "-hf",   "-base",
                                                    "-it",       "-bf16", "-fp8",  "-v0.1",
                                                    "-v0.3",     "-2407", "-2507", "-v1"};

bool is_plain(unsigned char c) {
  return std::isalnum(c) != 0;
}

}  // namespace

std::string name_key(std::string_view name) {
  std::string key;
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (is_plain(letter)) key += static_cast<char>(std::tolower(letter));
  }
  return key;
}

std::string model_name_key(std::string_view name) {
  if (const auto slash = name.rfind('/'); slash != std::string_view::npos) {
    name.remove_prefix(slash + 1);
  }
  std::string lower;
  for (const char c : name) {
    const bool separator = c == '_' || c == ' ';
    lower += separator ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  for (bool stripped = true; stripped;) {
    stripped = false;
    for (const std::string_view variant : variants) {
      if (!lower.ends_with(variant) || lower.size() == variant.size()) continue;
      lower.erase(lower.size() - variant.size());
      stripped = true;
    }
  }
  return name_key(lower);
}

Names::Names(std::string what, bool publishers) : what_(std::move(what)), publishers_(publishers) {}

std::string Names::key(std::string_view name) const {
  return publishers_ ? model_name_key(name) : name_key(name);
}

void Names::add_id(const std::string& id) {
  if (!has_id(id)) ids_.push_back(id);
}

void Names::add_alias(const std::string& name, std::vector<std::string> ids) {
  std::string wanted = key(name);
  const auto found = std::find_if(aliases_.begin(), aliases_.end(),
                                  [&](const Alias& a) { return a.key == wanted; });
  if (found == aliases_.end()) {
    aliases_.push_back({name, std::move(wanted), std::move(ids)});
  } else {
    found->ids = std::move(ids);
  }
}

bool Names::has_id(std::string_view id) const {
  return std::find(ids_.begin(), ids_.end(), id) != ids_.end();
}

Result<std::string> Names::resolve(std::string_view name) const {
  if (has_id(name)) return std::string(name);
  const std::string wanted = key(name);
  if (!wanted.empty()) {
    for (const std::string& id : ids_) {
      if (key(id) == wanted) return id;
    }
    for (const Alias& alias : aliases_) {
      if (alias.key != wanted) continue;
      if (alias.ids.size() == 1) return alias.ids.front();
      return fail(error(Code::ambiguous_name, fmt::format("{} `{}` is ambiguous", what_, name),
                        fmt::format("one of: {}", fmt::join(alias.ids, ", "))));
    }
  }
  std::vector<std::string> candidates = ids_;
  for (const Alias& alias : aliases_)
    candidates.push_back(alias.name);
  const auto near = nearest(name, candidates);
  return fail(error(Code::unknown_name, fmt::format("unknown {} `{}`", what_, name),
                    near ? fmt::format("did you mean `{}`?", *near) : suggest(name, ids_)));
}

}  // namespace flowplan::catalog
