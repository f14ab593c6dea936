#include "flowplan/scenario/overrides.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/scenario/schema.hpp"

namespace flowplan::scenario {

namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t dot = path.find('.');
    parts.emplace_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return parts;
    path.remove_prefix(dot + 1);
  }
}

bool is_index(std::string_view text) {
  return !text.empty() && text.size() <= 6 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// What a `$ref` into the schema's own definitions means; the rules themselves without one.
const Json& meant(const Json& rules, const Json& root) {
  const auto reference = rules.find("$ref");
  if (reference == rules.end()) return rules;
  const std::string pointer = reference->get<std::string>().substr(1);  // without '#'
  return root.at(Json::json_pointer(pointer));
}

/// Every path that the schema has below `prefix`, for suggestions.
void list_paths(const Json& stated, const Json& root, const std::string& prefix,
                std::vector<std::string>& paths) {
  const Json& schema = meant(stated, root);
  const auto properties = schema.find("properties");
  if (properties == schema.end()) return;
  for (const auto& [key, value] : properties->items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    paths.push_back(path);
    list_paths(value, root, path, paths);
  }
}

/// The schema of `part` below `stated`; null when it has none.
const Json* step(const Json& stated, const Json& root, const std::string& part) {
  const Json& schema = meant(stated, root);
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    const auto found = properties->find(part);
    return found == properties->end() ? nullptr : &*found;
  }
  if (const auto items = schema.find("items"); items != schema.end() && is_index(part)) {
    return &*items;
  }
  return nullptr;
}

Place override_place(const std::string& text) {
  Place place;
  place.file = "--set " + text;
  return place;
}

std::optional<Diagnostic> apply(Json& root, const Json& schema, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    return error(Code::usage, override_place(text), "an override is path=value",
                 "for example --set workload.micro_batch=2");
  }
  const std::string path = text.substr(0, equals);
  const std::string value_text = text.substr(equals + 1);
  Json value = Json::parse(value_text, nullptr, false);
  if (value.is_discarded()) value = value_text;

  Json* target = &root;
  const Json* known = &schema;
  for (const std::string& part : split_path(path)) {
    known = step(*known, schema, part);
    if (known == nullptr) {
      std::vector<std::string> paths;
      list_paths(schema, schema, "", paths);
      return error(Code::unknown_key, override_place(text),
                   fmt::format("a scenario has no `{}`", path), suggest(path, paths));
    }
    if (target->is_null() && is_index(part)) *target = Json::array();
    if (target->is_array()) {
      const auto index = static_cast<std::size_t>(std::stoul(part));
      if (index > target->size()) {
        return error(Code::value_out_of_range, override_place(text),
                     fmt::format("`{}`: the list has {} entries", path, target->size()));
      }
      if (index == target->size()) target->push_back(Json::object());
      target = &(*target)[index];
    } else {
      if (is_index(part)) {
        return error(Code::value_out_of_range, override_place(text),
                     fmt::format("`{}`: there is no list there", path));
      }
      if (!target->is_object()) *target = Json::object();
      target = &(*target)[part];
    }
  }
  *target = std::move(value);
  return std::nullopt;
}

/// `cluster.count` and `cluster.nodes` are one number: who overrides one means the other, too.
void drop_replaced_synonym(Json& root, std::span<const std::string> overrides) {
  const auto names = [&](std::string_view path) {
    return std::any_of(overrides.begin(), overrides.end(), [&](const std::string& text) {
      return std::string_view(text).substr(0, text.find('=')) == path;
    });
  };
  const bool count = names("cluster.count");
  if (count == names("cluster.nodes")) return;
  if (const auto cluster = root.find("cluster"); cluster != root.end() && cluster->is_object())
    cluster->erase(count ? "nodes" : "count");
}

}  // namespace

Result<JsonDocument> with_overrides(const JsonDocument& document, const JsonDocument& schema,
                                    std::span<const std::string> overrides) {
  if (overrides.empty()) return document;
  Json root = document.root();
  const JsonDocument own = schema_for(document, schema);
  Diagnostics faults;
  for (const std::string& text : overrides) {
    if (auto fault = apply(root, own.root(), text)) faults.push_back(std::move(*fault));
  }
  if (!faults.empty()) return fail(std::move(faults));
  drop_replaced_synonym(root, overrides);
  return document.with(root);
}

std::vector<std::string> override_paths(const JsonDocument& schema) {
  const Json& root = schema.root();
  std::vector<std::string> paths;
  list_paths(root, root, "", paths);
  constexpr std::string_view workload = "_workload";
  if (const auto definitions = root.find("definitions"); definitions != root.end())
    for (const auto& [name, rules] : definitions->items())
      if (name.ends_with(workload)) list_paths(rules, root, "workload", paths);
  std::vector<std::string> once;
  for (std::string& path : paths)
    if (path != "$schema" && std::find(once.begin(), once.end(), path) == once.end())
      once.push_back(std::move(path));
  return once;
}

Diagnostics at_overrides(Diagnostics diagnostics, std::span<const std::string> overrides) {
  for (const std::string& text : overrides) {
    std::string pointer;
    for (const std::string& part : split_path(text.substr(0, text.find('='))))
      pointer = child_pointer(pointer, part);
    for (Diagnostic& d : diagnostics) {
      if (d.place.pointer == pointer) {
        d.place = override_place(text);
        d.place.pointer = pointer;
      }
    }
  }
  return diagnostics;
}

}  // namespace flowplan::scenario
