#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/base/text_file.hpp"

namespace flowplan::cli {

namespace {

constexpr std::size_t max_schema_bytes = 1u << 20;

int schema(const Arguments& arguments, Session& session) {
  const auto folder = catalog_folder(arguments, session);
  if (!folder) return refuse(session, folder.error());
  const std::string name = arguments.positionals.empty() ? "scenario" : arguments.positionals[0];
  const auto file = std::filesystem::path(*folder) / "schema" / (name + ".schema.json");
  const auto text = read_text(file.string(), max_schema_bytes);
  if (!text) {
    return refuse(session, error(Code::usage, fmt::format("there is no schema `{}`", name),
                                 "schemas: scenario, flow-case, result"));
  }
  return emit(arguments, session, {{"json", [&] { return *text; }}}, 0);
}

}  // namespace

Command schema_command() {
  return {"schema",
          "Print a JSON Schema (draft 7), for editors and other programs.",
          "An editor that knows the schema completes and checks scenario files while they are "
          "typed.",
          {{"NAME", "scenario (default), flow-case or result.", 0, 1}},
          {output_option(), catalog_option()},
          {{"schema > scenario.schema.json", "Save the schema of scenarios"}},
          schema};
}

}  // namespace flowplan::cli
