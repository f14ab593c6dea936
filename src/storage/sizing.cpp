#include "flowplan/storage/sizing.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace flowplan::storage {

namespace {

/// Steps that are looked at: 16 PiB in the smallest ones.
constexpr std::uint64_t most_steps = 8192;

bool sized_by_throughput(const catalog::StorageService& service) {
  return service.figure("throughput_step_mib_per_s").known;
}

Mount with_steps(const catalog::StorageService& service, Access access, std::uint64_t steps) {
  Mount mount;
  mount.service = &service;
  mount.access = access;
  if (sized_by_throughput(service)) {
    mount.throughput =
        mebibytes(service.get("throughput_step_mib_per_s", 0.0) * static_cast<double>(steps)) /
        Seconds(1.0);
    return mount;
  }
  if (access != Access::ena) {
    mount.capacity = gibibytes(service.get("efa_step_gib", 0.0) * static_cast<double>(steps));
    return mount;
  }
  // The minimum, then multiples of the step.
  const double least = service.get("minimum_gib", 0.0), step = service.get("step_gib", 0.0);
  const double later = step * static_cast<double>(least < step ? steps - 1 : steps);
  mount.capacity = gibibytes(std::max(least, later));
  return mount;
}

std::uint64_t steps_available(const catalog::StorageService& service) {
  if (!sized_by_throughput(service)) return most_steps;
  return static_cast<std::uint64_t>(service.get("throughput_most_mib_per_s", 0.0) /
                                    service.get("throughput_step_mib_per_s", 1.0));
}

/// Searches one type.
class TypeSearch {
 public:
  TypeSearch(const SizingQuestion& question, const catalog::StorageService& service)
      : question_(question), service_(service) {}

  Result<SizingRow> run() {
    std::uint64_t below = 0, above = steps_available(service_);
    auto largest = at(above);
    if (!largest) return fail(std::move(largest.error()));
    if (!meets(*largest)) return smallest_as_fast(std::move(*largest));
    SizingRow best = std::move(*largest);
    while (above - below > 1) {
      const std::uint64_t middle = below + (above - below) / 2;
      auto row = at(middle);
      if (!row) return fail(std::move(row.error()));
      if (meets(*row)) {
        best = std::move(*row);
        above = middle;
      } else {
        below = middle;
      }
    }
    best.meets = true;
    return best;
  }

 private:
  Result<SizingRow> at(std::uint64_t steps) const {
    SizingRow row;
    row.mount = with_steps(service_, question_.access, steps);
    row.steps = steps;
    auto timed = question_.time(row.mount);
    if (!timed) return fail(std::move(timed.error()));
    row.timed = std::move(*timed);
    return row;
  }

  [[nodiscard]] bool meets(const SizingRow& row) const {
    const bool room = sized_by_throughput(service_) || row.mount.capacity >= question_.holds;
    return room && row.timed.feasible && row.timed.time <= question_.target;
  }

  /// Nothing meets the target: the least that is as fast as the largest, to one in a thousand.
  Result<SizingRow> smallest_as_fast(SizingRow largest) const {
    constexpr double as_fast = 1.001;
    const Seconds time = largest.timed.time * as_fast;
    const std::string limit = largest.timed.limit, next = largest.timed.next;
    std::uint64_t below = 0, above = largest.steps;
    SizingRow best = std::move(largest);
    while (above - below > 1) {
      const std::uint64_t middle = below + (above - below) / 2;
      auto row = at(middle);
      if (!row) return fail(std::move(row.error()));
      if (row->timed.feasible && row->timed.time <= time) {
        best = std::move(*row);
        above = middle;
      } else {
        below = middle;
      }
    }
    // What binds is what no larger one lifts.
    best.timed.limit = limit;
    best.timed.next = next;
    return best;
  }

  const SizingQuestion& question_;
  const catalog::StorageService& service_;
};

bool better(const SizingRow& a, const SizingRow& b) {
  if (a.meets != b.meets) return a.meets;
  const double endless = std::numeric_limits<double>::infinity();
  const double price_a = a.month.usd ? a.month.usd->value() : endless;
  const double price_b = b.month.usd ? b.month.usd->value() : endless;
  if (price_a != price_b) return price_a < price_b;
  if (a.mount.capacity != b.mount.capacity) return a.mount.capacity < b.mount.capacity;
  return a.mount.service->id < b.mount.service->id;
}

}  // namespace

Result<std::vector<SizingRow>> size_file_system(const catalog::Catalog& catalog,
                                                const SizingQuestion& question) {
  if (question.target.value() <= 0.0)
    return fail(error(Code::bad_storage, "a target time has to be above 0"));
  std::vector<SizingRow> rows;
  for (const catalog::StorageService& service : catalog.storage_services()) {
    if (service.kind != catalog::StorageKind::lustre) continue;
    if (question.access != Access::ena && service.get("efa", 0.0) == 0.0) continue;
    auto row = TypeSearch(question, service).run();
    if (!row) return fail(std::move(row.error()));
    row->month = monthly_cost(catalog, row->mount, {}, question.region);
    rows.push_back(std::move(*row));
  }
  std::stable_sort(rows.begin(), rows.end(), better);
  return rows;
}

}  // namespace flowplan::storage
