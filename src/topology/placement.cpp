#include "flowplan/topology/placement.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "flowplan/topology/degradation.hpp"
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

void shuffle(std::vector<std::uint32_t>& order, std::uint64_t seed) {
  Random random(seed);
  for (auto left = static_cast<std::uint32_t>(order.size()); left > 1; --left)
    std::swap(order[left - 1], order[random.below(left)]);
}

/// What of each domain can have ranks.
class Seats {
 public:
  Seats(const Cluster& cluster, const PlacementSpec& spec)
      : cluster_(cluster),
        most_(spec.gpus_per_domain == 0 ? cluster.gpus_per_domain() : spec.gpus_per_domain),
        failed_(failed_gpus(cluster)),
        all_alike_(cluster.spec().wiring == nullptr && failed_.empty()) {}

  /// The GPUs of a domain that take ranks, the first `most_` of them.
  [[nodiscard]] std::vector<GpuId> of(std::uint32_t domain) const {
    std::vector<GpuId> seats;
    const std::uint32_t first = domain * cluster_.gpus_per_domain();
    for (std::uint32_t gpu = first; gpu < first + cluster_.gpus_per_domain(); ++gpu)
      if (seats.size() < most_ &&
          (all_alike_ || (cluster_.takes_ranks(cluster_.node_of(GpuId{gpu})) &&
                          !std::binary_search(failed_.begin(), failed_.end(), GpuId{gpu}))))
        seats.push_back(GpuId{gpu});
    return seats;
  }
  [[nodiscard]] std::uint32_t count(std::uint32_t domain) const {
    return all_alike_ ? most_ : static_cast<std::uint32_t>(of(domain).size());
  }
  [[nodiscard]] std::uint32_t count() const {
    if (all_alike_) return most_ * cluster_.domains();
    std::uint32_t all = 0;
    for (std::uint32_t domain = 0; domain < cluster_.domains(); ++domain)
      all += count(domain);
    return all;
  }

 private:
  const Cluster& cluster_;
  std::uint32_t most_;
  std::vector<GpuId> failed_;  ///< in order
  bool all_alike_;
};

/// The domains below every leaf; one group where there are no leaves.
std::vector<std::vector<std::uint32_t>> domains_by_leaf(const Cluster& cluster) {
  std::vector<std::vector<std::uint32_t>> groups(std::max(1u, cluster.leaves()));
  for (std::uint32_t domain = 0; domain < cluster.domains(); ++domain) {
    const GpuId first{domain * cluster.gpus_per_domain()};
    groups[cluster.has_nics() ? cluster.leaf_of(first) : 0].push_back(domain);
  }
  groups.erase(
      std::remove_if(groups.begin(), groups.end(), [](const auto& group) { return group.empty(); }),
      groups.end());
  return groups;
}

/// As a scheduler that knows the switches would: the smallest leaf that holds what is left, else
/// the largest one and so on.
std::vector<std::uint32_t> fewest_leaves(const Cluster& cluster, const Seats& seats,
                                         std::uint32_t ranks) {
  struct Leaf {
    std::vector<std::uint32_t> domains;
    std::uint32_t seats = 0;
  };
  std::vector<Leaf> leaves;
  for (std::vector<std::uint32_t>& group : domains_by_leaf(cluster)) {
    Leaf& leaf = leaves.emplace_back();
    for (const std::uint32_t domain : group)
      leaf.seats += seats.count(domain);
    leaf.domains = std::move(group);
  }
  std::stable_sort(leaves.begin(), leaves.end(),
                   [](const Leaf& a, const Leaf& b) { return a.seats > b.seats; });
  std::vector<std::uint32_t> order;
  while (!leaves.empty()) {
    // Descending, so the last one that holds the rest is the smallest of those; of equals the
    // first.
    auto take = leaves.begin();
    for (auto leaf = leaves.begin(); leaf != leaves.end(); ++leaf)
      if (leaf->seats >= ranks && leaf->seats < take->seats) take = leaf;
    order.insert(order.end(), take->domains.begin(), take->domains.end());
    ranks -= std::min(ranks, take->seats);
    leaves.erase(take);
  }
  return order;
}

std::vector<std::uint32_t> leaves_in_turn(const Cluster& cluster) {
  const auto groups = domains_by_leaf(cluster);
  std::vector<std::uint32_t> order;
  for (std::size_t turn = 0; order.size() < cluster.domains(); ++turn)
    for (const auto& group : groups)
      if (turn < group.size()) order.push_back(group[turn]);
  return order;
}

std::vector<std::uint32_t> order_of_domains(const Cluster& cluster, const Seats& seats,
                                            std::uint32_t ranks, const PlacementSpec& spec) {
  if (spec.kind == PlacementKind::by_leaf) return fewest_leaves(cluster, seats, ranks);
  if (spec.kind == PlacementKind::spread) return leaves_in_turn(cluster);
  std::vector<std::uint32_t> order(cluster.domains());
  std::iota(order.begin(), order.end(), 0u);
  if (spec.kind == PlacementKind::scattered) shuffle(order, spec.seed);
  if (spec.kind == PlacementKind::by_ultraserver)
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return seats.count(a) > seats.count(b);
    });
  return order;
}

/// Node by node as the file lists them, no more than `most` GPUs of a domain.
Placement in_file_order(const Cluster& cluster, std::uint32_t ranks, std::uint32_t most) {
  Placement placement;
  std::vector<std::uint32_t> taken(cluster.domains(), 0);
  const std::vector<GpuId> failed = failed_gpus(cluster);
  for (const std::uint32_t node : cluster.spec().wiring->listed)
    for (std::uint32_t local = 0; local < cluster.gpus_per_node(); ++local) {
      const GpuId gpu{node * cluster.gpus_per_node() + local};
      if (placement.ranks() == ranks || taken[cluster.domain_of(gpu)] == most) continue;
      if (std::binary_search(failed.begin(), failed.end(), gpu)) continue;
      ++taken[cluster.domain_of(gpu)];
      placement.gpu.push_back(gpu);
    }
  return placement;
}

constexpr std::array<std::string_view, 6> kinds{"contiguous", "scattered",      "by-leaf",
                                                "spread",     "by-ultraserver", "imported"};

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
  return kinds.at(static_cast<std::size_t>(kind));
}

std::optional<PlacementKind> find_placement(std::string_view name) {
  const auto found = std::find(kinds.begin(), kinds.end(), name);
  if (found == kinds.end()) return std::nullopt;
  return static_cast<PlacementKind>(found - kinds.begin());
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

std::uint32_t room(const Cluster& cluster, const PlacementSpec& spec) {
  return Seats(cluster, spec).count();
}

Result<Placement> place(const Cluster& cluster, std::uint32_t ranks, const PlacementSpec& spec) {
  if (spec.gpus_per_domain > cluster.gpus_per_domain())
    return fail(
        error(Code::bad_placement, fmt::format("{} ranks on each NVLink domain, which has {} GPUs",
                                               spec.gpus_per_domain, cluster.gpus_per_domain())));
  const std::uint32_t per_domain =
      spec.gpus_per_domain == 0 ? cluster.gpus_per_domain() : spec.gpus_per_domain;
  const std::uint64_t seats = room(cluster, spec);
  if (ranks < 1 || ranks > seats)
    return fail(error(Code::bad_placement,
                      fmt::format("{} ranks do not fit on {} NVLink domains with {} GPUs each{}",
                                  ranks, cluster.domains(), per_domain,
                                  failed_gpus(cluster).empty() ? "" : " but for the failed ones"),
                      fmt::format("1 to {}", seats)));
  if (spec.kind == PlacementKind::imported) {
    if (cluster.spec().wiring == nullptr)
      return fail(error(Code::bad_placement, "only an imported cluster has an order of its own",
                        "give a topology file, or contiguous"));
    return in_file_order(cluster, ranks, per_domain);
  }
  const Seats in(cluster, spec);
  Placement placement;
  placement.gpu.reserve(ranks);
  for (const std::uint32_t domain : order_of_domains(cluster, in, ranks, spec)) {
    if (placement.ranks() == ranks) break;
    for (const GpuId gpu : in.of(domain))
      if (placement.ranks() < ranks) placement.gpu.push_back(gpu);
  }
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
