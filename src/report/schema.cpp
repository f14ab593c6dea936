#include "flowplan/report/schema.hpp"

#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::report {

namespace {

using Rules = nlohmann::ordered_json;

std::string escaped_cell(std::string text) {
  for (std::size_t at = text.find_first_of("|\n"); at != std::string::npos;
       at = text.find_first_of("|\n", at + 2)) {
    if (text[at] == '\n')
      text[at] = ' ';
    else
      text.insert(at, "\\");
  }
  return text;
}

std::string spelt(const Rules& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string listed(const Rules& values) {
  constexpr std::size_t most = 24;
  std::vector<std::string> texts;
  for (const Rules& value : values) {
    if (texts.size() == most) {
      texts.emplace_back("...");
      break;
    }
    texts.push_back(fmt::format("`{}`", spelt(value)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// One page in the making: objects are written in the order in which they are met.
class Page {
 public:
  explicit Page(const Rules& root) : root_(root) {}

  void object(const std::string& path, const Rules& stated) {
    const Rules& rules = meant(stated);
    const auto properties = rules.find("properties");
    if (properties == rules.end()) return;
    text_ += path.empty() ? "\n## The file\n" : fmt::format("\n## `{}`\n", path);
    if (const auto about = stated.find("description"); about != stated.end() && !path.empty())
      text_ += fmt::format("\n{}\n", about->get<std::string>());
    text_ += "\n| key | type | meaning |\n| --- | --- | --- |\n";
    for (const auto& [key, value] : properties->items())
      text_ += fmt::format("| `{}`{} | {} | {} |\n", key, required(rules, key) ? " (needed)" : "",
                           escaped_cell(type(value)), escaped_cell(meaning(value)));
    for (const auto& [key, value] : properties->items())
      below(path.empty() ? key : path + "." + key, value);
  }

  void below(const std::string& path, const Rules& stated) {
    const Rules& rules = meant(stated);
    if (path == "workload") {
      for (const auto& [name, kind] : root_.at("definitions").items())
        if (name.ends_with("_workload")) object(fmt::format("workload ({})", shown(name)), kind);
      return;
    }
    object(path, stated);
    if (const auto items = rules.find("items"); items != rules.end()) object(path + "[]", *items);
    for (const char* some : {"oneOf", "anyOf"}) {
      const auto choices = rules.find(some);
      if (choices == rules.end()) continue;
      for (const Rules& choice : *choices)
        below(path, choice);
    }
  }

  [[nodiscard]] std::string text() const { return text_; }

 private:
  static std::string shown(const std::string& definition) {
    return definition.substr(0, definition.find("_workload"));
  }

  static bool required(const Rules& rules, const std::string& key) {
    const auto list = rules.find("required");
    if (list == rules.end()) return false;
    for (const Rules& one : *list)
      if (one == key) return true;
    return false;
  }

  const Rules& meant(const Rules& rules) const {
    const auto reference = rules.find("$ref");
    if (reference == rules.end()) return rules;
    return root_.at(Rules::json_pointer(reference->get<std::string>().substr(1)));
  }

  [[nodiscard]] std::string type(const Rules& stated) const {
    const Rules& rules = meant(stated);
    if (rules.contains("enum")) return listed(rules["enum"]);
    for (const char* some : {"oneOf", "anyOf"}) {
      if (!rules.contains(some)) continue;
      std::vector<std::string> types;
      for (const Rules& choice : rules[some])
        types.push_back(type(choice));
      return fmt::format("{}", fmt::join(types, " or "));
    }
    std::string text;
    if (const auto named = rules.find("type"); named != rules.end()) {
      if (named->is_array()) {
        std::vector<std::string> names;
        for (const Rules& name : *named)
          names.push_back(spelt(name));
        text = fmt::format("{}", fmt::join(names, " or "));
      } else {
        text = named->get<std::string>();
      }
    }
    if (text == "array" && rules.contains("items"))
      text = fmt::format("list of {}", type(rules["items"]));
    return text + bounds(rules);
  }

  static std::string bounds(const Rules& rules) {
    std::vector<std::string> parts;
    const auto say = [&](const char* key, std::string_view text) {
      if (rules.contains(key)) parts.push_back(fmt::format("{} {}", text, spelt(rules[key])));
    };
    say("minimum", ">=");
    say("exclusiveMinimum", ">");
    say("maximum", "<=");
    say("exclusiveMaximum", "<");
    return parts.empty() ? "" : fmt::format(", {}", fmt::join(parts, ", "));
  }

  [[nodiscard]] std::string meaning(const Rules& stated) const {
    for (const Rules* rules : {&stated, &meant(stated)})
      if (const auto about = rules->find("description"); about != rules->end())
        return about->get<std::string>();
    return {};
  }

  const Rules& root_;
  std::string text_;
};

}  // namespace

std::string schema_markdown(const JsonDocument& schema, const std::string& command) {
  const Rules& root = schema.root();
  std::string text = fmt::format("# {}\n\nGenerated by `{}`; do not edit.\n",
                                 root.value("title", "Schema"), command);
  if (root.contains("description"))
    text += fmt::format("\n{}\n", root["description"].get<std::string>());
  Page page(root);
  page.object("", root);
  return text + page.text();
}

}  // namespace flowplan::report
