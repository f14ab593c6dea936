#include <filesystem>
#include <ostream>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/base/text_file.hpp"
#include "help.hpp"
#include "manual.hpp"

namespace flowplan::cli {

namespace {

/// "catalog", then "catalog list": a group's name shows all its commands.
std::vector<const Command*> named(const std::string& name) {
  if (const Command* command = find_command(name)) return {command};
  std::vector<const Command*> group;
  for (const Command& command : commands()) {
    if (command.name.rfind(name + " ", 0) == 0) group.push_back(&command);
  }
  return group;
}

int write_pages(const std::string& folder, Session& session) {
  std::error_code trouble;
  std::filesystem::create_directories(folder, trouble);
  for (const auto& [name, text] : manual_pages()) {
    const auto written = write_text((std::filesystem::path(folder) / name).string(), text);
    if (!written) return refuse(session, written.error());
  }
  return 0;
}

/// What of a command is printed: its help, or its manual page.
std::string shown(const Command& command, bool as_manual) {
  return as_manual ? manual(command) : command_help(command);
}

int help(const Arguments& arguments, Session& session) {
  if (const auto folder = arguments.value("man-folder")) return write_pages(*folder, session);
  if (arguments.has("markdown")) {
    session.out << reference_markdown();
    return 0;
  }
  if (arguments.has("diagnostics")) {
    session.out << diagnostics_markdown();
    return 0;
  }
  if (arguments.positionals.empty()) {
    session.out << (arguments.has("man") ? manual() : overview());
    return 0;
  }
  const std::string name = fmt::format("{}", fmt::join(arguments.positionals, " "));
  const auto found = named(name);
  if (found.empty()) {
    std::vector<std::string> known;
    for (const Command& command : commands())
      known.emplace_back(command.name);
    return refuse(session, error(Code::usage, fmt::format("there is no command `{}`", name),
                                 suggest(name, known)));
  }
  bool first = true;
  for (const Command* command : found) {
    session.out << (first ? "" : "\n") << shown(*command, arguments.has("man"));
    first = false;
  }
  return 0;
}

}  // namespace

Command help_command() {
  return {"help",
          "Show all commands, or explain one.",
          "",
          {{"COMMAND", "The command to explain.", 0, 2}},
          {{"man", 0, "", "Print the manual page instead; `man -l -` shows it."},
           {"man-folder", 0, "FOLDER", "Write all manual pages there."},
           {"markdown", 0, "", "Print the whole reference as Markdown (docs/reference/cli.md)."},
           {"diagnostics", 0, "",
            "Print the table of diagnostic codes as Markdown (docs/reference/diagnostics.md)."}},
          {{"help collective", "How one command is used"},
           {"help --man run | man -l -", "The same as a manual page"}},
          help};
}

}  // namespace flowplan::cli
