// The scripts that `flowplan completion` prints, asked by the shells themselves. A program of our
// own stands for flowplan where the scripts ask it for names: these tests are of the scripts.
#include "../../src/cli/completion.hpp"

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "../../src/cli/command.hpp"
#include "../export/external_tool.hpp"
#include "../missing_tool.hpp"
#include "program.hpp"

namespace completion_test {

namespace {

using flowplan::exporting::has_tool;
using flowplan::exporting::run_tool;
using flowplan::exporting::ToolFolder;

/// A folder with the script, a program `flowplan` that knows two names and two paths, and a file.
class Shell {
 public:
  explicit Shell(const std::string& shell) : folder_("flowplan-completion-" + shell) {
    script_ = folder_.write("script", flowplan_run({"completion", shell}).out);
    const std::string program = folder_.write("flowplan",
                                              "#!/bin/sh\n"
                                              "case \"$*\" in\n"
                                              "  *'--kind instances'*) echo p5.48xlarge; "
                                              "echo p6-b200.48xlarge ;;\n"
                                              "  'schema --paths'*) echo workload.micro_batch; "
                                              "echo cluster.count ;;\n"
                                              "esac\n");
    chmod(program.c_str(), 0755);
    folder_.write("scenario.json", "{}");
  }
  [[nodiscard]] std::string script() const { return script_; }
  /// What a driver prints that is written in the shell's language.
  [[nodiscard]] std::string print(const std::string& shell, const std::string& driver) const {
    const std::string file = folder_.write("driver", driver);
    return run_tool("cd " + folder_.path() + " && PATH=" + folder_.path() +
                    ":$PATH HOME=" + folder_.path() + " " + shell + " " + file)
        .output;
  }

 private:
  ToolFolder folder_;
  std::string script_;
};

struct Case {
  std::vector<std::string> words;  ///< before the one that is completed
  std::string begun;
  std::string offered;  ///< must be among what is offered
  std::string not_offered;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {{}, "ru", "run", "plan"},
      {{"catalog"}, "", "compare", "run"},
      {{"run"}, "--nod", "--nodes", "--model"},
      {{"catalog", "list"}, "--ki", "--kind", "--format"},
      {{"run", "--format"}, "ma", "markdown", "json"},
      {{"check", "--format"}, "ju", "junit", "json"},
      {{"catalog", "list", "--kind"}, "mo", "models", "gpus"},
      {{"run", "--instance"}, "p5", "p5.48xlarge", "p6-b200.48xlarge"},
      {{"run", "x.json", "--set"}, "work", "workload.micro_batch=", "cluster.count="},
      {{"check", "x.json", "-o"}, "sa", "sarif=", "json="},
      {{"run"}, "scen", "scenario.json", "script"},
      {{"export"}, "slurm-a", "slurm-array", "slurm"},
      {{"export", "slurm"}, "scen", "scenario.json", "script"},
      {{"explain", "x.json"}, "training.mf", "training.mfu", "training.tokens_per_second"},
      {{"explain", "--set", "a=1", "x.json"}, "training.mf", "training.mfu", "scenario.json"},
      {{"check", "a.json", "b.json"}, "scen", "scenario.json", "script"},
      {{"collective"}, "all_g", "all_gather", "all_reduce"},
      {{"completion"}, "f", "fish", "bash"},
  };
  return all;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words)
    text += (text.empty() ? "" : " ") + word;
  return text;
}

/// The lines of the n-th answer; answers are parted by lines "--".
std::vector<std::vector<std::string>> answers(const std::string& output) {
  std::vector<std::vector<std::string>> all(1);
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    if (line == "--")
      all.emplace_back();
    else
      all.back().push_back(line.substr(0, line.find('\t')));
  }
  return all;
}

void check_answers(const std::string& output) {
  INFO(output);
  const auto all = answers(output);
  REQUIRE(all.size() == cases().size() + 1);
  for (std::size_t i = 0; i < cases().size(); ++i) {
    const Case& one = cases()[i];
    CAPTURE(joined(one.words), one.begun, all[i]);
    const auto has = [&](const std::string& word) {
      return std::find(all[i].begin(), all[i].end(), word) != all[i].end();
    };
    CHECK(has(one.offered));
    CHECK_FALSE(has(one.not_offered));
  }
}

}  // namespace

TEST_CASE("bash completes commands, options, values, names, keys and files", "[slow]") {
  const Shell shell("bash");
  std::string driver = "source " + shell.script() +
                       "\n"
                       "complete -p flowplan >/dev/null || echo not registered\n"
                       "ask() { COMP_WORDS=(flowplan \"$@\"); COMP_CWORD=$#; _flowplan; "
                       "printf '%s\\n' \"${COMPREPLY[@]}\"; echo --; }\n";
  for (const Case& one : cases())
    driver += "ask " + joined(one.words) + " '" + one.begun + "'\n";
  check_answers(shell.print("bash", driver));
  // Bash cuts words at '='.
  const std::string cut =
      shell.print("bash", "source " + shell.script() +
                              "\n"
                              "ask() { COMP_WORDS=(flowplan \"$@\"); COMP_CWORD=$#; _flowplan; "
                              "echo ${COMPREPLY[@]}; }\n"
                              "ask run --format = js\nask run --format =\nask run -o json = scen\n"
                              "ask explain --format = json x.json training.mf\n");
  CHECK(cut == "json\ntext markdown json html csv\nscenario.json\ntraining.mfu\n");
}

TEST_CASE("zsh completes the same", "[slow]") {
  if (!has_tool("zsh")) {
    missing_tool("skipped: zsh is not installed");
    return;
  }
  const Shell shell("zsh");
  // In place of the completion system: it prints what it is given.
  std::string driver =
      "compdef() { : }\n"
      "compset() { [[ $2 == '*=' && $PREFIX == *=* ]] && { PREFIX=${PREFIX#*=}; return 0 }; return "
      "1 }\n"
      "compadd() { local suffix=''; [[ $1 == -S ]] && { suffix=$2; shift 2 }; shift\n"
      "  local word; for word in $@; do [[ $word == $PREFIX* ]] && print -r -- $word$suffix; done; "
      "return 0 }\n"
      "_describe() { local word; for word in ${(P)2}; do [[ $word == $PREFIX* ]] && print -r -- "
      "${word%%:*}; done; return 0 }\n"
      "_files() { print -rl -- $PREFIX*(N) }\n"
      "source " +
      shell.script() +
      "\n"
      "ask() { words=(flowplan \"$@\"); CURRENT=$#words; PREFIX=$words[-1]; _flowplan; print -- "
      "'--' }\n";
  for (const Case& one : cases())
    driver += "ask " + joined(one.words) + " '" + one.begun + "'\n";
  check_answers(shell.print("zsh -f", driver));
}

TEST_CASE("fish completes the same", "[slow]") {
  if (!has_tool("fish")) {
    missing_tool("skipped: fish is not installed");
    return;
  }
  const Shell shell("fish");
  std::string driver = "source " + shell.script() + "\n";
  for (const Case& one : cases())
    driver += "complete -C 'flowplan " + joined(one.words) + (one.words.empty() ? "" : " ") +
              one.begun + "'\nprintf '\\055\\055\\n'\n";
  check_answers(shell.print("fish", driver));
}

TEST_CASE("every command, option and value of the table is in every shell's script", "[slow]") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = flowplan_run({"completion", shell}).out;
    for (const flowplan::cli::Command& command : flowplan::cli::commands()) {
      CAPTURE(shell, command.name);
      CHECK(contains(script, std::string(command.name.substr(0, command.name.find(' ')))));
      for (const flowplan::cli::Option& option : command.options) {
        CAPTURE(option.name);
        CHECK(contains(script,
                       (std::string(shell) == "fish" ? "-l " : "--") + std::string(option.name)));
        for (const auto& choice : option.choices)
          CHECK(contains(script, std::string(choice)));
      }
    }
  }
  const Ran other = flowplan_run({"completion", "tcsh"});
  CHECK(other.code == 2);
  CHECK(contains(other.err, "bash, zsh, fish"));
}

TEST_CASE("formats that completion offers are formats that the command has", "[slow]") {
  const std::string scenario = "scenarios/pretrain-llama3-70b-p5.json";
  const std::vector<std::vector<std::string>> commands{
      {"run", scenario},
      {"check", scenario},
      {"diff", scenario, "--set", "workload.micro_batch=1"},
      {"explain", scenario},
      {"catalog", "list", "--kind", "models"},
      {"catalog", "show", "p5.48xlarge"},
      {"catalog", "compare", "p5", "p5en"},
      {"collective", "all_reduce", "--instance", "p5", "-b", "1G"},
      {"io", "read", "--instance", "p5", "--bytes", "1TB", "--storage", "s3"},
      {"topology", "--instance", "p5"},
      {"flow", "tests/flow/cases/parking-lot.json"},
      {"plan", "--optimal-for", "1e24"},
      {"sweep", scenario, "--vary", "cluster.count=64"},
      {"schema"}};
  for (const std::vector<std::string>& args : commands) {
    const auto* command =
        flowplan::cli::find_command(args[0] == "catalog" ? args[0] + " " + args[1] : args[0]);
    REQUIRE(command != nullptr);
    for (const flowplan::cli::Option& option : command->options) {
      if (option.name != "format") continue;
      REQUIRE_FALSE(option.proposals.empty());
      for (const std::string_view format : option.proposals) {
        std::vector<std::string> with = args;
        with.insert(with.end(), {"--format", std::string(format)});
        CAPTURE(joined(with));
        CHECK(flowplan_run(with).code == 0);
      }
    }
  }
}

}  // namespace completion_test
