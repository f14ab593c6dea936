#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/catalog/compare.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

enum class CatalogPart { all, instances, gpus, models, storage, prices, constants };

using ConstantsSets = std::vector<const catalog::Constants*>;

/// What the catalog holds, a table a kind; `sets` are all of its constants sets.
[[nodiscard]] Document catalog_list(const catalog::Catalog& catalog, const ConstantsSets& sets,
                                    CatalogPart part);
[[nodiscard]] std::string catalog_list_json(const catalog::Catalog& catalog,
                                            const ConstantsSets& sets, CatalogPart part);

/// Everything that is known of one entry, with sources.
[[nodiscard]] Document catalog_sheet(const catalog::Sheet& sheet);
[[nodiscard]] std::string catalog_sheet_json(const catalog::Sheet& sheet);

/// Two entries side by side.
[[nodiscard]] Document catalog_comparison(const catalog::Comparison& comparison);
[[nodiscard]] std::string catalog_comparison_json(const catalog::Comparison& comparison);

}  // namespace flowplan::report
