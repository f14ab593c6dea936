#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "flowplan/flow/flow_set.hpp"

/// Max-min fairness straight from its definition, in long double: slow, short, and with nothing in
/// common with the solver that it judges.
namespace flowplan::flow::textbook {

/// Progressive filling: the flows that `running` marks all rise at one level until a link fills or
/// a cap is reached; what that holds is frozen, the rest goes on.
inline std::vector<long double> rates(const Network& network, const FlowSet& flows,
                                      const std::vector<bool>& running) {
  std::vector<long double> rate(flows.size(), 0.0L);
  std::vector<bool> rising = running;
  while (std::find(rising.begin(), rising.end(), true) != rising.end()) {
    std::vector<long double> room(network.capacity.begin(), network.capacity.end());
    std::vector<long double> pull(network.size(), 0.0L);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (std::size_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
        const long double coefficient = flows.coefficient[u];
        room[index(flows.link[u])] -= coefficient * rate[f];
        if (rising[f]) pull[index(flows.link[u])] += coefficient * flows.weight[f];
      }
    }
    long double level = unlimited;
    std::size_t full_link = network.size();
    std::size_t capped_flow = flows.size();
    for (std::size_t l = 0; l < network.size(); ++l) {
      if (pull[l] > 0 && room[l] / pull[l] < level) {
        level = room[l] / pull[l];
        full_link = l;
      }
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const long double cap = flows.cap_per_s[f];
      if (rising[f] && cap / flows.weight[f] < level) {
        level = cap / flows.weight[f];
        capped_flow = f;
      }
    }
    for (std::size_t f = 0; f < flows.size(); ++f) {
      bool held = f == capped_flow;
      for (std::size_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
        held |= capped_flow == flows.size() && index(flows.link[u]) == full_link;
      }
      if (!rising[f] || !held) continue;
      rate[f] = level * flows.weight[f];
      rising[f] = false;
    }
  }
  return rate;
}

/// Ends of all flows: solve, go to the next start or end, take off what was moved, repeat.
inline std::vector<long double> ends(const Network& network, const FlowSet& flows) {
  constexpr long double together = 1e-15L;  // relative to now
  std::vector<long double> left(flows.bytes.begin(), flows.bytes.end());
  const std::vector<double> starts = flows.start_s.list();
  std::vector<long double> end(starts.begin(), starts.end());
  std::vector<bool> waiting(flows.size(), true);
  std::vector<bool> running(flows.size(), false);
  long double now = 0;
  while (true) {
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!waiting[f] || flows.start_s[f] > now * (1 + together)) continue;
      waiting[f] = false;
      running[f] = left[f] > 0;
    }
    const std::vector<long double> rate = rates(network, flows, running);
    long double next = unlimited;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (waiting[f]) next = std::min(next, static_cast<long double>(flows.start_s[f]));
      if (running[f]) next = std::min(next, now + left[f] / rate[f]);
    }
    if (next == unlimited) return end;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!running[f]) continue;
      left[f] -= rate[f] * (next - now);
      if (left[f] > rate[f] * next * together) continue;
      running[f] = false;
      end[f] = next;
    }
    now = next;
  }
}

}  // namespace flowplan::flow::textbook
