#include "flowplan/catalog/storage.hpp"

#include <array>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace flowplan::catalog {

namespace {

constexpr std::array<std::pair<StorageKind, std::string_view>, 6> storage_kinds{
    {{StorageKind::lustre, "lustre"},
     {StorageKind::object, "object"},
     {StorageKind::block, "block"},
     {StorageKind::file, "file"},
     {StorageKind::local, "local"},
     {StorageKind::memory, "memory"}}};

constexpr std::array<std::string_view, 5> lustre_figures{
    "network_mib_per_s_per_tib", "disk_read_mib_per_s_per_tib", "disk_write_mib_per_s_per_tib",
    "minimum_gib", "step_gib"};
constexpr std::array<std::string_view, 1> tiering_figures{"throughput_most_mib_per_s"};
constexpr std::array<std::string_view, 3> object_figures{"get_per_s_per_prefix",
                                                         "put_per_s_per_prefix", "part_mb"};
constexpr std::array<std::string_view, 1> block_figures{"volume_mib_per_s"};
constexpr std::array<std::string_view, 1> file_figures{"client_mib_per_s"};

/// Figures without which no rate of the service is known.
std::span<const std::string_view> needed(const StorageService& service) {
  switch (service.kind) {
    case StorageKind::lustre:
      if (service.figure("throughput_step_mib_per_s").known) return tiering_figures;
      return lustre_figures;
    case StorageKind::object:
      return object_figures;
    case StorageKind::block:
      return block_figures;
    case StorageKind::file:
      return file_figures;
    case StorageKind::local:
    case StorageKind::memory:
      break;
  }
  return {};
}

}  // namespace

std::string_view name(StorageKind kind) {
  for (const auto& [value, text] : storage_kinds) {
    if (value == kind) return text;
  }
  return {};
}

std::optional<StorageKind> find_storage_kind(std::string_view wanted) {
  for (const auto& [value, text] : storage_kinds) {
    if (text == wanted) return value;
  }
  return std::nullopt;
}

double StorageService::get(std::string_view wanted, double otherwise) const {
  const Figure found = figure(wanted);
  return found.known ? found.value : otherwise;
}

std::vector<std::string> faults_of(const StorageService& service) {
  std::vector<std::string> faults;
  for (const std::string_view wanted : needed(service)) {
    if (!service.figure(wanted).known) faults.push_back(fmt::format("`{}` must be known", wanted));
  }
  for (const Fact& fact : service.facts) {
    if (!fact.figure.known || fact.is_flag || fact.figure.value > 0.0) continue;
    faults.push_back(fmt::format("`{}` is {}, expected more than 0", fact.name, fact.figure.value));
  }
  return faults;
}

}  // namespace flowplan::catalog
