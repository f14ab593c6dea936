#pragma once

#include <string>
#include <string_view>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::collective {

/// Versions of a software stack as their makers write them: "2.18.5", "1.7.3-aws". Empty, or
/// without a number: current.
struct Versions {
  std::string_view nccl, plugin;
};

/// Whether a text holds a version: two numbers with a dot between them.
[[nodiscard]] bool holds_version(std::string_view text);

/// The constants set of a stack with those versions. A set "ID-ncclX.Y" stands for NCCL up to X.Y
/// over the fabric of set ID, "ID-pluginX.Y" for a network plugin up to X.Y; of several the lowest
/// that is not below the version. What no set stands for is taken as current: set ID itself. NCCL's
/// version goes before the plugin's. Errors FP030: no set ID.
[[nodiscard]] Result<const catalog::Constants*> find_profile(const catalog::Catalog& catalog,
                                                             std::string_view id,
                                                             const Versions& versions);
/// "NCCL 2.99 by the tables of 2.30, the newest known", when the version is newer than the set
/// knows; else nothing. Plugins have no such limit: their tables are read at a commit.
[[nodiscard]] std::string newer_than_known(const catalog::Constants& set, const Versions& versions);

}  // namespace flowplan::collective
