#include "input.hpp"

#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/text_file.hpp"
#include "flowplan/scenario/overrides.hpp"

namespace flowplan::cli {

namespace {

std::string what_takes(FileKind kind, const std::string& path) {
  switch (kind) {
    case FileKind::scenario:
      return fmt::format("it is a scenario: `flowplan run {}` takes it", path);
    case FileKind::flow_case:
      return fmt::format("it is a flow case: `flowplan flow {}` takes it", path);
    case FileKind::measurements:
      return fmt::format("it is a table of measurements: `flowplan validate {}` takes it", path);
    case FileKind::model_config:
      return fmt::format("it is a model's config: `flowplan run --model {}` takes it", path);
    case FileKind::result:
      return fmt::format(
          "it is a saved result: `flowplan report {0}` and `flowplan diff {0} OTHER` take it",
          path);
    case FileKind::constants:
      return fmt::format("it is a set of catalog figures: --catalog {} lays it over the catalog",
                         path);
    case FileKind::trace:
      return fmt::format("it is a recording of a run: `flowplan replay {}` takes it", path);
    case FileKind::ec2_answer:
      return fmt::format("it is an answer of EC2: `flowplan catalog import {}` takes it", path);
    case FileKind::other:
      break;
  }
  return {};
}

/// A result says what was found, not all that its scenario states of fabric, routing, storage, ...
std::string export_of_result() {
  return "it is a saved result, which lacks part of its scenario: export that, and of a plan "
         "`flowplan export TARGET SCENARIO --rank N` writes the Nth candidate";
}

std::string_view noun(FileKind kind) {
  switch (kind) {
    case FileKind::flow_case:
      return "flow case";
    case FileKind::measurements:
      return "table of measurements";
    default:
      return "scenario";
  }
}

Diagnostic wrong_kind(const std::string& path, FileKind wanted, FileKind found,
                      std::string_view command) {
  Place place;
  place.file = path == "-" ? "<stdin>" : path;
  return error(Code::wrong_kind_of_file, std::move(place),
               fmt::format("`flowplan {}` takes a {}", command, noun(wanted)),
               found == FileKind::result && command == "export" ? export_of_result()
                                                                : what_takes(found, path));
}

}  // namespace

FileKind kind_of(const JsonDocument& document) {
  const auto& root = document.root();
  if (!root.is_object()) return FileKind::other;
  if (root.contains("format_version")) return FileKind::result;  // has a cluster, too
  if (root.contains("workload") || root.contains("cluster")) return FileKind::scenario;
  if (root.contains("flows") && root.contains("links")) return FileKind::flow_case;
  if (root.contains("num_hidden_layers") || root.contains("architectures")) {
    return FileKind::model_config;
  }
  if (root.contains("workload_graph") || root.contains("traceEvents")) return FileKind::trace;
  for (const char* key : {"InstanceTypes", "CapacityBlockOfferings", "CapacityReservations"}) {
    if (root.contains(key)) return FileKind::ec2_answer;
  }
  for (const char* key : {"figures", "gpus", "instances", "models", "constants"}) {
    if (root.contains(key)) return FileKind::constants;
  }
  return FileKind::other;
}

bool looks_like_csv(std::string_view text) {
  const std::size_t start = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (start == std::string_view::npos) return false;
  const char first = text[start];
  if (first == '{' || first == '[' || first == '/') return false;
  const std::string_view line = text.substr(start, text.find('\n', start) - start);
  return line.find(',') != std::string_view::npos && line.find('{') == std::string_view::npos;
}

Result<JsonDocument> read_input(const std::string& path, FileKind wanted,
                                std::string_view command) {
  auto text = read_text(path, JsonLimits{}.max_bytes);
  if (!text) return fail(std::move(text.error()));
  if (looks_like_csv(*text)) {
    return fail(wrong_kind(path, wanted, FileKind::measurements, command));
  }
  auto document = JsonDocument::parse(std::move(*text), path == "-" ? "<stdin>" : path);
  if (!document) return document;
  const FileKind found = kind_of(*document);
  if (found != wanted && found != FileKind::other) {
    return fail(wrong_kind(path, wanted, found, command));
  }
  return document;
}

std::optional<Diagnostic> not_a_table(const std::string& path) {
  if (path == "-") return std::nullopt;  // standard input is read once
  const auto document = JsonDocument::read(path);
  if (!document) return std::nullopt;
  return wrong_kind(path, FileKind::measurements, kind_of(*document), "validate");
}

Result<JsonDocument> scenario_document(const Arguments& arguments, const JsonDocument& schema,
                                       const std::string& path, std::string_view command) {
  auto document = read_input(path, FileKind::scenario, command);
  if (!document) return document;
  return scenario::with_overrides(*document, schema, arguments.values("set"));
}

}  // namespace flowplan::cli
