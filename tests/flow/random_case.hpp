#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

struct RandomCase {
  Network network;
  FlowSet flows;
};

/// Small networks full of coincidences: figures are drawn from a few round ones, half of them or,
/// in every third case, all, so that links fill together, caps equal shares and flows end at the
/// instant at which others start. Some flows have a twin.
class CaseGenerator {
 public:
  explicit CaseGenerator(std::uint32_t seed) : engine_(seed) {}

  /// Caps, weights and coefficients as well, or links and bytes alone.
  enum class Extras { none, all };

  RandomCase operator()(Extras extras) {
    RandomCase random;
    all_round_ = one_of(0, 2) == 0;
    const std::size_t links = one_of(1, 8);
    for (std::size_t l = 0; l < links; ++l) {
      random.network.capacity.push_back(figure({1, 2, 3, 4, 6, 10}, 0.5, 20.0));
    }
    const bool all = extras == Extras::all;
    const bool at_once = one_of(0, 2) == 0;
    for (std::size_t f = one_of(1, 12); f > 0; --f) {
      if (const std::size_t before = random.flows.size(); before > 0 && one_of(0, 7) == 0) {
        random.flows.add(random.flows.uses(before - 1), random.flows.spec(before - 1));
        continue;
      }
      FlowSpec spec;
      spec.bytes = one_of(0, 19) == 0 ? 0.0 : figure({1, 2, 3, 4, 6, 12}, 0.1, 30.0);
      if (!at_once) spec.start_s = figure({0, 0, 0, 0.5, 1, 2}, 0.0, 8.0);
      if (all && one_of(0, 2) == 0) spec.cap_per_s = figure({0.5, 1, 1.5, 2}, 0.1, 8.0);
      if (all) spec.weight = figure({1, 1, 1, 2, 0.5, 3}, 0.05, 5.0);
      const bool no_links = spec.cap_per_s < unlimited && one_of(0, 5) == 0;
      std::vector<std::uint32_t> order(links);
      std::iota(order.begin(), order.end(), 0U);
      std::shuffle(order.begin(), order.end(), engine_);
      std::vector<Use> uses;
      for (std::size_t h = no_links ? 0 : one_of(1, std::min<std::size_t>(links, 6)); h > 0; --h) {
        uses.push_back({LinkId{order[h - 1]}, all ? figure({1, 1, 1, 2, 0.5}, 0.2, 3.0) : 1.0});
      }
      random.flows.add(uses, spec);
    }
    return random;
  }

  /// Uniform in [least, most].
  std::size_t one_of(std::size_t least, std::size_t most) {
    return least + engine_() % (most - least + 1);
  }

  double uniform(double least, double most) {
    return least + (most - least) * static_cast<double>(engine_() >> 8) / (1 << 24);
  }

 private:
  double figure(std::vector<double> round, double least, double most) {
    if (all_round_ || one_of(0, 1) == 0) return round[one_of(0, round.size() - 1)];
    return uniform(least, most);
  }

  std::mt19937 engine_;
  bool all_round_ = false;
};

/// The largest relative difference of two series.
template <class A, class B>
double difference(const std::vector<A>& a, const std::vector<B>& b) {
  long double largest = a.size() == b.size() ? 0.0L : 1.0L;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const long double x = a[i];
    const long double y = b[i];
    if (x == y) continue;
    largest =
        std::max(largest, std::max(x - y, y - x) / std::max(std::max(x, -x), std::max(y, -y)));
  }
  return static_cast<double>(largest);
}

}  // namespace flowplan::flow
