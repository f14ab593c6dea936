#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/scenario.hpp"
#include "session.hpp"

namespace flowplan::cli {

enum class FileKind {
  scenario,
  flow_case,
  measurements,
  model_config,
  result,
  constants,
  trace,
  ec2_answer,
  other
};

/// What a JSON document is, by the keys at its top.
[[nodiscard]] FileKind kind_of(const JsonDocument& document);
/// Whether a text looks like a CSV table: a first line with commas that does not begin as JSON
/// does.
[[nodiscard]] bool looks_like_csv(std::string_view text);

/// Reads a JSON file that `command` takes as `wanted`. A file of another kind is refused with the
/// command that takes it (FP016); errors of JsonDocument otherwise.
[[nodiscard]] Result<JsonDocument> read_input(const std::string& path, FileKind wanted,
                                              std::string_view command);

/// Why a file is no table of measurements, when it is JSON; nothing when it may be one.
[[nodiscard]] std::optional<Diagnostic> not_a_table(const std::string& path);

/// Reads the scenario file and applies every --set.
[[nodiscard]] Result<JsonDocument> scenario_document(const Arguments& arguments,
                                                     const JsonDocument& schema,
                                                     const std::string& path,
                                                     std::string_view command);

}  // namespace flowplan::cli
