#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flowplan::cli {

/// What was typed for one command: options by their long name without dashes, and the rest.
struct Arguments {
  std::map<std::string, std::vector<std::string>, std::less<>> options;  ///< a flag has no values
  std::vector<std::string> positionals;

  [[nodiscard]] bool has(std::string_view option) const;
  /// The value given last; nothing when the option was not given.
  [[nodiscard]] std::optional<std::string> value(std::string_view option) const;
  /// All values in the order given.
  [[nodiscard]] std::vector<std::string> values(std::string_view option) const;
};

}  // namespace flowplan::cli
