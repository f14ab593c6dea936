#include "manual.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "help.hpp"

namespace flowplan::cli {

namespace {

/// Text as roff takes it: no line of it is a request, and hyphens are those that are typed.
std::string roff(std::string_view text) {
  std::string result;
  bool starts_line = true;
  for (const char c : text) {
    if (starts_line && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    starts_line = c == '\n';
  }
  return result;
}

std::string page_name(const Command& command) {
  std::string name = fmt::format("flowplan-{}", command.name);
  std::replace(name.begin(), name.end(), ' ', '-');
  return name;
}

std::string head(std::string_view page, std::string_view about) {
  std::string title(page);
  std::transform(title.begin(), title.end(), title.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return fmt::format(
      ".\\\" Made by `flowplan help --man`; do not edit.\n"
      ".TH {} 1 {} \"flowplan {}\" \"flowplan manual\"\n.SH NAME\n{} \\- {}\n",
      roff(title), FLOWPLAN_RELEASE_DATE, FLOWPLAN_VERSION, roff(page), roff(about));
}

/// A sentence of the table as the NAME section has it: lower case, without its full stop.
std::string short_about(std::string_view about) {
  std::string text(about);
  if (text.ends_with('.')) text.pop_back();
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z' && text[0] >= 'A' && text[0] <= 'Z')
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  return text;
}

std::string tagged(std::string_view tag, std::string_view text) {
  return fmt::format(".TP\n{}\n{}\n", tag, roff(text));
}

std::string option_tag(const Option& option) {
  std::string tag = "\\fB";
  if (option.letter != 0) tag += fmt::format("\\-{}\\fR, \\fB", option.letter);
  tag += roff(fmt::format("--{}", option.name)) + "\\fR";
  if (!option.value.empty()) tag += fmt::format(" \\fI{}\\fR", roff(option.value));
  return tag;
}

std::string see_also(std::string_view page) {
  return fmt::format(".SH SEE ALSO\n.BR {} (1)\n", roff(page));
}

}  // namespace

std::string manual() {
  std::string text = head("flowplan", "predict what a GPU cluster does with a foundation model");
  text += ".SH SYNOPSIS\n.B flowplan\n.I COMMAND\n.RI [ ARGUMENTS ]\n.RI [ OPTIONS ]\n";
  text +=
      ".SH DESCRIPTION\nflowplan predicts how fast a cluster of Amazon EC2 GPU instances trains or "
      "serves a model,\nwhether the model fits in memory, what limits it, how long the run takes "
      "and what it costs at list price.\nResults go to standard output; progress, warnings and "
      "errors go to standard error.\n";
  text += ".SH COMMANDS\n";
  for (const Command& command : commands())
    text += tagged(fmt::format("\\fB{}\\fR", roff(command.name)), command.about);
  text += ".SH EXIT STATUS\n";
  for (const ExitCode& code : exit_codes())
    text += tagged(fmt::format("\\fB{}\\fR", code.code), code.meaning);
  text += fmt::format(".P\n{}\n", roff(exit_code_note()));
  text += ".SH ENVIRONMENT\n";
  for (const Variable& variable : variables())
    text += tagged(fmt::format("\\fB{}\\fR", variable.name), variable.meaning);
  text += ".SH EXAMPLES\n";
  for (const Command& command : commands()) {
    if (command.examples.empty()) continue;
    const Example& example = command.examples.front();
    text +=
        fmt::format(".TP\n{}\n\\fBflowplan {}\\fR\n", roff(example.about), roff(example.command));
  }
  text += ".SH SEE ALSO\n";
  for (const Command& command : commands())
    text += fmt::format(".BR {} (1){}\n", roff(page_name(command)),
                        &command == &commands().back() ? "" : ",");
  return text;
}

std::string manual(const Command& command) {
  std::string text = head(page_name(command), short_about(command.about));
  text += fmt::format(".SH SYNOPSIS\n.B flowplan {}\n", roff(command.name));
  for (const Positional& p : command.positionals) {
    const std::string_view dots = p.most > 1 ? " ..." : "";
    text += p.least > 0 ? fmt::format(".IR {}{}\n", roff(p.name), dots)
                        : fmt::format(".RI [ {} ]{}\n", roff(p.name), dots);
  }
  if (!command.options.empty()) text += ".RI [ OPTIONS ]\n";
  text += fmt::format(".SH DESCRIPTION\n{}\n", roff(command.about));
  if (!command.details.empty()) text += fmt::format(".P\n{}\n", roff(command.details));
  if (!command.positionals.empty()) {
    text += ".SH ARGUMENTS\n";
    for (const Positional& p : command.positionals)
      text += tagged(fmt::format("\\fI{}\\fR", roff(p.name)), p.about);
  }
  text += ".SH OPTIONS\n";
  for (const Option& option : command.options)
    text += tagged(option_tag(option), about(option));
  text += tagged("\\fB\\-h\\fR, \\fB\\-\\-help\\fR", "Show how the command is used.");
  if (!command.examples.empty()) {
    text += ".SH EXAMPLES\n";
    for (const Example& example : command.examples)
      text +=
          fmt::format(".TP\n{}\n\\fBflowplan {}\\fR\n", roff(example.about), roff(example.command));
  }
  return text + see_also("flowplan");
}

std::vector<std::pair<std::string, std::string>> manual_pages() {
  std::vector<std::pair<std::string, std::string>> pages{{"flowplan.1", manual()}};
  for (const Command& command : commands())
    pages.emplace_back(page_name(command) + ".1", manual(command));
  return pages;
}

}  // namespace flowplan::cli
