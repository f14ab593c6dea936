#include "flowplan/flow/quotient.hpp"

#include <catch2/catch.hpp>

#include "cluster_case.hpp"
#include "flow_sets.hpp"
#include "flowplan/flow/max_min.hpp"
#include "flowplan/flow/simulate.hpp"

namespace quotient_test {

using namespace flowplan::flow;

namespace {

/// Values and how many members have each, ascending; values within `tight` are one.
using Histogram = std::vector<std::pair<double, std::uint64_t>>;

Histogram histogram(const std::vector<double>& values, const std::vector<std::uint64_t>& counts) {
  std::vector<std::pair<double, std::uint64_t>> pairs;
  for (std::size_t i = 0; i < values.size(); ++i)
    pairs.emplace_back(values[i], counts[i]);
  std::sort(pairs.begin(), pairs.end());
  Histogram merged;
  for (const auto& [value, count] : pairs) {
    if (!merged.empty() && value <= merged.back().first * (1.0 + tight)) {
      merged.back().second += count;
    } else {
      merged.emplace_back(value, count);
    }
  }
  return merged;
}

void require_same(const Histogram& a, const Histogram& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].first == Approx(b[i].first).epsilon(tight).margin(0.0));
    REQUIRE(a[i].second == b[i].second);
  }
}

struct Outcome {
  Histogram rate, end_s, load, amount;
};

Outcome outcome(const Network& network, const FlowSet& flows,
                const std::vector<std::uint64_t>& flow_count,
                const std::vector<std::uint64_t>& link_count) {
  const Allocation allocation = solve(network, flows);
  REQUIRE(refute(network, flows, allocation.rate) == std::nullopt);
  const Completion completion = simulate(network, flows);
  std::vector<bool> used(network.size(), false);
  for (const LinkId link : flows.link)
    used[index(link)] = true;
  std::vector<double> load, amount;
  std::vector<std::uint64_t> count;
  const std::vector<double> all = link_load(network, flows, allocation.rate);
  for (std::size_t l = 0; l < network.size(); ++l) {
    if (!used[l]) continue;
    load.push_back(all[l]);
    amount.push_back(completion.link_amount[l]);
    count.push_back(link_count[l]);
  }
  return {histogram(allocation.rate, flow_count), histogram(completion.end_s, flow_count),
          histogram(load, count), histogram(amount, count)};
}

void require_same(const Outcome& a, const Outcome& b) {
  require_same(a.rate, b.rate);
  require_same(a.end_s, b.end_s);
  require_same(a.load, b.load);
  require_same(a.amount, b.amount);
}

Outcome outcome(const Listed& listed) {
  return outcome(listed.network, listed.flows, std::vector<std::uint64_t>(listed.flows.size(), 1),
                 std::vector<std::uint64_t>(listed.network.size(), 1));
}

Outcome outcome(const Quotient& quotient) {
  return outcome(quotient.network, quotient.flows, quotient.flows_in_class,
                 quotient.links_in_class);
}

/// Listed, listed and folded, counted, counted and folded: all the same.
void require_all_agree(const Listed& listed, const Quotient& counted) {
  const Outcome expected = outcome(listed);
  const Partition partition = refine(listed.network, listed.flows);
  REQUIRE(partition.equitable);
  require_same(outcome(fold(listed.network, listed.flows, partition)), expected);
  require_same(outcome(counted), expected);
  const Quotient folded = fold(counted);
  require_same(outcome(folded), expected);
  CHECK(folded.flows.size() <= counted.flows.size());
}

constexpr FlowSpec one_gigabyte{.bytes = 1e9};

/// Contiguous and scattered, sound and with one slow NIC; no size divides another.
template <class Function>
void for_each_cluster(Function&& function) {
  const std::vector<Cluster> sizes{contiguous(7, 2, 3, 2), contiguous(11, 3, 4, 2),
                                   contiguous(23, 4, 5, 3)};
  for (const Cluster& size : sizes) {
    for (const bool scatter : {false, true}) {
      for (const bool slow : {false, true}) {
        Cluster cluster = scatter ? scattered(size, 5) : size;
        if (slow) cluster.slow_nic = {size.nodes / 2, 1};
        CAPTURE(size.nodes, scatter, slow);
        function(cluster);
      }
    }
  }
}

}  // namespace

TEST_CASE("the coefficient of a class is what all its flows on one link take") {
  // Six flows in pairs on three equal links, and half of each flow's rate on a link of all.
  const Network network{{4.0, 4.0, 4.0, 9.0}};
  FlowSet flows;
  for (std::uint32_t f = 0; f < 6; ++f) {
    flows.add(std::vector<Use>{{LinkId{f % 3}}, {LinkId{3}, 0.5}}, {.bytes = 8.0});
  }
  const Quotient quotient = fold(network, flows, refine(network, flows));
  CHECK(quotient.network.capacity == std::vector<double>{4.0, 9.0});
  CHECK(quotient.links_in_class == std::vector<std::uint64_t>{3, 1});
  CHECK(quotient.flows_in_class == std::vector<std::uint64_t>{6});
  CHECK(quotient.flows.coefficient.list() == std::vector<double>{2.0, 3.0});
  // 4 / 2 on a small link, where 6 x 0.5 x 2 = 6 <= 9; 8 bytes at 2 take 4 s.
  CHECK(solve(quotient.network, quotient.flows).rate == std::vector<double>{2.0});
  CHECK(simulate(quotient.network, quotient.flows).makespan_s == 4.0);
}

TEST_CASE("flows of one class with different coefficients on a link add up") {
  // Flow 0 takes twice its rate of link 0, flow 1 of link 1: 3 x rate = 6 on both.
  const Network network{{6.0, 6.0}};
  FlowSet flows;
  flows.add(std::vector<Use>{{LinkId{0}, 2.0}, {LinkId{1}, 1.0}}, one_gigabyte);
  flows.add(std::vector<Use>{{LinkId{0}, 1.0}, {LinkId{1}, 2.0}}, one_gigabyte);
  const Quotient quotient = fold(network, flows, refine(network, flows));
  CHECK(quotient.flows.coefficient.list() == std::vector<double>{3.0});
  CHECK(solve(quotient.network, quotient.flows).rate == std::vector<double>{2.0});
}

TEST_CASE("a builder writes the quotient of an all-to-all that nobody could list") {
  // 100,000 ranks on one switch: each sends to 99,999 at 50e9 / 99,999.
  constexpr std::uint64_t ranks = 100'000;
  QuotientBuilder builder;
  const LinkId up = builder.link_class(50e9, ranks);
  const LinkId down = builder.link_class(50e9, ranks);
  const FlowId flow = builder.flow_class(one_gigabyte, ranks * (ranks - 1));
  builder.use(flow, up, ranks - 1);
  builder.use(flow, down, ranks - 1);
  const Quotient quotient = builder.build();
  CHECK(quotient.flows_in_class == std::vector<std::uint64_t>{9'999'900'000});
  CHECK(simulate(quotient.network, quotient.flows).makespan_s == Approx(99'999 / 50.0));
}

TEST_CASE("uses of one pair of classes add up, in the order in which links were first used") {
  QuotientBuilder builder;
  const LinkId a = builder.link_class(1.0, 2);
  const LinkId b = builder.link_class(1.0, 1);
  const FlowId early = builder.flow_class(one_gigabyte, 2);
  const FlowId late = builder.flow_class(one_gigabyte, 4);
  builder.use(late, b, 4);
  builder.use(early, b, 2, 1, 0.25);
  builder.use(late, a, 2);
  builder.use(late, b, 4, 1, 0.5);
  const Quotient quotient = builder.build();
  CHECK(quotient.flows.first_use == std::vector<std::uint32_t>{0, 1, 3});
  CHECK(quotient.flows.link == std::vector<LinkId>{b, b, a});
  CHECK(quotient.flows.coefficient.list() == std::vector<double>{0.5, 6.0, 2.0});
  CHECK(builder.build().network.size() == 0);
}

TEST_CASE("a quotient folds again, and its counts add up") {
  // Two classes of links and of flows that turn out alike.
  QuotientBuilder builder;
  for (const std::uint64_t members : {3U, 5U}) {
    const LinkId link = builder.link_class(10.0, members);
    builder.use(builder.flow_class(one_gigabyte, 2 * members), link, 2);
  }
  const Quotient folded = fold(builder.build());
  CHECK(folded.links_in_class == std::vector<std::uint64_t>{8});
  CHECK(folded.flows_in_class == std::vector<std::uint64_t>{16});
  CHECK(folded.flows.coefficient.list() == std::vector<double>{2.0});
}

TEST_CASE("a ring counted by nodes equals the ring listed by GPUs") {
  for_each_cluster([](const Cluster& cluster) {
    const auto pairs = ring(cluster);
    require_all_agree(list_pairs(cluster, pairs, one_gigabyte),
                      count_pairs(cluster, pairs, one_gigabyte));
  });
}

TEST_CASE("a double binary tree counted by nodes equals the one listed by GPUs") {
  for_each_cluster([](const Cluster& cluster) {
    const auto pairs = double_tree(cluster);
    require_all_agree(list_pairs(cluster, pairs, one_gigabyte),
                      count_pairs(cluster, pairs, one_gigabyte));
  });
}

TEST_CASE("a rail-aligned all-to-all counted by nodes equals the one listed by GPUs") {
  for (const std::uint32_t group : {3U, 5U, 100U}) {
    CAPTURE(group);
    for_each_cluster([&](const Cluster& cluster) {
      const auto pairs = rail_groups(cluster, group);
      require_all_agree(list_pairs(cluster, pairs, one_gigabyte),
                        count_pairs(cluster, pairs, one_gigabyte));
    });
  }
}

TEST_CASE("NVLS counted equals NVLS listed") {
  // 2 classes, and each link carries one flow as the only one and 8 as one of many.
  const Cluster cluster = contiguous(5, 8, 3, 2);
  const Quotient counted = count_nvls(cluster, one_gigabyte);
  CHECK(counted.flows.size() == 2);
  CHECK(solve(counted.network, counted.flows).rate[0] == Approx(Cluster::nvlink / 9));
  require_all_agree(list_nvls(cluster, one_gigabyte), counted);
}

TEST_CASE("a full all-to-all counted from how nodes fill leaves equals the one listed") {
  for_each_cluster([](const Cluster& cluster) {
    if (cluster.nodes > 11) return;  // the list grows with the square of the GPUs
    require_all_agree(list_all_to_all(cluster, one_gigabyte),
                      count_all_to_all(cluster, one_gigabyte));
  });
}

}  // namespace quotient_test
