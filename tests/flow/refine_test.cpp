#include "flowplan/flow/refine.hpp"

#include <catch2/catch.hpp>

#include "random_case.hpp"

namespace refine_test {

using namespace flowplan::flow;

namespace {

using Classes = std::vector<std::uint32_t>;

FlowSpec bytes(double amount) {
  return {.bytes = amount};
}

/// Flow i crosses links i and i + 1 of a circle.
FlowSet circle(std::uint32_t size) {
  FlowSet flows;
  for (std::uint32_t i = 0; i < size; ++i) {
    flows.add(std::vector<Use>{{LinkId{i}}, {LinkId{(i + 1) % size}}}, bytes(1.0));
  }
  return flows;
}

/// How often each class of flows crosses the link, and with what.
std::vector<std::pair<std::uint32_t, double>> flows_of(const FlowSet& flows,
                                                       const Partition& partition, LinkId link) {
  std::vector<std::pair<std::uint32_t, double>> found;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      if (flows.link[u] == link) found.emplace_back(partition.flow_class[f], flows.coefficient[u]);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::pair<std::uint32_t, double>> links_of(const FlowSet& flows,
                                                       const Partition& partition, std::size_t f) {
  std::vector<std::pair<std::uint32_t, double>> found;
  for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
    found.emplace_back(partition.link_class[index(flows.link[u])], flows.coefficient[u]);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

TEST_CASE("a circle of equal flows is one class, whatever its size") {
  for (const std::uint32_t size : {3U, 8U, 1000U}) {
    const Partition partition = refine({std::vector<double>(size, 1.0)}, circle(size));
    CHECK(partition.flow_class == Classes(size, 0));
    CHECK(partition.link_class == Classes(size, 0));
    CHECK(partition.flow_classes == 1);
    CHECK(partition.equitable);
    CHECK(partition.rounds == 2);  // the second one shows that nothing splits
  }
}

TEST_CASE("a changed link splits a circle by the distance from it") {
  // Links 0..5, link 0 faster: 1 and 5, 2 and 4 look alike, 3 is opposite. Flow i joins i and i
  // + 1.
  const Partition partition = refine({{2.0, 1.0, 1.0, 1.0, 1.0, 1.0}}, circle(6));
  CHECK(partition.link_class == Classes{0, 1, 2, 3, 2, 1});
  CHECK(partition.flow_class == Classes{0, 1, 2, 2, 1, 0});
  CHECK(partition.equitable);
}

TEST_CASE("refinement cut short says so") {
  const Partition partition = refine({{2.0, 1.0, 1.0, 1.0, 1.0, 1.0}}, circle(6), {}, 1);
  CHECK_FALSE(partition.equitable);
  CHECK(partition.link_class == Classes{0, 1, 2, 2, 2, 1});
  CHECK(partition.flow_class == Classes{0, 1, 1, 1, 1, 0});
}

TEST_CASE("bytes, starts, caps, weights, coefficients and labels tell flows apart") {
  const Network network{{1.0, 1.0}};
  const auto classes = [&](const FlowSpec& spec, double coefficient, const Distinction& by) {
    FlowSet flows;
    flows.add(std::vector<Use>{{LinkId{0}}}, {.bytes = 1.0});
    flows.add(std::vector<Use>{{LinkId{1}, coefficient}}, spec);
    return refine(network, flows, by).flow_classes;
  };
  const Distinction rates{.over_time = false, .label = {}};
  CHECK(classes({.bytes = 1.0}, 1.0, {}) == 1);
  CHECK(classes({.bytes = 2.0}, 1.0, {}) == 2);
  CHECK(classes({.bytes = 2.0}, 1.0, rates) == 1);
  CHECK(classes({.bytes = 1.0, .start_s = 1.0}, 1.0, {}) == 2);
  CHECK(classes({.bytes = 1.0, .start_s = 1.0}, 1.0, rates) == 1);
  CHECK(classes({.bytes = 1.0, .cap_per_s = 0.5}, 1.0, rates) == 2);
  CHECK(classes({.bytes = 1.0, .weight = 2.0}, 1.0, rates) == 2);
  CHECK(classes({.bytes = 1.0}, 2.0, rates) == 2);
  const std::vector<std::uint32_t> label{4, 5};
  CHECK(classes({.bytes = 1.0}, 1.0, {.over_time = true, .label = label}) == 2);
}

TEST_CASE("a link that no flow uses has no class") {
  FlowSet flows;
  flows.add(std::vector<Use>{{LinkId{1}}}, bytes(1.0));
  const Partition partition = refine({{1.0, 1.0, 1.0}}, flows);
  CHECK(partition.link_class == Classes{no_class, 0, no_class});
  CHECK(partition.link_classes == 1);
}

TEST_CASE("nothing at all is refined to no classes") {
  const Partition partition = refine({}, {});
  CHECK(partition.equitable);
  CHECK(partition.flow_classes == 0);
}

TEST_CASE("more classes than the first table holds are told apart") {
  FlowSet flows;
  constexpr std::uint32_t size = 5000;
  for (std::uint32_t f = 0; f < size; ++f)
    flows.add(std::vector<Use>{{LinkId{0}}}, bytes(1.0 + f % (size / 2)));
  const Partition partition = refine({{1.0}}, flows);
  CHECK(partition.flow_classes == size / 2);
  CHECK(partition.flow_class[17] == partition.flow_class[17 + size / 2]);
}

TEST_CASE("members of a class have the same neighbours, in random cases") {
  CaseGenerator generator(11);
  for (int i = 0; i < 500; ++i) {
    const RandomCase random = generator(CaseGenerator::Extras::all);
    const Partition partition = refine(random.network, random.flows);
    REQUIRE(partition.equitable);
    for (std::size_t f = 0; f < random.flows.size(); ++f) {
      for (std::size_t g = 0; g < f; ++g) {
        const bool same =
            random.flows.bytes[f] == random.flows.bytes[g] &&
            random.flows.start_s[f] == random.flows.start_s[g] &&
            random.flows.cap_per_s[f] == random.flows.cap_per_s[g] &&
            random.flows.weight[f] == random.flows.weight[g] &&
            links_of(random.flows, partition, f) == links_of(random.flows, partition, g);
        REQUIRE(same == (partition.flow_class[f] == partition.flow_class[g]));
      }
    }
    for (std::uint32_t l = 0; l < random.network.size(); ++l) {
      for (std::uint32_t m = 0; m < l; ++m) {
        const bool used =
            partition.link_class[l] != no_class && partition.link_class[m] != no_class;
        const bool same = random.network.capacity[l] == random.network.capacity[m] &&
                          flows_of(random.flows, partition, LinkId{l}) ==
                              flows_of(random.flows, partition, LinkId{m});
        if (used) REQUIRE(same == (partition.link_class[l] == partition.link_class[m]));
      }
    }
  }
}

}  // namespace refine_test
