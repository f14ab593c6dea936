#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "flowplan/base/diagnostic.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan {

struct JsonLimits {
  std::size_t max_bytes = 64u << 20;
  int max_depth = 64;
};

/// A JSON text that knows where each value stands. Duplicate keys, excessive depth and size are
/// errors (FP001-FP012); comments are allowed. Copies are cheap and share the text.
class JsonDocument {
 public:
  /// Parses `text`; `file` is the name that diagnostics show.
  [[nodiscard]] static Result<JsonDocument> parse(std::string text, std::string file,
                                                  const JsonLimits& limits = {});
  /// Reads and parses a file; "-" is standard input.
  [[nodiscard]] static Result<JsonDocument> read(const std::string& path,
                                                 const JsonLimits& limits = {});

  [[nodiscard]] const nlohmann::ordered_json& root() const;
  [[nodiscard]] const std::string& file() const;

  /// Place of the value at a JSON pointer ("" is the whole document); where it does not exist, that
  /// of the nearest ancestor that does.
  [[nodiscard]] Place place(std::string_view pointer) const;
  /// Place of the key itself of the member at `pointer`.
  [[nodiscard]] Place key_place(std::string_view pointer) const;

  /// The same document with one value replaced or added (for `--set`): places stay those of the
  /// original text, a new value has its nearest ancestor's.
  [[nodiscard]] JsonDocument with(const nlohmann::ordered_json& root) const;

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

/// `pointer` + "/" + `key`, escaped as RFC 6901 says.
[[nodiscard]] std::string child_pointer(std::string_view pointer, std::string_view key);
[[nodiscard]] std::string child_pointer(std::string_view pointer, std::size_t index);

}  // namespace flowplan
