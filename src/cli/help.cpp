#include "help.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fault_place.hpp"

namespace flowplan::cli {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

constexpr ExitCode exit_code_table[] = {
    {0, "ok"},
    {1, "a check failed"},
    {2, "usage: the command line, or a value on it, cannot be meant"},
    {3, "a scenario or input file is not valid, or a figure or price is not known"},
    {4, "infeasible: the workload does not fit, or nothing meets the limits"},
    {5, "internal error"},
};

constexpr Variable variable_table[] = {
    {"FLOWPLAN_CATALOGS", "folder of the catalog to use instead of the installed one"},
    {"NO_COLOR", "no colour, whatever the terminal"},
};

constexpr std::string_view note_on_exit_codes =
    "Over several files the gravest counts: 5, 3, 4, 2, 1, 0. A workload that a check expects not "
    "to fit exits with 0. What is wrong with a value is 2 when it was typed (an option, --set, "
    "--vary) and 3 when it stands in a file.";

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines{""};
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) {
      lines.emplace_back();
    }
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string block(const Rows& rows) {
  constexpr std::size_t page = 96;
  constexpr std::size_t widest_name = 30;
  std::size_t names = 0;
  for (const auto& [name, about] : rows)
    names = std::max(names, std::min(name.size(), widest_name));
  std::string text;
  for (const auto& [name, about] : rows) {
    const auto lines = wrap(about, page - names - 4);
    text += fmt::format("  {:<{}}", name, names);
    if (name.size() > names) text += fmt::format("\n  {:<{}}", "", names);
    for (std::size_t i = 0; i < lines.size(); ++i)
      text += i == 0 ? fmt::format("  {}\n", lines[i])
                     : fmt::format("{:<{}}{}\n", "", names + 4, lines[i]);
  }
  return text;
}

std::string help_names(const Option& option) {
  std::string text;
  if (option.letter != 0) text = fmt::format("-{}, ", option.letter);
  text += fmt::format("--{}", option.name);
  if (!option.value.empty()) text += fmt::format(" {}", option.value);
  return text;
}

std::string usage(const Command& command) {
  std::string text = fmt::format("flowplan {}", command.name);
  for (const Positional& p : command.positionals) {
    const std::string dots = p.most > 1 ? "..." : "";
    text += p.least > 0 ? fmt::format(" {}{}", p.name, dots) : fmt::format(" [{}{}]", p.name, dots);
  }
  if (!command.options.empty()) text += " [OPTIONS]";
  return text;
}

std::string anchor(std::string_view name) {
  std::string text = fmt::format("flowplan-{}", name);
  std::replace(text.begin(), text.end(), ' ', '-');
  return text;
}

std::string cell(std::string text) {
  for (std::size_t at = text.find('|'); at != std::string::npos; at = text.find('|', at + 2))
    text.insert(at, "\\");
  return text;
}

}  // namespace

std::span<const ExitCode> exit_codes() {
  return exit_code_table;
}

std::string_view exit_code_note() {
  return note_on_exit_codes;
}

std::span<const Variable> variables() {
  return variable_table;
}

std::string about(const Option& option) {
  std::string text(option.about);
  if (!option.choices.empty()) text += fmt::format(" One of {}.", fmt::join(option.choices, ", "));
  if (option.repeatable) text += " Repeatable.";
  return text;
}

std::string first_steps() {
  return "flowplan predicts what a GPU cluster on EC2 does with a foundation model: speed, "
         "memory,\n"
         "bottlenecks, time, money. Try\n"
         "\n"
         "  flowplan run --model llama3-70b --instance p5.48xlarge --nodes 64 --tokens 15T\n"
         "      how fast it trains, whether it fits, what it costs\n"
         "  flowplan plan --model llama3-70b --tokens 15T --deadline 60d\n"
         "      the cheapest cluster and layout in time\n"
         "  flowplan collective all_reduce --instance p5.48xlarge --nodes 4 -b 8 -e 16G -f 2\n"
         "      what nccl-tests should show\n"
         "  flowplan init serving fleet.json && flowplan run fleet.json\n"
         "      a scenario file to change to yours\n"
         "  flowplan catalog list\n"
         "      instances, GPUs, models and prices that are known\n"
         "\n"
         "`flowplan help` lists all commands, `flowplan help COMMAND` explains one; `flowplan\n"
         "completion bash` lets your shell complete them.\n";
}

std::string overview() {
  std::string text = "Usage: flowplan COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands\n";
  Rows rows;
  for (const Command& command : commands())
    rows.emplace_back(command.name, command.about);
  text += block(rows);
  text += "\nExit codes\n";
  rows.clear();
  for (const ExitCode& code : exit_code_table)
    rows.emplace_back(fmt::format("{}", code.code), code.meaning);
  text += block(rows);
  for (const std::string& line : wrap(note_on_exit_codes, 94))
    text += fmt::format("  {}\n", line);
  text += "\nEnvironment\n";
  rows.clear();
  for (const Variable& variable : variable_table)
    rows.emplace_back(variable.name, variable.meaning);
  return text + block(rows) + "\n`flowplan help COMMAND` explains one command.\n";
}

std::string command_help(const Command& command) {
  std::string text = fmt::format("Usage: {}\n\n", usage(command));
  for (const std::string& line : wrap(command.about, 96))
    text += line + "\n";
  if (!command.details.empty()) {
    text += "\n";
    for (const std::string& line : wrap(command.details, 96))
      text += line + "\n";
  }
  if (!command.positionals.empty()) {
    Rows rows;
    for (const Positional& p : command.positionals)
      rows.emplace_back(p.name, p.about);
    text += "\nArguments\n" + block(rows);
  }
  Rows rows;
  for (const Option& option : command.options)
    rows.emplace_back(help_names(option), about(option));
  rows.emplace_back("-h, --help", "Show this help.");
  text += "\nOptions\n" + block(rows);
  if (!command.examples.empty()) {
    text += "\nExamples\n";
    for (const Example& example : command.examples)
      text += fmt::format("  # {}\n  flowplan {}\n", example.about, example.command);
  }
  return text;
}

std::string reference_markdown() {
  std::string text =
      "# Command reference\n\n"
      "Generated by `flowplan help --markdown`; do not edit.\n\n"
      "| command | what it does |\n| --- | --- |\n";
  for (const Command& command : commands())
    text += fmt::format("| [`flowplan {}`](#{}) | {} |\n", command.name, anchor(command.name),
                        cell(std::string(command.about)));
  text += "\n## Exit codes\n\n| code | meaning |\n| ---: | --- |\n";
  for (const ExitCode& code : exit_code_table)
    text += fmt::format("| {} | {} |\n", code.code, code.meaning);
  text += fmt::format("\n{}\n", note_on_exit_codes);
  text += "\n## Environment\n\n| variable | meaning |\n| --- | --- |\n";
  for (const Variable& variable : variable_table)
    text += fmt::format("| `{}` | {} |\n", variable.name, variable.meaning);
  for (const Command& command : commands()) {
    text += fmt::format("\n## flowplan {}\n\n{}\n\n```\n{}\n```\n", command.name, command.about,
                        usage(command));
    if (!command.details.empty()) text += fmt::format("\n{}\n", command.details);
    if (!command.positionals.empty() || !command.options.empty()) {
      text += "\n| | |\n| --- | --- |\n";
      for (const Positional& p : command.positionals)
        text += fmt::format("| `{}` | {} |\n", p.name, cell(std::string(p.about)));
      for (const Option& option : command.options)
        text += fmt::format("| `{}` | {} |\n", cell(help_names(option)), cell(about(option)));
    }
    if (!command.examples.empty()) {
      text += "\n```sh\n";
      for (const Example& example : command.examples)
        text += fmt::format("# {}\nflowplan {}\n", example.about, example.command);
      text += "```\n";
    }
  }
  return text;
}

std::string diagnostics_markdown() {
  std::string text =
      "# Diagnostics\n\n"
      "Generated by `flowplan help --diagnostics`; do not edit. Codes are stable: a number is "
      "never "
      "used again for something else. Where the exit code is \"3 or 2\", it is 2 for a value that "
      "was typed on the command line, and 3 for one in a file.\n\n"
      "| code | meaning | exit code |\n| --- | --- | ---: |\n";
  for (const CodeInfo& info : code_table())
    text +=
        fmt::format("| {} | {} | {}{} |\n", code_name(info.code), cell(std::string(info.meaning)),
                    info.exit_code, is_about_a_value(info.code) ? " or 2" : "");
  return text;
}

}  // namespace flowplan::cli
