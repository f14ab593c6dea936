#include "flowplan/cli/run.hpp"

#include <charconv>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <ostream>
#include <string_view>
#include <system_error>

#include <unistd.h>

#include "command.hpp"
#include "help.hpp"
#include "parse.hpp"

namespace flowplan::cli {

namespace {

constexpr int internal_error = 5;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Slurm counts the tasks of an array from where its user says; shards count from 0.
void read_array_job(Environment& environment) {
  environment.array_index = variable("SLURM_ARRAY_TASK_ID");
  environment.array_count = variable("SLURM_ARRAY_TASK_COUNT");
  if (environment.array_count.empty()) {
    environment.array_index = variable("JOB_COMPLETION_INDEX");
    environment.array_count = variable("JOB_COMPLETION_COUNT");
    return;
  }
  long long id = 0, first = 0;
  const std::string least = variable("SLURM_ARRAY_TASK_MIN");
  const auto read = [](const std::string& text, long long& value) {
    return std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc{};
  };
  if (read(environment.array_index, id) && read(least, first))
    environment.array_index = std::to_string(id - first);
}

/// The first of LC_ALL, LC_CTYPE and LANG that is set decides, as POSIX says.
bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != std::string::npos || value.find("utf8") != std::string::npos;
  }
  return false;
}

int dispatch(const std::vector<std::string>& args, Session& session) {
  if (args.empty()) {
    session.out << first_steps();
    return 0;
  }
  if (args[0] == "--help" || args[0] == "-h") {
    session.out << overview();
    return 0;
  }
  if (args[0] == "--version" || args[0] == "-V") return find_command("version")->run({}, session);
  if (args.size() == 2 && (args[1] == "--help" || args[1] == "-h") && !find_command(args[0]))
    return dispatch({"help", args[0]}, session);  // a group: "catalog"
  const auto parsed = parse(args);
  if (!parsed) return refuse(session, parsed.error());
  if (parsed->arguments.has("help")) {
    session.out << command_help(*parsed->command);
    return 0;
  }
  return parsed->command->run(parsed->arguments, session);
}

}  // namespace

Environment process_environment() {
  Environment environment;
  environment.catalogs = variable("FLOWPLAN_CATALOGS");
  std::error_code ignored;
  environment.program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  read_array_job(environment);
  environment.github_actions = variable("GITHUB_ACTIONS") == "true";
  environment.github_step_summary = variable("GITHUB_STEP_SUMMARY");
  environment.unicode = utf8_locale();
  environment.err_terminal = isatty(STDERR_FILENO) != 0;
  environment.out_terminal = isatty(STDOUT_FILENO) != 0;
  environment.out_colour = environment.out_terminal && variable("NO_COLOR").empty();
  return environment;
}

int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  Environment environment = process_environment();
  if (&out != &std::cout) environment.out_colour = environment.out_terminal = false;
  if (&err != &std::cerr) environment.err_terminal = false;
  return run(args, out, err, environment);
}

int run(const std::vector<std::string>& args, std::ostream& out, std::ostream& err,
        const Environment& environment) {
  try {
    Session session{out, err, environment};
    return dispatch(args, session);
  } catch (const std::exception& fault) {
    err << "flowplan: internal error: " << fault.what()
        << "\n  please report it with the command line and its input files\n";
    return internal_error;
  }
}

}  // namespace flowplan::cli
