#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace flowplan::cli {

/// What a shell offers for a value.
struct Proposal {
  enum class Kind {
    nothing,  ///< free text: a number, a size
    words,    ///< some of `words`
    files,    ///< paths
    outputs,  ///< one of `words`, "=", a path
    names,    ///< ids of the catalog: what `flowplan catalog list` prints as names for `words`[0]
    paths,    ///< a path into a scenario and "=": what `flowplan schema --paths` prints
  };
  Kind kind = Kind::nothing;
  std::vector<std::string> words;
};

/// Of an option's value, by its choices and what its value is called; a flag has none.
[[nodiscard]] Proposal proposal(const Option& option);
[[nodiscard]] Proposal proposal(const Positional& positional);

/// The script that teaches a shell to complete `flowplan`; "bash", "zsh" or "fish".
[[nodiscard]] std::string bash_completion();
[[nodiscard]] std::string zsh_completion();
[[nodiscard]] std::string fish_completion();

}  // namespace flowplan::cli
