#include "completion.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "flowplan/estimate/metric.hpp"

namespace flowplan::cli {

namespace {

using Kind = Proposal::Kind;

/// What is offered for values of these names, which the table of commands uses.
struct Meaning {
  std::string_view value;
  Kind kind;
  std::string_view list;  ///< of the catalog, for names
};
constexpr std::array meanings{Meaning{"FILE", Kind::files, ""},
                              Meaning{"LOG", Kind::files, ""},
                              Meaning{"PATH", Kind::files, ""},
                              Meaning{"FOLDER", Kind::files, ""},
                              Meaning{"SCENARIO", Kind::files, ""},
                              Meaning{"FILE|DIR", Kind::files, ""},
                              Meaning{"CASE", Kind::files, ""},
                              Meaning{"BASE", Kind::files, ""},
                              Meaning{"NEW", Kind::files, ""},
                              Meaning{"RESULT", Kind::files, ""},
                              Meaning{"MEASUREMENTS", Kind::files, ""},
                              Meaning{"FORMAT=FILE", Kind::outputs, ""},
                              Meaning{"PATH=VALUE", Kind::paths, ""},
                              Meaning{"PATH=VALUES", Kind::paths, ""},
                              Meaning{"INSTANCE", Kind::names, "instances"},
                              Meaning{"MODEL", Kind::names, "models"},
                              Meaning{"SERVICE", Kind::names, "storage"},
                              Meaning{"ENTRY", Kind::names, "all"},
                              Meaning{"OTHER", Kind::names, "all"},
                              Meaning{"CONSTANTS", Kind::names, "constants"}};

std::vector<std::string> texts(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

Proposal of_value(std::string_view value, std::vector<std::string> words) {
  const auto found = std::find_if(meanings.begin(), meanings.end(),
                                  [&](const Meaning& one) { return one.value == value; });
  if (found != meanings.end() && found->kind == Kind::names)
    return {Kind::names, {std::string(found->list)}};
  if (found != meanings.end() && (found->kind == Kind::outputs || words.empty()))
    return {found->kind, std::move(words)};
  if (value == "METRIC") {
    for (const MetricInfo& metric : metric_registry())
      words.emplace_back(metric.id);
  } else if (value == "COMMAND") {
    for (const Command& command : commands())
      words.emplace_back(command.name.substr(0, command.name.find(' ')));
    words.erase(std::unique(words.begin(), words.end()), words.end());
  }
  if (words.empty()) return {};
  return {Kind::words, std::move(words)};
}

/// "words text json", as the scripts of bash and zsh take it; a flag has none.
std::string spelt(const Proposal& what) {
  switch (what.kind) {
    case Kind::words:
      return fmt::format("words {}", fmt::join(what.words, " "));
    case Kind::files:
      return "files";
    case Kind::outputs:
      return fmt::format("outputs {}", fmt::join(what.words, " "));
    case Kind::names:
      return fmt::format("names {}", what.words.front());
    case Kind::paths:
      return "paths";
    case Kind::nothing:
      break;
  }
  return "nothing";
}

/// First words of the commands with what they do; of a group what its first command does.
std::vector<std::pair<std::string, std::string>> first_words() {
  std::vector<std::pair<std::string, std::string>> words;
  for (const Command& command : commands()) {
    const std::string word(command.name.substr(0, command.name.find(' ')));
    if (words.empty() || words.back().first != word)
      words.emplace_back(word, std::string(command.about));
  }
  return words;
}

/// Commands of two words: the group, its actions.
std::vector<std::pair<std::string, std::vector<std::string>>> groups() {
  std::vector<std::pair<std::string, std::vector<std::string>>> found;
  for (const Command& command : commands()) {
    const std::size_t space = command.name.find(' ');
    if (space == std::string_view::npos) continue;
    const std::string group(command.name.substr(0, space));
    if (found.empty() || found.back().first != group) found.push_back({group, {}});
    found.back().second.emplace_back(command.name.substr(space + 1));
  }
  return found;
}

/// In single quotes, as bash and zsh read it.
std::string in_quotes(std::string_view text) {
  std::string result = "'";
  for (const char c : text)
    result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// In single quotes, as fish reads it.
std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

/// The functions that bash and zsh share: which options a command has, what a value may be.
std::string shared_functions() {
  std::string kinds, options;
  for (const Command& command : commands()) {
    std::vector<std::string> names;
    for (const Option& option : command.options) {
      const std::string name = fmt::format("--{}", option.name);
      names.push_back(name);
      std::string pattern = in_quotes(fmt::format("{} {}", command.name, name));
      if (option.letter != 0)
        pattern += "|" + in_quotes(fmt::format("{} -{}", command.name, option.letter));
      if (!option.value.empty())
        kinds += fmt::format("    {}) echo {} ;;\n", pattern, in_quotes(spelt(proposal(option))));
    }
    names.emplace_back("--help");
    options += fmt::format("    {}) echo {} ;;\n", in_quotes(command.name),
                           in_quotes(fmt::format("{}", fmt::join(names, " "))));
    for (std::size_t i = 0; i < command.positionals.size(); ++i) {
      const Positional& positional = command.positionals[i];
      kinds += fmt::format("    {}{}) echo {} ;;\n",
                           in_quotes(fmt::format("{} {}", command.name, i + 1)),
                           positional.most > 1 ? "*" : "", in_quotes(spelt(proposal(positional))));
    }
  }
  std::string text = "_flowplan_kind() {\n  case \"$1 $2\" in\n" + kinds + "  esac\n}\n";
  text += "_flowplan_options() {\n  case \"$1\" in\n" + options + "  esac\n}\n";
  text += "_flowplan_actions() {\n  case \"$1\" in\n";
  for (const auto& [group, actions] : groups())
    text += fmt::format("    {}) echo {} ;;\n", group,
                        in_quotes(fmt::format("{}", fmt::join(actions, " "))));
  return text + "  esac\n}\n";
}

constexpr std::string_view bash_functions = R"script(
# Offers what the kind of a value says for $cur.
_flowplan_offer() {
  case $1 in
    words) mapfile -t COMPREPLY < <(compgen -W "${*:2}" -- "$cur") ;;
    files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur") ;;
    outputs) compopt -o nospace 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -S = -W "${*:2}" -- "$cur") ;;
    names) mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" catalog list --kind "$2" \
      --format names 2>/dev/null)" -- "$cur") ;;
    paths) compopt -o nospace 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -S = -W "$("${COMP_WORDS[0]}" schema --paths \
        2>/dev/null)" -- "$cur") ;;
  esac
}

_flowplan() {
  local cur=${COMP_WORDS[COMP_CWORD]} before='' value='' command=${COMP_WORDS[1]} first=2
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _flowplan_offer words $_flowplan_commands --help --version
    return
  fi
  local actions
  actions=$(_flowplan_actions "$command")
  if [[ -n $actions ]]; then
    if ((COMP_CWORD == 2)); then
      _flowplan_offer words $actions
      return
    fi
    command+=" ${COMP_WORDS[2]}"
    first=3
  fi
  # Bash cuts words at '=': --format=json is three of them, as is json=result.json.
  if [[ $cur == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD-1]} value=yes cur=''
  elif [[ ${COMP_WORDS[COMP_CWORD-1]} == '=' ]]; then
    before=${COMP_WORDS[COMP_CWORD-2]} value=yes
  else
    before=${COMP_WORDS[COMP_CWORD-1]}
  fi
  local kind=''
  [[ $before != -* ]] || kind=$(_flowplan_kind "$command" "$before")
  if [[ -n $kind ]]; then
    _flowplan_offer $kind
  elif [[ -n $value ]]; then
    _flowplan_offer files
  elif [[ $cur == -* ]]; then
    _flowplan_offer words $(_flowplan_options "$command")
  else
    local i count=1
    for ((i = first; i < COMP_CWORD; ++i)); do
      if [[ ${COMP_WORDS[i]} == '=' ]]; then
        ((++i))
      elif [[ ${COMP_WORDS[i]} == -* ]]; then
        [[ ${COMP_WORDS[i+1]} == '=' || -z $(_flowplan_kind "$command" "${COMP_WORDS[i]}") ]] ||
          ((++i))
      else
        ((++count))
      fi
    done
    kind=$(_flowplan_kind "$command" "$count")
    _flowplan_offer ${kind:-$(_flowplan_kind "$command" 1+)}
  fi
}
complete -F _flowplan flowplan
)script";

constexpr std::string_view zsh_functions = R"script(
# Offers what the kind of a value says.
_flowplan_offer() {
  local -a offered
  case $1 in
    words) compadd -- "${@:2}" ;;
    files) _files ;;
    outputs)
      if compset -P '*='; then _files; else compadd -S = -- "${@:2}"; fi ;;
    names) offered=(${(f)"$($words[1] catalog list --kind $2 --format names 2>/dev/null)"})
      compadd -- $offered ;;
    paths) offered=(${(f)"$($words[1] schema --paths 2>/dev/null)"})
      compset -P '*=' || compadd -S = -- $offered ;;
  esac
}

_flowplan() {
  local command=$words[2] before=$words[CURRENT-1] kind='' actions
  integer i count=1 first=3
  if ((CURRENT == 2)); then
    _describe command _flowplan_commands
    return
  fi
  actions=$(_flowplan_actions $command)
  if [[ -n $actions ]]; then
    if ((CURRENT == 3)); then
      compadd -- ${=actions}
      return
    fi
    command+=" $words[3]"
    first=4
  fi
  if [[ $words[CURRENT] == --*=* ]]; then
    before=${words[CURRENT]%%=*}
    compset -P '*='
  fi
  [[ $before != -* ]] || kind=$(_flowplan_kind $command $before)
  if [[ -z $kind && $words[CURRENT] == -* ]]; then
    compadd -- ${=$(_flowplan_options $command)}
    return
  fi
  if [[ -z $kind ]]; then
    for ((i = first; i < CURRENT; ++i)); do
      if [[ $words[i] == -* ]]; then
        [[ $words[i] == *=* || -z $(_flowplan_kind $command $words[i]) ]] || ((++i))
      else
        ((++count))
      fi
    done
    kind=$(_flowplan_kind $command $count)
    kind=${kind:-$(_flowplan_kind $command 1+)}
  fi
  _flowplan_offer ${=kind}
}
)script";

constexpr std::string_view fish_functions = R"script(
# Whether the command line names that command.
function __flowplan_is
    set -l words (commandline -opc)
    test (count $words) -gt (count $argv); or return 1
    set -l last (math 1 + (count $argv))
    test "$words[2..$last]" = "$argv"
end
# What -o takes: a format, "=", a path.
function __flowplan_outputs
    set -l typed (commandline -ct)
    if string match -q '*=*' -- $typed
        set -l format (string split -m 1 = -- $typed)
        __fish_complete_path $format[2] | string replace -r '^' "$format[1]="
    else
        printf '%s=\n' $argv
    end
end
complete -c flowplan -f
)script";

std::string fish_value(const Proposal& what) {
  switch (what.kind) {
    case Kind::words:
      return fmt::format(" -x -a {}", fish_quoted(fmt::format("{}", fmt::join(what.words, " "))));
    case Kind::files:
      return " -r -F";
    case Kind::outputs:
      return fmt::format(" -x -a {}", fish_quoted(fmt::format("(__flowplan_outputs {})",
                                                              fmt::join(what.words, " "))));
    case Kind::names:
      return fmt::format(
          " -x -a {}",
          fish_quoted(fmt::format("(flowplan catalog list --kind {} --format names 2>/dev/null)",
                                  what.words.front())));
    case Kind::paths:
      return " -x -a '(flowplan schema --paths 2>/dev/null)='";
    case Kind::nothing:
      break;
  }
  return " -x";
}

}  // namespace

Proposal proposal(const Option& option) {
  return of_value(option.value, texts(option.choices.empty() ? option.proposals : option.choices));
}

Proposal proposal(const Positional& positional) {
  return of_value(positional.name, texts(positional.proposals));
}

std::string bash_completion() {
  std::vector<std::string> words;
  for (const auto& [word, about] : first_words())
    words.push_back(word);
  return fmt::format(
      "# bash completion of flowplan, made by `flowplan completion bash`.\n"
      "# shellcheck shell=bash disable=SC2046,SC2086,SC2207\n"
      "_flowplan_commands={}\n{}{}",
      in_quotes(fmt::format("{}", fmt::join(words, " "))), shared_functions(), bash_functions);
}

std::string zsh_completion() {
  std::string text =
      "#compdef flowplan\n# zsh completion of flowplan, made by `flowplan completion zsh`.\n"
      "typeset -ga _flowplan_commands=(\n";
  for (const auto& [word, about] : first_words())
    text += fmt::format("  {}\n", in_quotes(word + ":" + about));
  text += ")\n" + shared_functions() + std::string(zsh_functions);
  // Read as a function of $fpath the file itself completes; read by `source` it has to say so.
  return text +
         "\nif [[ ${funcstack[1]} == _flowplan ]]; then\n  _flowplan \"$@\"\n"
         "elif (( $+functions[compdef] )); then\n  compdef _flowplan flowplan\nfi\n";
}

std::string fish_completion() {
  std::string text = "# fish completion of flowplan, made by `flowplan completion fish`.\n";
  text += fish_functions;
  for (const auto& [word, about] : first_words())
    text += fmt::format("complete -c flowplan -n __fish_use_subcommand -a {} -d {}\n", word,
                        fish_quoted(about));
  for (const auto& [group, actions] : groups())
    text += fmt::format(
        "complete -c flowplan -n '__flowplan_is {0}; and not __fish_seen_subcommand_from {1}' "
        "-a '{1}'\n",
        group, fmt::join(actions, " "));
  for (const Command& command : commands()) {
    const std::string here =
        fmt::format("complete -c flowplan -n '__flowplan_is {}'", command.name);
    for (const Positional& positional : command.positionals) {
      const Proposal what = proposal(positional);
      if (what.kind == Kind::files)
        text += fmt::format("{} -F\n", here);
      else if (what.kind != Kind::nothing)
        text += fmt::format("{}{}\n", here, fish_value(what));
    }
    for (const Option& option : command.options) {
      text += fmt::format("{} -l {}", here, option.name);
      if (option.letter != 0) text += fmt::format(" -s {}", option.letter);
      if (!option.value.empty()) text += fish_value(proposal(option));
      text += fmt::format(" -d {}\n", fish_quoted(option.about));
    }
  }
  return text;
}

}  // namespace flowplan::cli
