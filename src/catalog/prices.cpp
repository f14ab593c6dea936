#include "flowplan/catalog/prices.hpp"

#include <array>

#include <fmt/format.h>

#include "flowplan/base/diagnostic.hpp"

namespace flowplan::catalog {

namespace {

constexpr std::string_view between_regions = " and ";

bool is_commercial(std::string_view region) {
  for (const std::string_view other : {"us-gov-", "us-iso", "cn-", "eu-isoe-", "eusc-"}) {
    if (region.starts_with(other)) return false;
  }
  return true;
}

bool is_or_lies_in(std::string_view place, std::string_view region) {
  return place == region ||
         (place.starts_with(region) && place.size() > region.size() && place[region.size()] == '-');
}

}  // namespace

bool price_applies(std::string_view price_region, std::string_view region) {
  if (region.empty()) return true;
  if (price_region == "all listed commercial regions" || price_region == "most regions") {
    return is_commercial(region);
  }
  while (true) {
    const std::size_t end = price_region.find(between_regions);
    if (is_or_lies_in(price_region.substr(0, end), region)) return true;
    if (end == std::string_view::npos) return false;
    price_region.remove_prefix(end + between_regions.size());
  }
}

Result<std::vector<Price>> read_prices(const CsvTable& table) {
  Diagnostics faults;
  const auto at_line = [&](std::size_t line) {
    Place place;
    place.file = table.file();
    place.line = static_cast<int>(line);
    return place;
  };
  for (const char* column : {"instance", "purchase", "usd_per_hour", "region", "as_of", "source"}) {
    if (table.column(column)) continue;
    faults.push_back(error(Code::catalog_invalid, at_line(1),
                           fmt::format("the column `{}` is missing", column)));
  }
  if (!faults.empty()) return fail(std::move(faults));
  std::vector<Price> prices;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const auto usd = table.number(row, "usd_per_hour");
    if (!usd || *usd <= 0.0) {
      faults.push_back(error(Code::catalog_invalid, at_line(row + 2),
                             fmt::format("usd_per_hour is `{}`, expected a number above 0",
                                         table.text(row, "usd_per_hour"))));
      continue;
    }
    prices.push_back({table.text(row, "instance"), table.text(row, "purchase"), Usd(*usd),
                      table.text(row, "region"), table.text(row, "as_of"),
                      Source{table.text(row, "source"), table.text(row, "confidence"),
                             table.text(row, "note")}});
  }
  if (!faults.empty()) return fail(std::move(faults));
  return prices;
}

}  // namespace flowplan::catalog
