#include "flowplan/collective/drain.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>

#include "flowplan/base/assert.hpp"

namespace flowplan::collective {
namespace {

/// How many values `topology::Tier` has.
constexpr std::size_t tier_count = 5;

struct Free {
  void operator()(double* memory) const { std::free(memory); }
};

/// Bytes times coefficient on each link. The system zeroes the memory lazily: a group of eight must
/// not pay for the links of ten thousand nodes.
class LinkLoads {
 public:
  explicit LinkLoads(std::size_t links)
      : amount_(static_cast<double*>(std::calloc(links, sizeof(double)))) {
    FLOWPLAN_ASSERT(amount_ != nullptr);
  }

  void add(const flow::Use& use, double bytes) {
    amount_.get()[flow::index(use.link)] += bytes * use.coefficient;
  }
  [[nodiscard]] double on(flow::LinkId link) const { return amount_.get()[flow::index(link)]; }

 private:
  std::unique_ptr<double, Free> amount_;
};

/// Times that differ by less are rounded differently.
constexpr double equal_times = 1e-9;

/// Of links that are as busy as each other, the first is named, however the flows come.
bool busier(Seconds time, flow::LinkId link, const TierLoad& than) {
  if (time > than.time * (1.0 + equal_times)) return true;
  return flow::index(link) < flow::index(than.link) && time >= than.time * (1.0 - equal_times);
}

std::vector<TierLoad> busiest(const topology::Cluster& cluster, const LinkLoads& loads,
                              const FlowLister& list) {
  std::array<TierLoad, tier_count> worst{};
  list([&](std::span<const flow::Use> uses, double bytes) {
    for (const flow::Use& use : uses) {
      const topology::Tier tier = cluster.tier(use.link);
      TierLoad& entry = worst[static_cast<std::size_t>(tier)];
      entry.tier = tier;
      entry.carried += Bytes(bytes);
      const Seconds time(loads.on(use.link) / cluster.capacity(use.link));
      if (entry.link == flow::no_link || busier(time, use.link, entry)) entry.link = use.link;
      entry.time = std::max(entry.time, time);
    }
  });
  std::vector<TierLoad> used;
  for (const TierLoad& entry : worst) {
    if (entry.link != flow::no_link) used.push_back(entry);
  }
  std::stable_sort(used.begin(), used.end(),
                   [](const TierLoad& a, const TierLoad& b) { return a.time > b.time; });
  return used;
}

}  // namespace

std::vector<std::vector<TierLoad>> drain(const topology::Cluster& cluster,
                                         std::span<const FlowLister> classes) {
  LinkLoads loads(cluster.links());
  for (const FlowLister& list : classes) {
    list([&](std::span<const flow::Use> uses, double bytes) {
      for (const flow::Use& use : uses)
        loads.add(use, bytes);
    });
  }
  std::vector<std::vector<TierLoad>> out;
  for (const FlowLister& list : classes)
    out.push_back(busiest(cluster, loads, list));
  return out;
}

}  // namespace flowplan::collective
