#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "help.hpp"

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

int help(const Arguments& arguments, Session& session) {
  if (arguments.has("markdown")) {
    session.out << reference_markdown();
    return 0;
  }
  if (arguments.has("diagnostics")) {
    session.out << diagnostics_markdown();
    return 0;
  }
  if (arguments.positionals.empty()) {
    session.out << overview();
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
    session.out << (first ? "" : "\n") << command_help(*command);
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
          {{"markdown", 0, "", "Print the whole reference as Markdown (docs/reference/cli.md)."},
           {"diagnostics", 0, "",
            "Print the table of diagnostic codes as Markdown (docs/reference/diagnostics.md)."}},
          {{"help collective", "How one command is used"}},
          help};
}

}  // namespace flowplan::cli
