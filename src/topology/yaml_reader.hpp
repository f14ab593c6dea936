#pragma once

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "flowplan/base/result.hpp"
#include "text_place.hpp"

namespace flowplan::topology {

/// What readers of YAML (and so of JSON) share: documents and values with places, faults gathered.
class YamlReader {
 public:
  YamlReader(const std::string& text, const std::string& file) : places_(file, text) {}

 protected:
  /// All documents of the text; empty with a fault when it is no YAML. Each is parsed by itself,
  /// because yaml-cpp 0.7's LoadAll never ends on some damaged texts ("," before a document).
  std::vector<YAML::Node> load(const std::string& text) {
    try {
      std::vector<YAML::Node> documents;
      std::string above;  // line breaks that keep the places
      for (std::size_t start = 0; start < text.size();) {
        const std::size_t next = text.find("\n---", start);
        const std::size_t end = next == std::string::npos ? text.size() : next + 1;
        const std::string document = text.substr(start, end - start);
        YAML::Node node = YAML::Load(above + document);
        if (!node.IsNull()) documents.push_back(std::move(node));
        above.append(static_cast<std::size_t>(std::count(document.begin(), document.end(), '\n')),
                     '\n');
        start = end;
      }
      return documents;
    } catch (const YAML::Exception& fault) {
      faults_.push_back(error(Code::bad_cluster,
                              places_.at(fault.mark.line + 1, fault.mark.column + 1),
                              "the text is not YAML: " + fault.msg));
      return {};
    }
  }

  void refuse(Code code, const YAML::Node& at, const std::string& pointer, std::string message,
              std::string hint = {}) {
    const YAML::Mark mark = at.Mark();
    faults_.push_back(
        error(code, places_.at(mark.is_null() ? 0 : mark.line + 1, mark.column + 1, pointer),
              std::move(message), std::move(hint)));
  }

  [[nodiscard]] Place place(const YAML::Node& at, std::string pointer = {}) const {
    const YAML::Mark mark = at.Mark();
    return places_.at(mark.is_null() ? 0 : mark.line + 1, mark.column + 1, std::move(pointer));
  }

  /// The value of a key, nothing where it is absent or null; a fault where it stands twice.
  YAML::Node child(const YAML::Node& map, const std::string& pointer, const std::string& key) {
    YAML::Node found(YAML::NodeType::Undefined);
    if (!map.IsMap()) return found;
    bool seen = false;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar() || entry.first.Scalar() != key) continue;
      if (seen)
        refuse(Code::json_duplicate_key, entry.first, pointer, "`" + key + "` stands twice");
      seen = true;
      found.reset(entry.second);
    }
    return found;
  }

  /// A scalar, as text; empty with a fault where it is something else.
  std::string scalar(const YAML::Node& map, const std::string& pointer, const std::string& key) {
    const YAML::Node value = child(map, pointer, key);
    if (!value.IsDefined() || value.IsNull()) return {};
    if (value.IsScalar()) return value.Scalar();
    refuse(Code::wrong_type, value, pointer + "/" + key, key + " must be a plain value");
    return {};
  }

  /// Faults for keys that are not known, with the nearest one that is.
  void check_keys(const YAML::Node& map, const std::string& pointer,
                  const std::vector<std::string>& known) {
    for (const auto& entry : map) {
      const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string("?");
      bool found = false;
      for (const std::string& one : known)
        found = found || one == key;
      if (!found)
        refuse(Code::unknown_key, entry.first, pointer, "there is no key `" + key + "` here",
               suggest(key, known));
    }
  }

  TextPlaces places_;
  Diagnostics faults_;
};

}  // namespace flowplan::topology
