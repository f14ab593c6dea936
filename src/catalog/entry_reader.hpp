#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/catalog/constants.hpp"
#include "flowplan/catalog/figure.hpp"

namespace flowplan::catalog {

/// Reads what the entries of one catalog file have in common: named figures whose sources the file
/// lists once. Collects faults instead of stopping at the first.
class EntryReader {
 public:
  explicit EntryReader(const JsonDocument& document) : document_(document) {}

  [[nodiscard]] const JsonDocument& document() const { return document_; }
  /// The value at a pointer that is known to exist.
  [[nodiscard]] const nlohmann::ordered_json& at(const std::string& pointer) const;

  /// The sources that figures from here on refer to: the member "sources" of `node`, if any.
  void use_sources(const nlohmann::ordered_json& node);

  /// A text member; reports and returns "" when it is missing and `required`, or not a text.
  [[nodiscard]] std::string text(const nlohmann::ordered_json& node, const std::string& pointer,
                                 const char* key, bool required = true);
  /// A list of texts; empty when there is none.
  [[nodiscard]] std::vector<std::string> texts(const nlohmann::ordered_json& node,
                                               const std::string& pointer, const char* key);

  /// Lays the member "figures" of an entry over `facts`: same name, new figure.
  void read_facts(const nlohmann::ordered_json& entry, const std::string& pointer,
                  std::vector<Fact>& facts);
  /// Lays the member "figures" of a constants set over `entries`: numbers and lists of numbers.
  void read_constants(const nlohmann::ordered_json& set, const std::string& pointer,
                      std::vector<Constants::Entry>& entries);

  /// The source of that key in the file's list.
  [[nodiscard]] Source source(const std::string& key, const std::string& pointer);

  void report(const std::string& pointer, std::string message, std::string hint = {});
  [[nodiscard]] Diagnostics take_faults() { return std::exchange(faults_, {}); }

 private:
  /// A figure as it is written, before its value is looked at.
  struct Parts {
    const nlohmann::ordered_json* value = nullptr;
    Source source;
  };
  /// `pointer` is that of the member "figures"; that of the figure is made only for a fault.
  [[nodiscard]] std::optional<Parts> parts(const nlohmann::ordered_json& node,
                                           const std::string& pointer, const std::string& name,
                                           const char* default_confidence);

  const JsonDocument& document_;
  std::vector<std::pair<std::string, std::string>> sources_;
  Diagnostics faults_;
};

}  // namespace flowplan::catalog
