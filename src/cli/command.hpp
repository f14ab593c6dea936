#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "arguments.hpp"
#include "session.hpp"

namespace flowplan::cli {

/// An option of a command. Parsing, help, the reference page, manual pages, suggestions and shell
/// completions all come from here. What `value` is called says what completion offers for it
/// (completion.hpp): FILE, INSTANCE, MODEL, PATH=VALUE and so on.
struct Option {
  std::string_view name;   ///< long, without dashes: "format"
  char letter = 0;         ///< short form, 0: none
  std::string_view value;  ///< what its value is called in help: "FILE"; empty: a flag
  std::string about;
  bool repeatable = false;
  std::vector<std::string_view> choices = {};    ///< allowed values; empty: any
  std::vector<std::string_view> proposals = {};  ///< what completion offers beside `choices`
};

struct Positional {
  std::string_view name;  ///< "SCENARIO"
  std::string_view about;
  std::size_t least = 0;
  std::size_t most = 1;
  std::vector<std::string_view> proposals = {};  ///< what completion offers
};

struct Example {
  std::string_view command;  ///< without the program's name
  std::string_view about;
};

/// One subcommand.
struct Command {
  std::string_view name;     ///< "run", or with its group: "catalog list"
  std::string_view about;    ///< one line
  std::string_view details;  ///< a paragraph; may be empty
  std::vector<Positional> positionals;
  std::vector<Option> options;
  std::vector<Example> examples;
  int (*run)(const Arguments& arguments, Session& session) = nullptr;
};

/// All subcommands, in the order of the help.
[[nodiscard]] const std::vector<Command>& commands();
/// The command of that full name; null when there is none.
[[nodiscard]] const Command* find_command(std::string_view name);

// One function a subcommand, each in a file of its own.
[[nodiscard]] Command run_command();
[[nodiscard]] Command plan_command();
[[nodiscard]] Command init_command();
[[nodiscard]] Command sweep_command();
[[nodiscard]] Command diff_command();
[[nodiscard]] Command check_command();
[[nodiscard]] Command explain_command();
[[nodiscard]] Command sensitivity_command();
[[nodiscard]] Command report_command();
[[nodiscard]] Command collective_command();
[[nodiscard]] Command io_command();
[[nodiscard]] Command topology_command();
[[nodiscard]] Command flow_command();
[[nodiscard]] Command replay_command();
[[nodiscard]] Command catalog_list_command();
[[nodiscard]] Command catalog_show_command();
[[nodiscard]] Command catalog_compare_command();
[[nodiscard]] Command catalog_import_command();
[[nodiscard]] Command import_jobs_command();
[[nodiscard]] Command import_log_command();
[[nodiscard]] Command validate_command();
[[nodiscard]] Command fit_command();
[[nodiscard]] Command export_command();
[[nodiscard]] Command schema_command();
[[nodiscard]] Command completion_command();
[[nodiscard]] Command help_command();
[[nodiscard]] Command version_command();

// Options that several commands share, so that they read the same everywhere.
/// --format; its help names `formats`, and completion offers them. The first is the default.
[[nodiscard]] Option format_option(const std::vector<std::string_view>& formats = {
                                       "text", "markdown", "json", "html", "csv"});
/// -o FORMAT=FILE; completion offers `formats`.
[[nodiscard]] Option output_option(const std::vector<std::string_view>& formats = {
                                       "text", "markdown", "json", "html", "csv"});
[[nodiscard]] Option full_option();
[[nodiscard]] Option catalog_option();
[[nodiscard]] Option set_option();

}  // namespace flowplan::cli
