#include "flowplan/storage/mount.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/parse_quantity.hpp"

namespace flowplan::storage {

namespace {

using catalog::StorageKind;

constexpr std::array access_names{std::pair{Access::ena, std::string_view("ena")},
                                  std::pair{Access::efa, std::string_view("efa")},
                                  std::pair{Access::gds, std::string_view("gds")}};

constexpr double gib_per_tib = 1024.0;
constexpr double aws_gib_per_tib = 1000.0;  // AWS's "1.2 TiB" is 1,200 GiB

bool tiering(const catalog::StorageService& service) {
  return service.figure("throughput_step_mib_per_s").known;
}

double gib(Bytes amount) {
  return amount / gibibytes(1.0);
}

double tib(Bytes amount) {
  return gib(amount) / gib_per_tib;
}

BytesPerSecond mib_per_s(double n) {
  return mebibytes(n) / Seconds(1.0);
}

/// Of a rate per TiB; the burst figure where asked for and there is one.
BytesPerSecond per_tib(const Mount& mount, const char* base, const char* burst) {
  const double rate = mount.service->get(base, 0.0);
  return mib_per_s(tib(mount.capacity) *
                   (mount.burst ? std::max(rate, mount.service->get(burst, rate)) : rate));
}

/// What a Lustre file system is made of: over EFA in other steps than without.
double step_gib(const catalog::StorageService& service, Access access) {
  return access == Access::ena ? service.get("step_gib", 0.0) : service.get("efa_step_gib", 0.0);
}

double least_gib(const catalog::StorageService& service, Access access) {
  return access == Access::ena ? service.get("minimum_gib", 0.0) : step_gib(service, access);
}

void check_capacity(const Mount& mount, Diagnostics& faults) {
  const catalog::StorageService& service = *mount.service;
  if (mount.capacity.value() <= 0.0) {
    faults.push_back(
        error(Code::bad_storage, fmt::format("{} needs a capacity", service.id),
              fmt::format("the smallest is {:.0f} GiB", least_gib(service, mount.access))));
    return;
  }
  const std::vector<Bytes> near = orderable(service, mount.access, mount.capacity);
  if (near.size() == 1 && near[0] == mount.capacity) return;
  std::string hint = "the nearest that can be ordered:";
  for (std::size_t i = 0; i < near.size(); ++i)
    hint += fmt::format("{} {:.0f} GiB", i == 0 ? "" : " and", gib(near[i]));
  faults.push_back(
      error(Code::bad_storage,
            fmt::format("{:.0f} GiB of {}{} is not on a step of {:.0f} GiB", gib(mount.capacity),
                        service.id, mount.access == Access::ena ? "" : " with EFA",
                        step_gib(service, mount.access)),
            std::move(hint)));
}

void check_tiering(const Mount& mount, Diagnostics& faults) {
  const catalog::StorageService& service = *mount.service;
  const double step = service.get("throughput_step_mib_per_s", 1.0);
  const double most = service.get("throughput_most_mib_per_s", step);
  if (mount.capacity.value() > 0.0)
    faults.push_back(error(Code::bad_storage,
                           fmt::format("{} has no provisioned capacity", service.id),
                           "give its throughput: capacity grows with the data"));
  const double asked = mount.throughput / mib_per_s(1.0);
  const double steps = std::round(asked / step);
  if (steps >= 1.0 && asked <= most && std::abs(asked - steps * step) < 1e-6 * step) return;
  const double below = std::floor(asked / step) * step, above = std::ceil(asked / step) * step;
  faults.push_back(
      error(Code::bad_storage,
            fmt::format("a throughput of {:.0f} MiB/s of {} is not on a step", asked, service.id),
            asked > most   ? fmt::format("at most {:.0f} MiB/s", most)
            : below < step ? fmt::format("the least is {:.0f} MiB/s", step)
                           : fmt::format("{:.0f} or {:.0f} MiB/s", below, above)));
}

void check_access(const Mount& mount, const Clients& clients, Diagnostics& faults) {
  if (mount.access == Access::ena) return;
  const catalog::StorageService& service = *mount.service;
  if (service.kind != StorageKind::lustre) {
    faults.push_back(error(Code::bad_storage, fmt::format("{} is not reached over EFA", service.id),
                           "only FSx for Lustre is"));
    return;
  }
  if (service.get("efa", 0.0) == 0.0) {
    faults.push_back(
        error(Code::bad_storage, fmt::format("{} has no EFA", service.id),
              "PERSISTENT_2 SSD with a metadata configuration has it, and Intelligent-Tiering"));
  }
  if (clients.efa.value() <= 0.0 || clients.node->efa_version == 0) {
    faults.push_back(
        error(Code::bad_storage,
              fmt::format("{} has no EFA to reach a file system with", clients.node->id),
              "leave out the access over EFA"));
  }
}

void check_metadata(const Mount& mount, const Clients& clients, Diagnostics& faults) {
  if (mount.metadata_iops == 0.0) return;
  const catalog::StorageService& service = *mount.service;
  if (service.get("metadata_configurable", 0.0) == 0.0) {
    faults.push_back(error(Code::bad_storage,
                           fmt::format("metadata IOPS of {} cannot be chosen", service.id),
                           "those of PERSISTENT_2 and Intelligent-Tiering can"));
    return;
  }
  const std::span<const double> steps = clients.defaults->table("lustre.metadata_steps");
  const double most = clients.defaults->at("lustre.metadata_most");
  const double last = steps.back();
  const bool listed = std::find(steps.begin(), steps.end(), mount.metadata_iops) != steps.end();
  const bool multiple = std::fmod(mount.metadata_iops, last) == 0.0 && mount.metadata_iops > 0.0;
  if ((listed || multiple) && mount.metadata_iops <= most) return;
  std::string hint;
  for (const double step : steps)
    hint += fmt::format("{:.0f}, ", step);
  faults.push_back(error(Code::bad_storage,
                         fmt::format("{:.0f} metadata IOPS are not on a step", mount.metadata_iops),
                         fmt::format("{}then multiples of {:.0f} up to {:.0f}", hint, last, most)));
}

}  // namespace

std::string_view name(Access access) {
  for (const auto& [value, text] : access_names) {
    if (value == access) return text;
  }
  return {};
}

std::optional<Access> find_access(std::string_view wanted) {
  for (const auto& [value, text] : access_names) {
    if (text == wanted) return value;
  }
  return std::nullopt;
}

Result<Clients> clients_of(const catalog::Catalog& catalog, const topology::Cluster& cluster) {
  const auto defaults = catalog.constants("storage-defaults");
  if (!defaults) return fail(defaults.error());
  const auto fabric = catalog.constants("fabric-defaults");
  if (!fabric) return fail(fabric.error());
  const catalog::Instance& unit = *cluster.spec().instance;
  Clients clients;
  clients.node = &unit;
  if (!unit.member.empty()) {
    const auto member = catalog.instance(unit.member);
    if (!member) return fail(member.error());
    clients.node = *member;
  }
  clients.gpu = cluster.spec().gpu != nullptr ? cluster.spec().gpu : &catalog.gpu_of(unit);
  clients.defaults = *defaults;
  clients.fabric = *fabric;
  clients.nodes = cluster.nodes();
  clients.gpus_per_node = static_cast<int>(cluster.gpus_per_node());
  clients.efa = unit.efa_per_gpu() * static_cast<double>(clients.gpus_per_node);
  if (clients.node->host_memory_mib.known)
    clients.host_memory = mebibytes(clients.node->host_memory_mib.value);
  return clients;
}

BytesPerSecond host_copy_rate(const Clients& clients) {
  const catalog::Figure c2c =
      catalog::figure_of(clients.gpu->facts, "c2c_gbytes_per_s_per_direction");
  if (c2c.known)
    return gigabytes_per_second(c2c.value * clients.defaults->at("host.c2c_copy_share"));
  const std::span<const double> lines = clients.fabric->table("pcie.x16_gbytes_per_s");
  constexpr int first_generation = 3;
  const catalog::Figure generation = catalog::figure_of(clients.node->facts, "pcie_generation");
  // Reference systems do not say: the GPU's own generation.
  const int own = clients.gpu->generation == catalog::GpuGeneration::ampere ? 4 : 5;
  const int wanted = generation.known ? static_cast<int>(generation.value) : own;
  const int row = std::clamp(wanted - first_generation, 0, static_cast<int>(lines.size()) - 1);
  return gigabytes_per_second(lines[static_cast<std::size_t>(row)] *
                              clients.defaults->at("host.copy_share"));
}

Diagnostics check(const Mount& mount, const Clients& clients) {
  Diagnostics faults;
  const catalog::StorageService& service = *mount.service;
  check_access(mount, clients, faults);
  if (service.kind == StorageKind::lustre) {
    const bool efa_asked = mount.access != Access::ena;
    if (tiering(service)) {
      check_tiering(mount, faults);
    } else if (!efa_asked || service.get("efa", 0.0) != 0.0) {
      check_capacity(mount, faults);
    }
    check_metadata(mount, clients, faults);
  } else if (mount.capacity.value() > 0.0) {
    faults.push_back(error(Code::bad_storage,
                           fmt::format("{} has no capacity to choose", service.id),
                           "leave it out"));
  }
  if (service.kind == StorageKind::local &&
      !(clients.node->nvme_total_gb.known && clients.node->nvme_total_gb.value > 0.0)) {
    faults.push_back(error(Code::bad_storage,
                           fmt::format("{} has no local disks that are known", clients.node->id),
                           "choose another storage service"));
  }
  if (mount.prefixes < 1 || mount.connections < 0) {
    faults.push_back(error(Code::bad_storage, "prefixes are at least 1, connections at least 0"));
  }
  return faults;
}

std::vector<Bytes> orderable(const catalog::StorageService& service, Access access,
                             Bytes capacity) {
  const double step = step_gib(service, access), least = least_gib(service, access);
  if (step <= 0.0) return {};
  const double asked = gib(capacity);
  if (asked <= least) return {gibibytes(least)};
  const double below = std::max(least, std::floor(asked / step) * step);
  const double above = std::ceil(asked / step) * step;
  if (below == above) return {gibibytes(below)};
  return {gibibytes(below), gibibytes(above)};
}

Result<TypedCapacity> parse_capacity(std::string_view text, const catalog::StorageService& service,
                                     Access access) {
  const auto typed = parse_bytes(text);
  if (!typed) return fail(typed.error());
  const auto on_step = [&](Bytes capacity) {
    const std::vector<Bytes> near = orderable(service, access, capacity);
    return near.size() == 1 && near[0] == capacity;
  };
  TypedCapacity result{*typed, {}};
  if (on_step(*typed) || !text.ends_with("TiB")) return result;
  const Bytes as_aws = gibibytes(std::round(tib(*typed) * aws_gib_per_tib));
  if (!on_step(as_aws)) return result;
  result.capacity = as_aws;
  result.read_as =
      fmt::format("{} as AWS counts: {:.0f} GiB, {:.5g} TiB", text, gib(as_aws), tib(as_aws));
  return result;
}

BytesPerSecond network_rate(const Mount& mount) {
  if (tiering(*mount.service)) return mount.throughput;
  return per_tib(mount, "network_mib_per_s_per_tib", "network_burst_mib_per_s_per_tib");
}

BytesPerSecond disk_read_rate(const Mount& mount) {
  if (tiering(*mount.service)) return mount.throughput;
  return per_tib(mount, "disk_read_mib_per_s_per_tib", "disk_read_burst_mib_per_s_per_tib");
}

BytesPerSecond disk_write_rate(const Mount& mount) {
  if (tiering(*mount.service)) return mount.throughput;
  return per_tib(mount, "disk_write_mib_per_s_per_tib", "disk_write_burst_mib_per_s_per_tib");
}

Bytes server_cache(const Mount& mount) {
  return gibibytes(tib(mount.capacity) * mount.service->get("cache_gib_per_tib", 0.0));
}

std::uint64_t targets(const Mount& mount) {
  const catalog::StorageService& service = *mount.service;
  if (tiering(service)) {
    const double step = service.get("throughput_step_mib_per_s", 1.0);
    return static_cast<std::uint64_t>(
        std::max(1.0, std::round(mount.throughput / mib_per_s(step))));
  }
  const double size = mount.access == Access::ena
                          ? service.get("ost_gib", 0.0)
                          : service.get("efa_ost_gib", service.get("ost_gib", 0.0));
  if (size <= 0.0) return 1;
  return static_cast<std::uint64_t>(std::max(1.0, std::floor(gib(mount.capacity) / size)));
}

double metadata_rate(const Mount& mount, const catalog::Constants& defaults) {
  double iops = mount.metadata_iops;
  if (iops == 0.0) {
    const std::span<const double> steps = defaults.table("lustre.metadata_steps");
    const std::span<const double> upto = defaults.table("lustre.metadata_automatic_gib");
    const double asked = gib(mount.capacity);
    iops = steps[1];
    if (tiering(*mount.service)) {
      iops = steps[2];
    } else {
      std::size_t row = 0;
      while (row + 1 < steps.size() && asked > upto[row])
        ++row;
      iops = steps[row] * std::max(1.0, std::floor(asked / upto.back()));
    }
  }
  return iops * defaults.at("lustre.metadata_opens_per_iops");
}

std::uint64_t default_stripes(Bytes file, const catalog::Constants& defaults) {
  const std::span<const double> upto = defaults.table("lustre.layout_mib");
  const std::span<const double> stripes = defaults.table("lustre.layout_stripes");
  std::size_t row = 0;
  while (row < upto.size() && file / mebibytes(1.0) > upto[row])
    ++row;
  return static_cast<std::uint64_t>(stripes[std::min(row, stripes.size() - 1)]);
}

std::string describe(const Mount& mount) {
  const catalog::StorageService& service = *mount.service;
  if (service.kind != StorageKind::lustre) return service.name;
  const char* way = mount.access == Access::ena   ? "ENA"
                    : mount.access == Access::efa ? "EFA"
                                                  : "EFA and GPUDirect Storage";
  if (tiering(service))
    return fmt::format("{}, {:.0f} MiB/s, over {}", service.name, mount.throughput / mib_per_s(1.0),
                       way);
  return fmt::format("{}, {:.0f} GiB, over {}", service.name, gib(mount.capacity), way);
}

}  // namespace flowplan::storage
