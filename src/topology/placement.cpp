#include "flowplan/topology/placement.hpp"

#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "mix.hpp"

namespace flowplan::topology {
namespace {

/// SplitMix64, with its own increment: the same sequence on every platform.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  /// A number below `bound`; the bias of the remainder is below bound / 2^64.
  std::uint32_t below(std::uint32_t bound) {
    state_ += 0x9e3779b97f4a7c15u;
    return static_cast<std::uint32_t>(mix(state_) % bound);
  }

 private:
  std::uint64_t state_;
};

std::vector<std::uint32_t> order_of_domains(std::uint32_t domains, const PlacementSpec& spec) {
  std::vector<std::uint32_t> order(domains);
  std::iota(order.begin(), order.end(), 0u);
  if (spec.kind == PlacementKind::scattered) {
    Random random(spec.seed);
    for (std::uint32_t left = domains; left > 1; --left)
      std::swap(order[left - 1], order[random.below(left)]);
  }
  return order;
}

constexpr std::size_t axes = 4;

std::array<std::uint32_t, axes> extents(const Degrees& degrees) {
  return {static_cast<std::uint32_t>(degrees.tp), static_cast<std::uint32_t>(degrees.cp),
          static_cast<std::uint32_t>(degrees.dp), static_cast<std::uint32_t>(degrees.pp)};
}

/// Distance of neighbours along an axis, in ranks.
std::uint32_t stride(const std::array<std::uint32_t, axes>& extent, Axis axis) {
  std::uint32_t product = 1;
  for (std::size_t faster = 0; faster < static_cast<std::size_t>(axis); ++faster)
    product *= extent[faster];
  return product;
}

}  // namespace

std::string_view name(PlacementKind kind) {
  return kind == PlacementKind::contiguous ? "contiguous" : "scattered";
}

std::string_view name(Axis axis) {
  constexpr std::array<std::string_view, axes> names{"tp", "cp", "dp", "pp"};
  return names.at(static_cast<std::size_t>(axis));
}

std::uint64_t Degrees::product() const {
  FLOWPLAN_ASSERT(tp >= 1 && cp >= 1 && dp >= 1 && pp >= 1);
  std::uint64_t product = 1;
  for (const int degree : {tp, cp, dp, pp})
    product *= static_cast<std::uint64_t>(degree);
  return product;
}

Result<Placement> place(const Cluster& cluster, std::uint32_t ranks, const PlacementSpec& spec) {
  if (spec.gpus_per_domain > cluster.gpus_per_domain())
    return fail(
        error(Code::bad_placement, fmt::format("{} ranks on each NVLink domain, which has {} GPUs",
                                               spec.gpus_per_domain, cluster.gpus_per_domain())));
  const std::uint32_t per_domain =
      spec.gpus_per_domain == 0 ? cluster.gpus_per_domain() : spec.gpus_per_domain;
  const std::uint64_t room = std::uint64_t{per_domain} * cluster.domains();
  if (ranks < 1 || ranks > room)
    return fail(error(Code::bad_placement,
                      fmt::format("{} ranks do not fit on {} NVLink domains with {} GPUs each",
                                  ranks, cluster.domains(), per_domain),
                      fmt::format("1 to {}", room)));

  const std::vector<std::uint32_t> domain = order_of_domains(cluster.domains(), spec);
  Placement placement;
  placement.gpu.reserve(ranks);
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    placement.gpu.push_back(
        GpuId{domain[rank / per_domain] * cluster.gpus_per_domain() + rank % per_domain});
  return placement;
}

std::vector<std::vector<GpuId>> groups(const Placement& placement, const Degrees& degrees,
                                       Axis axis) {
  FLOWPLAN_ASSERT(degrees.product() == placement.ranks());
  const std::array<std::uint32_t, axes> extent = extents(degrees);
  const std::uint32_t size = extent[static_cast<std::size_t>(axis)];
  const std::uint32_t step = stride(extent, axis);

  std::vector<std::vector<GpuId>> result;
  result.reserve(placement.ranks() / size);
  for (std::uint32_t block = 0; block < placement.ranks(); block += size * step)
    for (std::uint32_t first = block; first < block + step; ++first) {
      std::vector<GpuId>& group = result.emplace_back();
      group.reserve(size);
      for (std::uint32_t i = 0; i < size; ++i)
        group.push_back(placement.gpu[first + i * step]);
    }
  return result;
}

std::vector<std::vector<GpuId>> pipeline_neighbours(const Placement& placement,
                                                    const Degrees& degrees, bool wrap) {
  FLOWPLAN_ASSERT(degrees.product() == placement.ranks());
  std::vector<std::vector<GpuId>> pairs;
  if (degrees.pp == 1) return pairs;
  const auto stages = static_cast<std::uint32_t>(degrees.pp);
  const std::uint32_t step = stride(extents(degrees), Axis::pp);
  const std::uint32_t senders = wrap ? stages : stages - 1;
  pairs.reserve(std::size_t{senders} * step);
  for (std::uint32_t stage = 0; stage < senders; ++stage)
    for (std::uint32_t i = 0; i < step; ++i)
      pairs.push_back(
          {placement.gpu[stage * step + i], placement.gpu[(stage + 1) % stages * step + i]});
  return pairs;
}

}  // namespace flowplan::topology
