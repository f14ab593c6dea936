#include "prune.hpp"

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace flowplan::scenario {

namespace {

using Json = nlohmann::ordered_json;

bool is_below(const std::string& pointer, std::string_view part) {
  return pointer.size() > part.size() && pointer.compare(0, part.size(), part) == 0 &&
         pointer[part.size()] == '/';
}

/// What has to go for a fault at `pointer`: a model's dimensions and a check only make sense whole.
std::string unit_of(const std::string& pointer) {
  if (is_below(pointer, "/workload/model")) return "/workload/model";
  if (is_below(pointer, "/checks")) return pointer.substr(0, pointer.find('/', 8));
  return pointer;
}

void remove(Json& root, const std::string& pointer) {
  const Json::json_pointer at(pointer);
  if (!root.contains(at)) return;
  Json& parent = root.at(at.parent_pointer());
  if (parent.is_array()) {
    root.at(at) = nullptr;  // keeps the positions of the others
  } else {
    parent.erase(at.back());
  }
}

}  // namespace

std::optional<JsonDocument> prune(const JsonDocument& document, const Diagnostics& faults) {
  Json root = document.root();
  if (!root.is_object()) return std::nullopt;
  for (const Diagnostic& fault : faults) {
    const std::string unit = unit_of(fault.place.pointer);
    const bool whole_stays = fault.code == Code::missing_key && unit == fault.place.pointer &&
                             !is_below(unit, "/checks") && unit != "/workload/model";
    if (!whole_stays && unit.empty()) return std::nullopt;
    if (!whole_stays) remove(root, unit);
  }
  return document.with(root);
}

}  // namespace flowplan::scenario
