#include "flowplan/flow/max_min.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "sharing.hpp"

namespace flowplan::flow {
namespace {

/// The largest rate / weight on each link.
std::vector<double> fastest_level(const Network& network, const FlowSet& flows,
                                  const std::vector<double>& rate) {
  std::vector<double> fastest(network.size(), 0.0);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      double& level = fastest[index(flows.link[u])];
      level = std::max(level, rate[f] / flows.weight[f]);
    }
  }
  return fastest;
}

}  // namespace

Allocation solve(const Network& network, const FlowSet& flows) {
  Sharing sharing(network, flows, Redundant::keep);
  for (std::uint32_t f = 0; f < flows.size(); ++f)
    sharing.start(f);
  sharing.update();
  Allocation allocation;
  allocation.rate.reserve(flows.size());
  allocation.bottleneck.reserve(flows.size());
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    allocation.rate.push_back(std::min(sharing.level(f) * flows.weight[f], flows.cap_per_s[f]));
    const std::uint32_t holder = sharing.holder(f);
    allocation.bottleneck.push_back(holder == Sharing::by_cap ? no_link
                                                              : sharing.layout().links[holder].id);
  }
  return allocation;
}

std::vector<double> link_load(const Network& network, const FlowSet& flows,
                              const std::vector<double>& rate) {
  FLOWPLAN_ASSERT(rate.size() == flows.size());
  std::vector<double> load(network.size(), 0.0);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      load[index(flows.link[u])] += flows.coefficient[u] * rate[f];
    }
  }
  return load;
}

std::optional<std::string> refute(const Network& network, const FlowSet& flows,
                                  const std::vector<double>& rate, double tolerance) {
  const std::vector<double> load = link_load(network, flows, rate);
  for (std::size_t l = 0; l < network.size(); ++l) {
    if (!(load[l] <= network.capacity[l] * (1.0 + tolerance))) {
      return fmt::format("link {} carries {} of its capacity {}", l, load[l], network.capacity[l]);
    }
  }
  const std::vector<double> fastest = fastest_level(network, flows, rate);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    const double cap = flows.cap_per_s[f];
    if (!(rate[f] > 0.0)) return fmt::format("flow {} runs at {}", f, rate[f]);
    if (rate[f] > cap * (1.0 + tolerance)) {
      return fmt::format("flow {} runs at {}, above its cap {}", f, rate[f], cap);
    }
    bool held = rate[f] >= cap * (1.0 - tolerance);
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1] && !held; ++u) {
      const std::size_t l = index(flows.link[u]);
      held = load[l] >= network.capacity[l] * (1.0 - tolerance) &&
             rate[f] / flows.weight[f] >= fastest[l] * (1.0 - tolerance);
    }
    if (!held) {
      return fmt::format(
          "flow {} runs at {}, but no full link on its path has it among its fastest, and its cap "
          "is {}",
          f, rate[f], cap);
    }
  }
  return std::nullopt;
}

}  // namespace flowplan::flow
