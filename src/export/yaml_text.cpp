#include "yaml_text.hpp"

#include <cctype>
#include <regex>

#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

/// Whether a plain scalar of these letters would be read as a number, a flag, nothing or a date,
/// by YAML 1.1, which most tools read, or 1.2.
bool misread(const std::string& text) {
  static const std::regex other_type(
      "(~|null|true|false|yes|no|on|off|y|n|[-+]?\\.(inf|nan)"
      "|[-+]?[0-9][0-9_]*(\\.[0-9_]*)?([eE][-+]?[0-9]+)?|[-+]?\\.[0-9]+([eE][-+]?[0-9]+)?"
      "|0[xo][0-9a-f]+|[0-9]+(:[0-5]?[0-9])+(\\.[0-9]*)?|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|=)",
      std::regex::icase);
  return text.empty() || std::regex_match(text, other_type);
}

void emit_string(YAML::Emitter& out, const std::string& text) {
  if (text.find('\n') != text.npos) {
    out << YAML::Literal << text;
  } else if (misread(text)) {
    out << YAML::DoubleQuoted << text;
  } else {
    out << text;
  }
}

void emit_value(YAML::Emitter& out, const Json& value) {
  switch (value.type()) {
    case Json::value_t::object:
      if (value.empty()) out << YAML::Flow;
      out << YAML::BeginMap;
      for (const auto& [key, child] : value.items()) {
        out << YAML::Key;
        emit_string(out, key);
        out << YAML::Value;
        emit_value(out, child);
      }
      out << YAML::EndMap;
      break;
    case Json::value_t::array:
      if (value.empty()) out << YAML::Flow;
      out << YAML::BeginSeq;
      for (const Json& child : value)
        emit_value(out, child);
      out << YAML::EndSeq;
      break;
    case Json::value_t::string:
      emit_string(out, value.get_ref<const std::string&>());
      break;
    default:
      out << value.dump();
      break;
  }
}

}  // namespace

std::string yaml_text(const Json& value) {
  YAML::Emitter out;
  emit_value(out, value);
  return std::string(out.c_str()) + "\n";
}

std::string yaml_documents(std::string_view comment, std::span<const Json> documents) {
  std::string text = commented(comment);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (i > 0) text += "---\n";
    text += yaml_text(documents[i]);
  }
  return text;
}

std::string commented(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    lines += line.empty() ? "#\n" : "# " + std::string(line) + "\n";
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return lines;
}

}  // namespace flowplan::exporting
