#include "parse.hpp"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace flowplan::cli {

namespace {

std::vector<std::string> command_words() {
  std::vector<std::string> words;
  for (const Command& command : commands())
    words.emplace_back(command.name);
  return words;
}

/// The words after `group` of the commands that begin with it.
std::vector<std::string> actions(const std::string& group) {
  std::vector<std::string> words;
  for (const Command& command : commands()) {
    if (command.name.rfind(group + " ", 0) == 0) {
      words.emplace_back(command.name.substr(group.size() + 1));
    }
  }
  return words;
}

struct Found {
  const Command* command;
  std::size_t words;  ///< of `args` that name it
};

Result<Found> find(const std::vector<std::string>& args) {
  if (const Command* command = find_command(args[0])) return Found{command, 1};
  const auto known = actions(args[0]);
  if (known.empty()) {
    return fail(error(Code::usage, fmt::format("there is no command `{}`", args[0]),
                      suggest(args[0], command_words())));
  }
  if (args.size() < 2 || args[1].rfind('-', 0) == 0) {
    return fail(error(Code::usage, fmt::format("`{}` needs an action", args[0]),
                      fmt::format("one of {}", fmt::join(known, ", "))));
  }
  if (const Command* command = find_command(args[0] + " " + args[1])) return Found{command, 2};
  return fail(error(Code::usage, fmt::format("`{}` has no action `{}`", args[0], args[1]),
                    suggest(args[1], known)));
}

std::string parser_names(const Option& option) {
  std::string text = fmt::format("--{}", option.name);
  if (option.letter != 0) text += fmt::format(",-{}", option.letter);
  return text;
}

std::string usage_hint(const Command& command) {
  return fmt::format("`flowplan help {}` shows how it is used", command.name);
}

void check_unknown(const Command& command, const std::vector<std::string>& rest,
                   Diagnostics& faults) {
  std::vector<std::string> known;
  for (const Option& option : command.options)
    known.push_back(fmt::format("--{}", option.name));
  for (const std::string& word : rest) {
    if (word.rfind('-', 0) != 0) continue;
    const std::string name = word.substr(0, word.find('='));
    faults.push_back(error(Code::usage, fmt::format("`{}` has no option `{}`", command.name, name),
                           suggest(name, known)));
  }
}

void check_values(const Command& command, const Arguments& arguments, Diagnostics& faults) {
  for (const Option& option : command.options) {
    const auto values = arguments.values(option.name);
    if (values.size() > 1 && !option.repeatable) {
      faults.push_back(
          error(Code::usage, fmt::format("--{} is given {} times", option.name, values.size())));
    }
    if (option.choices.empty()) continue;
    const std::vector<std::string> choices(option.choices.begin(), option.choices.end());
    for (const std::string& value : values) {
      if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
        faults.push_back(error(Code::usage, fmt::format("--{} cannot be `{}`", option.name, value),
                               suggest(value, choices)));
      }
    }
  }
}

void check_positionals(const Command& command, const Arguments& arguments, Diagnostics& faults) {
  std::size_t least = 0;
  std::size_t most = 0;
  for (const Positional& positional : command.positionals) {
    if (arguments.positionals.size() < least + positional.least) {
      faults.push_back(error(Code::usage,
                             fmt::format("`{}` needs {}", command.name, positional.name),
                             usage_hint(command)));
      return;
    }
    least += positional.least;
    most += positional.most;
  }
  if (arguments.positionals.size() > most) {
    faults.push_back(
        error(Code::usage,
              fmt::format("`{}` does not take `{}`", command.name, arguments.positionals[most]),
              usage_hint(command)));
  }
}

}  // namespace

Result<Parsed> parse(const std::vector<std::string>& args) {
  auto found = find(args);
  if (!found) return fail(std::move(found.error()));
  const Command& command = *found->command;

  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::vector<std::vector<std::string>> values(command.options.size());
  std::vector<CLI::Option*> handles;
  for (std::size_t i = 0; i < command.options.size(); ++i) {
    const Option& option = command.options[i];
    handles.push_back(
        option.value.empty()
            ? app.add_flag(parser_names(option))
            : app.add_option(parser_names(option), values[i])
                  ->type_size(1)
                  ->expected(1)
                  ->take_all()
                  ->allow_extra_args(false));  // what follows the value is a positional
  }
  CLI::Option* help = app.add_flag("--help,-h");
  std::vector<std::string> positionals;
  app.add_option("rest", positionals);
  // CLI11 takes its arguments from the back.
  std::vector<std::string> rest(args.rbegin(),
                                args.rend() - static_cast<std::ptrdiff_t>(found->words));
  try {
    app.parse(rest);
  } catch (const CLI::ParseError& fault) {
    return fail(error(Code::usage, fmt::format("`{}`: {}", command.name, fault.what()),
                      usage_hint(command)));
  }

  Parsed parsed{&command, {}};
  for (std::size_t i = 0; i < handles.size(); ++i) {
    if (handles[i]->count() > 0) {
      parsed.arguments.options[std::string(command.options[i].name)] = std::move(values[i]);
    }
  }
  parsed.arguments.positionals = std::move(positionals);
  if (help->count() > 0) {
    parsed.arguments.options["help"] = {};
    return parsed;
  }
  Diagnostics faults;
  check_unknown(command, app.remaining(), faults);
  if (faults.empty()) check_values(command, parsed.arguments, faults);
  if (faults.empty()) check_positionals(command, parsed.arguments, faults);
  if (!faults.empty()) return fail(std::move(faults));
  return parsed;
}

}  // namespace flowplan::cli
