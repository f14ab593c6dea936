#include "flowplan/base/json_schema.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "flowplan/base/assert.hpp"

namespace flowplan {

using Json = nlohmann::ordered_json;

namespace {

/// What valijson says is wrong: where and in its own words.
struct Fault {
  std::string pointer;
  std::string prose;
};

std::vector<Fault> find_faults(const nlohmann::json& document, const nlohmann::json& schema) {
  valijson::Schema rules;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), rules);
  valijson::Validator validator;
  valijson::ValidationResults results;
  std::vector<Fault> faults;
  if (validator.validate(rules, valijson::adapters::NlohmannJsonAdapter(document), &results)) {
    return faults;
  }
  for (const auto& found : results) {
    std::string pointer;
    for (std::string step : found.context) {
      if (step == "<root>") continue;
      if (step.size() > 2) step = step.substr(1, step.size() - 2);  // "[name]"
      pointer = child_pointer(pointer, step);
    }
    faults.push_back({std::move(pointer), found.description});
  }
  return faults;
}

/// Follows `$ref`s into the schema's own definitions.
const Json& resolve(const Json& rules, const Json& root) {
  const Json* at = &rules;
  while (at->is_object() && at->contains("$ref")) {
    std::string target = at->at("$ref").get<std::string>();
    FLOWPLAN_ASSERT(target.starts_with('#'));
    at = &root.at(Json::json_pointer(target.substr(1)));
  }
  return *at;
}

/// The rules for the value at `pointer`; null where the schema says nothing of it.
const Json* rules_at(const Json& root, const std::string& pointer) {
  const Json* rules = &resolve(root, root);
  Json::json_pointer path(pointer);
  std::vector<std::string> steps;
  for (; !path.empty(); path.pop_back())
    steps.push_back(path.back());
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    const Json* next = nullptr;
    if (rules->contains("properties") && rules->at("properties").contains(*step)) {
      next = &rules->at("properties").at(*step);
    } else if (rules->contains("items")) {
      next = &rules->at("items");
    } else if (rules->contains("additionalProperties")) {
      next = &rules->at("additionalProperties");
    }
    if (next == nullptr || !next->is_object()) return nullptr;
    rules = &resolve(*next, root);
  }
  return rules;
}

bool has_type(const Json& value, const std::string& type) {
  if (type == "integer") {
    return value.is_number_integer() ||
           (value.is_number_float() && value.get<double>() == std::floor(value.get<double>()));
  }
  if (type == "number") return value.is_number();
  if (type == "null") return value.is_null();
  return type == value.type_name();
}

std::vector<std::string> as_list(const Json& value) {
  if (!value.is_array()) return {value.is_string() ? value.get<std::string>() : value.dump()};
  std::vector<std::string> list;
  for (const Json& item : value)
    list.push_back(item.is_string() ? item.get<std::string>() : item.dump());
  return list;
}

std::string shown(const Json& value) {
  std::string text = value.is_structured()
                         ? std::string(value.is_array() ? "an array" : "an object")
                         : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  constexpr std::size_t longest = 60;
  return text.size() > longest ? text.substr(0, longest) + "..." : text;
}

/// Names the rule that a value breaks, from the rules on its own level.
class Explainer {
 public:
  Explainer(const JsonDocument& document, const std::string& pointer, const Json& rules)
      : document_(document),
        pointer_(pointer),
        rules_(rules),
        value_(document.root().at(Json::json_pointer(pointer))) {}

  Diagnostics run() {
    if (!type()) return std::move(found_);
    allowed();
    range("minimum", "at least");
    range("maximum", "at most");
    range("exclusiveMinimum", "more than");
    range("exclusiveMaximum", "less than");
    length();
    required();
    unknown_keys();
    return std::move(found_);
  }

 private:
  void report(Code code, std::string message, std::string hint = {}) {
    found_.push_back(error(code, document_.place(pointer_), std::move(message), std::move(hint)));
  }

  bool type() {
    if (!rules_.contains("type")) return true;
    const std::vector<std::string> types = as_list(rules_.at("type"));
    if (std::any_of(types.begin(), types.end(),
                    [&](const auto& t) { return has_type(value_, t); })) {
      return true;
    }
    report(Code::wrong_type,
           fmt::format("expected {}, found {}", fmt::join(types, " or "), shown(value_)), about());
    return false;
  }

  std::string about() const {
    return rules_.contains("description") ? rules_.at("description").get<std::string>() : "";
  }

  void allowed() {
    if (rules_.contains("const") && value_ != rules_.at("const")) {
      report(Code::value_not_allowed, fmt::format("{} is not allowed here", shown(value_)),
             fmt::format("allowed: {}", shown(rules_.at("const"))));
    }
    if (!rules_.contains("enum")) return;
    const Json& choices = rules_.at("enum");
    if (std::find(choices.begin(), choices.end(), value_) != choices.end()) return;
    const std::vector<std::string> names = as_list(choices);
    std::string hint = fmt::format("allowed: {}", fmt::join(names, ", "));
    if (value_.is_string()) {
      if (const auto near = nearest(value_.get<std::string>(), names)) {
        hint = fmt::format("did you mean `{}`? {}", *near, hint);
      }
    }
    report(Code::value_not_allowed,
           fmt::format("{} is not one of the allowed values", shown(value_)), hint);
  }

  void range(const char* rule, const char* words) {
    if (!rules_.contains(rule) || !value_.is_number()) return;
    const double value = value_.get<double>();
    const double bound = rules_.at(rule).get<double>();
    const std::string_view name = rule;
    const bool broken = name == "minimum"            ? value < bound
                        : name == "maximum"          ? value > bound
                        : name == "exclusiveMinimum" ? value <= bound
                                                     : value >= bound;
    if (!broken) return;
    report(Code::value_out_of_range,
           fmt::format("{} is out of range: it must be {} {}", shown(value_), words,
                       rules_.at(rule).dump()),
           about());
  }

  void length() {
    const auto check = [&](const char* rule, std::size_t size, bool least, const char* what) {
      if (!rules_.contains(rule)) return;
      const auto bound = rules_.at(rule).get<std::size_t>();
      if (least ? size >= bound : size <= bound) return;
      report(Code::value_out_of_range, fmt::format("{} {}, {} {} allowed", size, what,
                                                   least ? "at least" : "at most", bound));
    };
    if (value_.is_array()) {
      check("minItems", value_.size(), true, "items");
      check("maxItems", value_.size(), false, "items");
    } else if (value_.is_string()) {
      check("minLength", value_.get_ref<const std::string&>().size(), true, "characters");
      check("maxLength", value_.get_ref<const std::string&>().size(), false, "characters");
    }
  }

  void required() {
    if (!rules_.contains("required") || !value_.is_object()) return;
    for (const Json& key : rules_.at("required")) {
      const auto name = key.get<std::string>();
      if (value_.contains(name)) continue;
      report(Code::missing_key, fmt::format("the key `{}` is missing", name), describe(name));
    }
  }

  std::string describe(const std::string& key) const {
    if (!rules_.contains("properties") || !rules_.at("properties").contains(key)) return {};
    const Json& rule = rules_.at("properties").at(key);
    return rule.contains("description") ? rule.at("description").get<std::string>() : "";
  }

  void unknown_keys() {
    if (!value_.is_object() || !rules_.contains("additionalProperties") ||
        rules_.at("additionalProperties") != Json(false)) {
      return;
    }
    std::vector<std::string> known;
    if (rules_.contains("properties")) {
      for (const auto& [key, unused] : rules_.at("properties").items())
        known.push_back(key);
    }
    for (const auto& [key, unused] : value_.items()) {
      if (std::find(known.begin(), known.end(), key) != known.end()) continue;
      found_.push_back(error(Code::unknown_key, document_.key_place(child_pointer(pointer_, key)),
                             fmt::format("unknown key `{}`", key), suggest(key, known)));
    }
  }

  const JsonDocument& document_;
  const std::string& pointer_;
  const Json& rules_;
  const Json& value_;
  Diagnostics found_;
};

bool below(const std::string& pointer, const std::string& ancestor) {
  return pointer.size() > ancestor.size() && pointer.starts_with(ancestor) &&
         pointer[ancestor.size()] == '/';
}

}  // namespace

Diagnostics validate(const JsonDocument& document, const JsonDocument& schema) {
  const std::vector<Fault> faults =
      find_faults(nlohmann::json(document.root()), nlohmann::json(schema.root()));
  Diagnostics found;
  std::set<std::string> seen;
  for (const Fault& fault : faults) {
    if (!seen.insert(fault.pointer).second) continue;
    const Json* rules = rules_at(schema.root(), fault.pointer);
    Diagnostics explained =
        rules == nullptr ? Diagnostics{} : Explainer(document, fault.pointer, *rules).run();
    const bool deeper = std::any_of(faults.begin(), faults.end(), [&](const Fault& other) {
      return below(other.pointer, fault.pointer);
    });
    if (explained.empty() && !deeper) {
      explained.push_back(error(Code::schema_other, document.place(fault.pointer), fault.prose));
    }
    std::move(explained.begin(), explained.end(), std::back_inserter(found));
  }
  std::stable_sort(found.begin(), found.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return std::pair(a.place.line, a.place.column) < std::pair(b.place.line, b.place.column);
  });
  return found;
}

}  // namespace flowplan
