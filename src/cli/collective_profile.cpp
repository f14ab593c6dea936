#include "collective_profile.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "flowplan/collective/profile.hpp"

namespace flowplan::cli {

Result<const catalog::Constants*> profile_from(const Arguments& arguments,
                                               const catalog::Catalog& catalog,
                                               const catalog::Instance& instance) {
  const std::string nccl = arguments.value("nccl").value_or("");
  const std::string plugin = arguments.value("plugin").value_or("");
  Diagnostics faults;
  for (const auto& [name, text] : {std::pair{"nccl", &nccl}, std::pair{"plugin", &plugin}}) {
    if (arguments.has(name) && !collective::holds_version(*text)) {
      faults.push_back(error(Code::usage, fmt::format("--{}: `{}` is not a version", name, *text),
                             "two numbers at least: 2.27, 1.16.3"));
    }
  }
  if (!faults.empty()) return fail(std::move(faults));
  return collective::find_profile(
      catalog, arguments.value("profile").value_or(instance.collective_profile), {nccl, plugin});
}

}  // namespace flowplan::cli
