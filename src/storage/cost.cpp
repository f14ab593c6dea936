#include "flowplan/storage/cost.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace flowplan::storage {

namespace {

using catalog::StorageKind;

Cost no_price_known(const catalog::StorageService& service, const std::string& what,
                    const std::string& region) {
  Cost cost;
  cost.why_not = fmt::format("no {} price of {} is known in {}", what, service.id, region);
  return cost;
}

}  // namespace

Cost monthly_cost(const catalog::Catalog& catalog, const Mount& mount, Bytes stored,
                  const std::string& region) {
  const catalog::StorageService& service = *mount.service;
  if (service.kind == StorageKind::local || service.kind == StorageKind::memory)
    return {Usd(0.0), {}, {}, {}};
  const Bytes billed = service.kind == StorageKind::lustre ? mount.capacity : stored;
  const auto price = catalog.storage_price(service.id, "gb_month", region);
  if (!price || billed.value() <= 0.0) return no_price_known(service, "storage", region);
  return {price->usd * (billed / gibibytes(1.0)), price->as_of, price->source.confidence, {}};
}

Cost request_cost(const catalog::Catalog& catalog, const Mount& mount, bool writes, Bytes bytes,
                  const std::string& region) {
  const catalog::StorageService& service = *mount.service;
  if (service.kind != StorageKind::object) return {Usd(0.0), {}, {}, {}};
  const auto price = catalog.storage_price(service.id, writes ? "put_1000" : "get_1000", region);
  if (!price) return no_price_known(service, writes ? "PUT" : "GET", region);
  constexpr double priced_together = 1000.0;
  const double requests = std::ceil(bytes.value() / (1e6 * service.get("part_mb", 8.0)));
  Cost cost{price->usd * (requests / priced_together), price->as_of, price->source.confidence, {}};
  const auto moved =
      catalog.storage_price(service.id, writes ? "upload_gb" : "retrieval_gb", region);
  if (moved) *cost.usd += moved->usd * (bytes / gibibytes(1.0));
  return cost;
}

}  // namespace flowplan::storage
