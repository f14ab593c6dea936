#include "layout.hpp"

#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"

namespace flowplan::flow {
namespace {

/// Pulls up to this add up exactly over any number of flows that fits in memory.
constexpr double largest_exact_pull = 1 << 20;

bool positive(double value) {
  return value > 0.0 && std::isfinite(value);
}

void check(const Network& network, const FlowSet& flows) {
  for (const double capacity : network.capacity)
    FLOWPLAN_ASSERT(positive(capacity));
  FLOWPLAN_ASSERT(flows.first_use.size() == flows.size() + 1);
  FLOWPLAN_ASSERT(flows.first_use.back() == flows.link.size());
  FLOWPLAN_ASSERT(flows.link.size() == flows.coefficient.size());
  std::vector<std::uint32_t> last_flow(network.size(), 0);  // 1 + the last flow seen on a link
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    FLOWPLAN_ASSERT(flows.bytes[f] >= 0.0 && std::isfinite(flows.bytes[f]));
    FLOWPLAN_ASSERT(flows.start_s[f] >= 0.0 && std::isfinite(flows.start_s[f]));
    FLOWPLAN_ASSERT(flows.cap_per_s[f] > 0.0);
    FLOWPLAN_ASSERT(positive(flows.weight[f]));
    FLOWPLAN_ASSERT(flows.first_use[f] < flows.first_use[f + 1] ||
                    std::isfinite(flows.cap_per_s[f]));
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      FLOWPLAN_ASSERT(index(flows.link[u]) < network.size());
      FLOWPLAN_ASSERT(positive(flows.coefficient[u]));
      FLOWPLAN_ASSERT(last_flow[index(flows.link[u])] != f + 1);
      last_flow[index(flows.link[u])] = f + 1;
    }
  }
}

/// The uses of each link: those of link l are `use[first[l]]` up to `use[first[l + 1]]`.
struct UsesByLink {
  std::vector<std::uint32_t> first, flow, use;
};

UsesByLink uses_by_link(const Network& network, const FlowSet& flows) {
  UsesByLink by_link;
  by_link.first.assign(network.size() + 1, 0);
  for (const LinkId link : flows.link)
    ++by_link.first[index(link) + 1];
  for (std::size_t l = 0; l < network.size(); ++l)
    by_link.first[l + 1] += by_link.first[l];
  std::vector<std::uint32_t> next(by_link.first.begin(), by_link.first.end() - 1);
  by_link.flow.resize(flows.link.size());
  by_link.use.resize(flows.link.size());
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      const std::uint32_t slot = next[index(flows.link[u])]++;
      by_link.flow[slot] = f;
      by_link.use[slot] = u;
    }
  }
  return by_link;
}

/// Finds the links that another link always binds before.
class Domination {
 public:
  Domination(const Network& network, const FlowSet& flows)
      : network_(network), flows_(flows), by_link_(uses_by_link(network, flows)) {}

  [[nodiscard]] bool dominated(LinkId link) {
    const std::uint32_t begin = by_link_.first[index(link)];
    const std::uint32_t end = by_link_.first[index(link) + 1];
    candidates_.clear();
    for (std::uint32_t slot = begin; slot < end; ++slot) {
      narrow(link, slot, slot == begin);
      if (candidates_.empty()) return false;
    }
    return std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
      const std::size_t other = index(candidate.link);
      const bool same_flows = by_link_.first[other + 1] - by_link_.first[other] == end - begin;
      // Of two links that dominate each other the first one stays.
      return !(same_flows && !candidate.tighter && link < candidate.link);
    });
  }

 private:
  struct Candidate {
    LinkId link;
    bool tighter;  // for one flow at least
  };

  [[nodiscard]] double part_of_capacity(std::uint32_t use) const {
    return flows_.coefficient[use] / network_.capacity[index(flows_.link[use])];
  }

  /// Keeps the candidates that the flow in `slot` crosses and fills no less than `link`.
  void narrow(LinkId link, std::uint32_t slot, bool first) {
    const std::uint32_t f = by_link_.flow[slot];
    const double part = part_of_capacity(by_link_.use[slot]);
    kept_.clear();
    for (std::uint32_t u = flows_.first_use[f]; u < flows_.first_use[f + 1]; ++u) {
      if (flows_.link[u] == link || part_of_capacity(u) < part) continue;
      const bool tighter = part_of_capacity(u) > part;
      if (first) {
        kept_.push_back({flows_.link[u], tighter});
        continue;
      }
      const auto same = std::find_if(candidates_.begin(), candidates_.end(),
                                     [&](const auto& c) { return c.link == flows_.link[u]; });
      if (same != candidates_.end()) kept_.push_back({same->link, same->tighter || tighter});
    }
    candidates_.swap(kept_);
  }

  const Network& network_;
  const FlowSet& flows_;
  UsesByLink by_link_;
  std::vector<Candidate> candidates_, kept_;
};

constexpr std::uint32_t unused = ~std::uint32_t{0};

/// Per link of the network: how many flows cross it, or `unused` where the solver need not know it.
std::vector<std::uint32_t> count_members(const Network& network, const FlowSet& flows,
                                         Redundant redundant) {
  std::vector<std::uint32_t> members(network.size(), 0);
  for (const LinkId link : flows.link)
    ++members[index(link)];
  std::replace(members.begin(), members.end(), std::uint32_t{0}, unused);
  if (redundant == Redundant::keep) return members;
  Domination domination(network, flows);
  for (std::uint32_t l = 0; l < network.size(); ++l) {
    if (members[l] != unused && domination.dominated(LinkId{l})) members[l] = unused;
  }
  return members;
}

double cap_level(const Network& network, const FlowSet& flows, std::uint32_t f) {
  double tightest = unlimited;
  for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
    tightest = std::min(tightest, network.capacity[index(flows.link[u])] / flows.coefficient[u]);
  }
  return flows.cap_per_s[f] < tightest ? flows.cap_per_s[f] / flows.weight[f] : unlimited;
}

}  // namespace

Layout lay_out(const Network& network, const FlowSet& flows, Redundant redundant) {
  check(network, flows);
  // Turned in place from members of a link into its row among the used ones.
  std::vector<std::uint32_t> row = count_members(network, flows, redundant);
  Layout layout;
  std::uint32_t hops = 0;
  for (std::uint32_t l = 0; l < network.size(); ++l) {
    if (row[l] == unused) continue;
    layout.links.push_back({LinkId{l}, hops});
    hops += row[l];
    row[l] = static_cast<std::uint32_t>(layout.links.size() - 1);
  }
  layout.hops.reserve(hops);
  layout.first_hop.reserve(flows.size() + 1);
  layout.first_hop.push_back(0);
  layout.cap_level.reserve(flows.size());
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      const std::uint32_t link = row[index(flows.link[u])];
      if (link == unused) continue;
      const double pull = flows.coefficient[u] * flows.weight[f];
      layout.integral &= pull <= largest_exact_pull && pull == std::floor(pull);
      layout.hops.push_back({link, 0, pull});
    }
    layout.first_hop.push_back(static_cast<std::uint32_t>(layout.hops.size()));
    layout.cap_level.push_back(cap_level(network, flows, f));
  }
  return layout;
}

}  // namespace flowplan::flow
