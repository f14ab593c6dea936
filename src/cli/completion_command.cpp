#include <ostream>
#include <string>

#include <fmt/format.h>

#include "command.hpp"
#include "completion.hpp"

namespace flowplan::cli {

namespace {

int completion(const Arguments& arguments, Session& session) {
  const std::string& shell = arguments.positionals[0];
  if (shell == "bash")
    session.out << bash_completion();
  else if (shell == "zsh")
    session.out << zsh_completion();
  else if (shell == "fish")
    session.out << fish_completion();
  else
    return refuse(session, error(Code::usage, fmt::format("there is no completion for `{}`", shell),
                                 "one of bash, zsh, fish"));
  session.out << std::flush;
  return 0;
}

}  // namespace

Command completion_command() {
  return {"completion",
          "Print the script with which a shell completes flowplan's command lines.",
          "Completes commands, options, their values, files, names of the catalog and the keys of "
          "scenarios. A package installs the scripts; without one, read them as the examples show.",
          {{"SHELL", "bash, zsh or fish.", 1, 1, {"bash", "zsh", "fish"}}},
          {},
          {{"completion bash > ~/.local/share/bash-completion/completions/flowplan",
            "For bash, from the next shell on"},
           {"completion zsh > ~/.zfunc/_flowplan", "For zsh, with ~/.zfunc in fpath"},
           {"completion fish > ~/.config/fish/completions/flowplan.fish", "For fish"}},
          completion};
}

}  // namespace flowplan::cli
