#include "arguments.hpp"

namespace flowplan::cli {

bool Arguments::has(std::string_view option) const {
  return options.find(option) != options.end();
}

std::optional<std::string> Arguments::value(std::string_view option) const {
  const auto found = options.find(option);
  if (found == options.end() || found->second.empty()) return std::nullopt;
  return found->second.back();
}

std::vector<std::string> Arguments::values(std::string_view option) const {
  const auto found = options.find(option);
  return found == options.end() ? std::vector<std::string>{} : found->second;
}

}  // namespace flowplan::cli
