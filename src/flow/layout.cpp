#include "layout.hpp"

#include <algorithm>
#include <cmath>
#include <span>

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

/// The flows on each link: those of link l are `flow[first[l]]` up to `flow[first[l + 1]]`.
struct FlowsByLink {
  std::vector<std::uint32_t> first, flow;

  [[nodiscard]] std::span<const std::uint32_t> of(LinkId link) const {
    return {flow.data() + first[index(link)], flow.data() + first[index(link) + 1]};
  }
};

FlowsByLink flows_by_link(const Network& network, const FlowSet& flows) {
  FlowsByLink by_link;
  // While it is filled, a link's first slot stands one place further on.
  by_link.first.assign(network.size() + 2, 0);
  for (const LinkId link : flows.link)
    ++by_link.first[index(link) + 2];
  for (std::size_t l = 2; l < by_link.first.size(); ++l)
    by_link.first[l] += by_link.first[l - 1];
  by_link.flow.resize(flows.link.size());
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      by_link.flow[by_link.first[index(flows.link[u]) + 1]++] = f;
    }
  }
  return by_link;
}

/// Comparisons of links that the search for redundant ones may take, for each use. Paths of some
/// ten hops take less; very long ones, which every link would be looked up in, more than it saves.
constexpr std::size_t looks_a_use = 64;

/// Finds the links that another link always binds before, as long as that is quickly done.
class Domination {
 public:
  Domination(const Network& network, const FlowSet& flows)
      : network_(network),
        flows_(flows),
        by_link_(flows_by_link(network, flows)),
        looks_left_(looks_a_use * flows.link.size()) {}

  [[nodiscard]] bool dominated(LinkId link) {
    const std::span<const std::uint32_t> users = by_link_.of(link);
    candidates_.clear();
    for (const std::uint32_t f : users) {
      narrow(link, f, f == users.front());
      if (candidates_.empty() || looks_left_ == 0) return false;
    }
    return std::any_of(candidates_.begin(), candidates_.end(), [&](const Candidate& candidate) {
      const bool same_flows = by_link_.of(candidate.link).size() == users.size();
      // Of two links that dominate each other the first one stays.
      return !(same_flows && !candidate.tighter && link < candidate.link);
    });
  }

 private:
  struct Candidate {
    LinkId link;
    bool tighter;  // for one flow at least
  };

  [[nodiscard]] std::uint32_t find_use(std::uint32_t f, LinkId link) const {
    const LinkId* begin = flows_.link.data();
    const LinkId* end = begin + flows_.first_use[f + 1];
    return static_cast<std::uint32_t>(std::find(begin + flows_.first_use[f], end, link) - begin);
  }

  /// Keeps the candidates that the flow crosses and fills no less than `link`.
  void narrow(LinkId link, std::uint32_t f, bool first) {
    const std::uint32_t end = flows_.first_use[f + 1];
    if (first) {
      for (std::uint32_t u = flows_.first_use[f]; u < end; ++u) {
        if (flows_.link[u] != link) candidates_.push_back({flows_.link[u], false});
      }
    }
    const std::size_t looks = candidates_.size() * (end - flows_.first_use[f]);
    looks_left_ -= std::min(looks, looks_left_);
    if (looks_left_ == 0) return;
    const double coefficient = flows_.coefficient[find_use(f, link)];
    const double capacity = network_.capacity[index(link)];
    std::erase_if(candidates_, [&](Candidate& candidate) {
      const std::uint32_t u = find_use(f, candidate.link);
      if (u == end) return true;
      const double part = flows_.coefficient[u] * capacity;
      const double own = coefficient * network_.capacity[index(candidate.link)];
      candidate.tighter |= part > own;
      return part < own;
    });
  }

  const Network& network_;
  const FlowSet& flows_;
  FlowsByLink by_link_;
  std::size_t looks_left_;
  std::vector<Candidate> candidates_;
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

/// Numbers the links that stay, and turns their member counts into their rows.
void number_links(Layout& layout, std::vector<std::uint32_t>& row) {
  for (std::uint32_t l = 0; l < row.size(); ++l) {
    if (row[l] == unused) continue;
    layout.links.push_back({LinkId{l}, static_cast<std::uint32_t>(layout.members)});
    layout.members += row[l];
    row[l] = layout.rows() - 1;
  }
}

void lay_out_hops(Layout& layout, const FlowSet& flows, const std::vector<std::uint32_t>& row) {
  constexpr std::uint32_t group = Layout::hop_group;
  layout.first_hop.assign(flows.size() + 1, 0);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    const LinkId* link = flows.link.data();
    const auto hops = static_cast<std::uint32_t>(
        std::count_if(link + flows.first_use[f], link + flows.first_use[f + 1],
                      [&](LinkId l) { return row[index(l)] != unused; }));
    layout.first_hop[f + 1] = layout.first_hop[f] + (hops + group - 1) / group * group;
  }
  layout.row.assign(layout.first_hop.back(), layout.no_row());
  const bool ones = flows.coefficient.is_usual() && flows.weight.is_usual();
  if (!ones) layout.pull.assign(layout.row.size(), 0.0);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    std::uint32_t hop = layout.first_hop[f];
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      const std::uint32_t r = row[index(flows.link[u])];
      if (r == unused) continue;
      if (!ones) {
        const double pull = flows.coefficient[u] * flows.weight[f];
        layout.integral &= pull <= largest_exact_pull && pull == std::floor(pull);
        layout.pull[hop] = pull;
      }
      layout.row[hop++] = r;
    }
  }
}

}  // namespace

Layout lay_out(const Network& network, const FlowSet& flows, Redundant redundant) {
  check(network, flows);
  Layout layout;
  std::vector<std::uint32_t> row = count_members(network, flows, redundant);
  number_links(layout, row);
  lay_out_hops(layout, flows, row);
  if (!flows.cap_per_s.is_usual()) {
    layout.cap_level.reserve(flows.size());
    for (std::uint32_t f = 0; f < flows.size(); ++f)
      layout.cap_level.push_back(cap_level(network, flows, f));
  }
  return layout;
}

}  // namespace flowplan::flow
