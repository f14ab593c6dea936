#include "flowplan/storage/repository.hpp"

#include <utility>

#include <fmt/format.h>

namespace flowplan::storage {

void add_repository(const Clients& clients, const Mount& file_system, Direction direction,
                    const RepositoryRates& rates, Bytes bytes, double objects, Path& path) {
  const bool import = direction == Direction::read;
  const char* way = import ? "import" : "export";
  BytesPerSecond rate = rates.bytes;
  const bool rate_given = rate.value() > 0.0;
  const double share = clients.defaults->at("lustre.import_share");
  if (!rate_given)
    rate = (import ? disk_read_rate(file_system) : disk_write_rate(file_system)) * share;
  path.limits.push_back({fmt::format("repository.{}", way), fmt::format("{} link to S3", way),
                         rate.value(), true, 1.0,
                         rate_given ? fmt::format("{:.4g} GB/s as given", rate.value() / 1e9)
                                    : fmt::format("{:.0f} % of the disks", 100.0 * share),
                         rate_given ? "stated" : "measured"});
  const double objects_rate = rates.objects_per_s > 0.0
                                  ? rates.objects_per_s
                                  : clients.defaults->at("lustre.import_objects_per_s");
  if (objects > 0.0 && bytes.value() > 0.0) {
    path.limits.push_back({fmt::format("repository.{}_objects", way),
                           fmt::format("objects of the {} link to S3", way), objects_rate, true,
                           objects / bytes.value(),
                           fmt::format("{:.4g} objects a second, {:.4g} MB each", objects_rate,
                                       bytes.value() / objects / 1e6),
                           rates.objects_per_s > 0.0 ? "stated" : "measured"});
  }
  if (rate_given && (rates.objects_per_s > 0.0 || objects <= 0.0)) return;
  path.warnings.push_back(
      {"repository_rates",
       fmt::format("rates of {}s are not published: {:.4g} GB/s and {:.4g} objects/s come from one "
                   "user's import; give your own",
                   way, rate.value() / 1e9, objects_rate)});
}

Result<Answer> move_repository(const Clients& clients, const Mount& file_system,
                               Direction direction, const RepositoryRates& rates, Bytes bytes,
                               double objects) {
  if (file_system.service->kind != catalog::StorageKind::lustre)
    return fail(error(Code::bad_storage,
                      fmt::format("{} has no link to an object store", file_system.service->id),
                      "FSx for Lustre has"));
  if (bytes.value() <= 0.0) return fail(error(Code::bad_storage, "no bytes to move"));
  Diagnostics faults = check(file_system, clients);
  if (!faults.empty()) return fail(std::move(faults));
  const bool import = direction == Direction::read;
  Movement movement{import ? "import" : "export", {}, 1, bytes};
  // An import writes the file system's disks, an export reads them.
  const BytesPerSecond disk = import ? disk_write_rate(file_system) : disk_read_rate(file_system);
  movement.path.limits.push_back({import ? "lustre.disk_write" : "lustre.disk_read",
                                  "disks of the file system", disk.value(), true, 1.0,
                                  "provisioned", "vendor_claim"});
  add_repository(clients, file_system, direction, rates, bytes, objects, movement.path);
  return answer_of(import ? "io.import" : "io.export",
                   import ? "from S3 into the file system" : "from the file system to S3",
                   movement);
}

}  // namespace flowplan::storage
