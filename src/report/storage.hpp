#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flowplan/report/document.hpp"
#include "flowplan/scenario/storage.hpp"
#include "json_format.hpp"

namespace flowplan::report {

/// Lines for the summary: I/O bound or not, what a save costs.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> storage_facts(
    const scenario::StorageAnswer& answer);
/// A movement's links: how wide each is and how full.
[[nodiscard]] Table storage_links(const std::vector<storage::LimitUse>& limits);
/// The dataset's and the checkpoints' ways, link by link.
[[nodiscard]] std::vector<Section> storage_sections(const scenario::StorageAnswer& answer);
/// `storage` of the result.
[[nodiscard]] Json storage_json(const scenario::StorageAnswer& answer);

}  // namespace flowplan::report
