#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/csv_table.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/hardware.hpp"

namespace flowplan::catalog {

/// Whether a price published for `price_region` holds in `region` ("us-east-1"): the same region;
/// one of several ("us-gov-east-1 and us-gov-west-1"); any commercial region for "all listed
/// commercial regions" and "most regions"; a Local Zone of it ("us-east-1-dfw"). An empty `region`
/// asks for all.
[[nodiscard]] bool price_applies(std::string_view price_region, std::string_view region);

/// Reads instance, purchase, usd_per_hour, region, as_of, source, confidence, note. Errors FP033
/// for a missing column or a price that is not a number > 0.
[[nodiscard]] Result<std::vector<Price>> read_prices(const CsvTable& table);

}  // namespace flowplan::catalog
