#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/planner/diff.hpp"

namespace flowplan::cli {

/// A file's answer for `command`: of a saved result what it says, of a scenario what running it
/// with the overrides gives.
[[nodiscard]] Result<planner::Side> answer_side(const catalog::Catalog& catalog,
                                                const JsonDocument& schema, const std::string& path,
                                                const std::vector<std::string>& overrides,
                                                std::string_view command);

}  // namespace flowplan::cli
