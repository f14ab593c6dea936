#include "flowplan/flow/generate.hpp"

#include <algorithm>
#include <set>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/flow/recipe.hpp"
#include "flowplan/flow/simulate.hpp"

namespace generate_test {

using namespace flowplan;
using namespace flowplan::flow;

namespace {

Case made(const std::string& topology, const Traffic& traffic = {}) {
  const auto parsed = parse_topology(topology);
  REQUIRE(parsed);
  auto result = generate(*parsed, traffic);
  REQUIRE(result);
  return std::move(*result);
}

Traffic all_to_all(double bytes = 100e6) {
  return {.pattern = Pattern::all_to_all, .bytes = bytes};
}

std::vector<std::string> path(const Case& c, std::size_t flow) {
  std::vector<std::string> names;
  for (std::uint32_t u = c.flows.first_use[flow]; u < c.flows.first_use[flow + 1]; ++u) {
    names.push_back(c.link_name(index(c.flows.link[u])));
  }
  return names;
}

/// Every path leads from its source to its target, over no node twice.
void check_paths(const Case& c) {
  for (std::size_t f = 0; f < c.flows.size(); ++f) {
    std::uint32_t node = c.flow_source[f];
    std::set<std::uint32_t> seen{node};
    for (std::uint32_t u = c.flows.first_use[f]; u < c.flows.first_use[f + 1]; ++u) {
      const std::size_t link = index(c.flows.link[u]);
      REQUIRE(link < c.network.size());
      REQUIRE(c.link_from[link] == node);
      node = c.link_to[link];
      REQUIRE(seen.insert(node).second);
    }
    REQUIRE(node == c.flow_target[f]);
  }
}

std::string fault(const Result<Topology>& result) {
  REQUIRE_FALSE(result);
  CHECK(result.error()[0].code == Code::bad_generator);
  return result.error()[0].message;
}

std::string fault(const Topology& topology, const Traffic& traffic) {
  const auto result = generate(topology, traffic);
  REQUIRE_FALSE(result);
  CHECK(result.error()[0].code == Code::bad_generator);
  return result.error()[0].message;
}

}  // namespace

TEST_CASE("generated paths lead from source to target in every topology") {
  const std::string topology = GENERATE(
      "fat-tree:64", "fat-tree:24", "fat-tree:7", "fat-tree:down=3x2x4,up=2x3x1",
      "fat-tree:down=5,up=1", "fat-tree:down=2x2x2x3,up=1x2x3x2", "clos:leaves=3,hosts=5,spines=2",
      "clos:leaves=1,hosts=4,spines=1", "torus:5", "torus:4x3", "torus:2x3x4", "torus:2x2",
      "dragonfly:groups=9,routers=4,hosts=2", "dragonfly:groups=6,routers=4,hosts=1",
      "dragonfly:groups=1,routers=3,hosts=2", "dragonfly:groups=2,routers=1,hosts=2");
  CAPTURE(topology);
  const Case c = made(topology, all_to_all());
  check_paths(c);
  CHECK(c.link_from.size() == c.network.size());

  std::set<std::string> names;
  for (std::size_t l = 0; l < c.network.size(); ++l)
    names.insert(c.link_name(l));
  CHECK(names.size() == c.network.size());  // one cable between two nodes
}

TEST_CASE("fat trees route up by the target's number, as another simulator's cases do") {
  // The cases were written for a 4 x 4 x 4 tree whose nodes have other names, so what is compared
  // is where paths meet: two flows share a link here just where they share one there.
  const auto document = JsonDocument::read(std::string(FLOWPLAN_SOURCE_DIR) +
                                           "/tests/flow/cases/fat-tree-64-alltoall-16-random.json");
  REQUIRE(document);
  const auto& root = document->root();
  const Case c = made("fat-tree:64", all_to_all());
  REQUIRE(c.network.size() == root["links"].size());
  std::vector<std::uint32_t> ours(c.network.size(), ~0U), theirs(c.network.size(), ~0U);
  for (const auto& flow : root["flows"]) {
    const int source = std::stoi(flow["source"].get<std::string>().substr(1));
    const int target = std::stoi(flow["target"].get<std::string>().substr(1));
    const auto f = static_cast<std::size_t>(source * 63 + target - (target > source ? 1 : 0));
    const auto& listed = flow["path"];
    REQUIRE(listed.size() == c.flows.first_use[f + 1] - c.flows.first_use[f]);
    for (std::size_t hop = 0; hop < listed.size(); ++hop) {
      const auto mine = static_cast<std::uint32_t>(index(c.flows.link[c.flows.first_use[f] + hop]));
      const auto other = listed[hop].get<std::uint32_t>();
      if (ours[mine] == ~0U) ours[mine] = other;
      if (theirs[other] == ~0U) theirs[other] = mine;
      REQUIRE(ours[mine] == other);
      REQUIRE(theirs[other] == mine);
    }
  }
}

TEST_CASE("an equal all-to-all over a full fat tree takes as long as the host links do") {
  const Case c = made("fat-tree:64", all_to_all());
  CHECK(c.flows.size() == 64 * 63);
  const Completion done = simulate(c.network, c.flows);
  CHECK(done.makespan_s == Approx(63 * 100e6 / 50e9).epsilon(1e-12));
  CHECK(done.events == 1);
}

TEST_CASE("a full fat tree has balanced radices and as many links on every level") {
  CHECK(full_fat_tree(64).down == std::vector<std::uint32_t>{4, 4, 4});
  CHECK(full_fat_tree(128).down == std::vector<std::uint32_t>{8, 4, 4});
  CHECK(full_fat_tree(256).down == std::vector<std::uint32_t>{8, 8, 4});
  CHECK(full_fat_tree(16384).down == std::vector<std::uint32_t>{32, 32, 16});
  CHECK(full_fat_tree(16384).up == std::vector<std::uint32_t>{1, 32, 32});
  CHECK(full_fat_tree(7).down == std::vector<std::uint32_t>{7});
  CHECK(full_fat_tree(12, 2).down == std::vector<std::uint32_t>{4, 3});
  CHECK(made("fat-tree:16384").network.size() == 6 * 16384);
}

TEST_CASE("paths by hand") {
  using Path = std::vector<std::string>;
  SECTION("fat tree: host 0 to host 27 of 3 x 3 x 3 goes up by 27's digits") {
    // 26 = 2 + 3 * 2 + 9 * 2: way 2 at level 1, way 26 / 3 % 3 = 2 at level 2.
    const Case c = made("fat-tree:27", {.pattern = Pattern::all_to_all});
    CHECK(path(c, 25) ==
          Path{"h0->s1.0", "s1.0->s2.2", "s2.2->s3.8", "s3.8->s2.8", "s2.8->s1.8", "s1.8->h26"});
    CHECK(path(c, 0) == Path{"h0->s1.0", "s1.0->h1"});
  }
  SECTION("clos: the target's number picks the spine") {
    const Case c =
        made("clos:leaves=2,hosts=4,spines=3,oversubscription=2", {.pattern = Pattern::all_to_all});
    CHECK(path(c, 6) == Path{"h0->leaf0", "leaf0->spine1", "spine1->leaf1", "leaf1->h7"});
    CHECK(path(c, 2) == Path{"h0->leaf0", "leaf0->h3"});
    // 4 hosts at 50 GB/s, 2:1, over 3 spines: 33.3 GB/s a cable.
    CHECK(c.network.capacity.back() == Approx(100e9 / 3));
  }
  SECTION("torus: dimension after dimension, the shorter way") {
    const Case c = made("torus:5x4", {.pattern = Pattern::all_to_all});
    // h13 is (3, 2): down twice in x (0, 4, 3), up twice in y, half way round.
    CHECK(path(c, 12) == Path{"h0->h4", "h4->h3", "h3->h8", "h8->h13"});
  }
  SECTION("dragonfly: to the gate, across, to the router") {
    // 5 groups of 2 routers: 2 cables a router. Group 0 reaches 3 by cable 2, on router 1; group 3
    // reaches 0 by cable 1, on its router 0, number 6.
    const Case c = made("dragonfly:groups=5,routers=2,hosts=1", {.pattern = Pattern::all_to_all});
    CHECK(path(c, 6) == Path{"h0->r0", "r0->r1", "r1->r6", "r6->r7", "r7->h7"});
    CHECK(path(c, 5) == Path{"h0->r0", "r0->r1", "r1->r6", "r6->h6"});
  }
}

TEST_CASE("patterns") {
  SECTION("a permutation is one cycle through each group") {
    const Case c = made("fat-tree:24", {.seed = 3, .group = 8});
    for (std::uint32_t first = 0; first < 24; first += 8) {
      std::uint32_t at = first, steps = 0;
      do {
        REQUIRE(c.flow_source[at] == at);
        at = c.flow_target[at];
        REQUIRE(at / 8 * 8 == first);
        ++steps;
      } while (at != first);
      CHECK(steps == 8);
    }
  }
  SECTION("a ring of equal flows runs at full speed") {
    const Case c = made("torus:6", {.pattern = Pattern::ring, .bytes = 50e9});
    CHECK(simulate(c.network, c.flows).makespan_s == Approx(1.0));
    CHECK(c.flow_target == std::vector<std::uint32_t>{1, 2, 3, 4, 5, 0});
  }
  SECTION("an incast shares the target's link") {
    const Case c =
        made("clos:leaves=2,hosts=4,spines=2", {.pattern = Pattern::incast, .bytes = 50e9});
    CHECK(c.flows.size() == 7);
    CHECK(simulate(c.network, c.flows).makespan_s == Approx(7.0));
    CHECK(made("fat-tree:16", {.pattern = Pattern::incast, .group = 4}).flows.size() == 12);
  }
  SECTION("random pairs differ and stay in their group") {
    const Case c = made("fat-tree:16", {.pattern = Pattern::random, .group = 4, .flows = 500});
    CHECK(c.flows.size() == 500);
    for (std::size_t f = 0; f < 500; ++f) {
      REQUIRE(c.flow_source[f] != c.flow_target[f]);
      REQUIRE(c.flow_source[f] / 4 == c.flow_target[f] / 4);
    }
    std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (std::size_t f = 0; f < 500; ++f)
      pairs.emplace(c.flow_source[f], c.flow_target[f]);
    CHECK(pairs.size() == 48);  // 500 draws of 48 pairs miss none, but for 0.1 % of all seeds
  }
}

TEST_CASE("sizes and starts are random by the seed alone") {
  const Traffic traffic{.pattern = Pattern::all_to_all,
                        .sizes = Sizes::random,
                        .bytes = 1000,
                        .seed = 7,
                        .spread_s = 2.0};
  const Case a = made("fat-tree:64", traffic), b = made("fat-tree:64", traffic);
  CHECK(a.flows.bytes == b.flows.bytes);
  CHECK(a.flows.start_s.list() == b.flows.start_s.list());
  double sum = 0.0;
  for (const double bytes : a.flows.bytes) {
    REQUIRE(bytes == static_cast<double>(static_cast<std::uint64_t>(bytes)));
    REQUIRE(bytes >= 1.0);
    REQUIRE(bytes <= 1999.0);
    sum += bytes;
  }
  // The mean of 4,032 has a deviation of 577 / sqrt(4032) = 9.
  CHECK(sum / 4032 == Approx(1000).margin(40));
  const std::vector<double> starts = a.flows.start_s.list();
  CHECK(*std::max_element(starts.begin(), starts.end()) < 2.0);
  Traffic other = traffic;
  other.seed = 8;
  CHECK(made("fat-tree:64", other).flows.bytes != a.flows.bytes);
  // Pinned, so that a seed means the same next year.
  CHECK(a.flows.bytes[0] == 1506.0);
}

TEST_CASE("arrays of a generated case are exactly as large as needed") {
  const Case c = made("fat-tree:64", all_to_all());
  CHECK(c.flows.link.capacity() == c.flows.link.size());
  CHECK(c.flows.bytes.capacity() == c.flows.size());
  CHECK(c.network.capacity.capacity() == c.network.size());
}

TEST_CASE("recipes that do not work say why") {
  CHECK(fault(parse_topology("fat-treee:64")) == "there is no topology `fat-treee`");
  CHECK(fault(parse_topology("fat-tree")) == "a fat tree of 0 hosts, 3 levels");
  CHECK(fault(parse_topology("fat-tree:x")) == "fat-tree:x: not understood");
  CHECK(fault(parse_topology("fat-tree:down=4xx4,up=1x4")) == "down=4xx4: not understood");
  CHECK(fault(parse_topology("fat-tree:64,levles=2")) == "fat-tree has no `levles`");
  CHECK(fault(parse_topology("clos:leaves=2,leaves=3")) == "`leaves` comes twice");
  CHECK(fault(parse_topology("clos:7")) == "clos takes no bare value `7`");
  CHECK(fault(parse_topology("torus:4,4")) == "`4` has no key");
  REQUIRE_FALSE(parse_pattern("alltoall"));
  CHECK(parse_pattern("alltoall").error()[0].hint == "did you mean `all-to-all`?");
  REQUIRE_FALSE(parse_sizes("big"));

  CHECK(fault(FatTree{}, {}) == "a fat tree of 0 numbers down and 0 up");
  CHECK(fault(FatTree{{4, 4}, {1, 0}}, {}) == "a fat tree with no cable on some level");
  CHECK(fault(FatTree{{1 << 20, 1 << 20}, {1, 1}}, {}) == "the fat tree is too large");
  CHECK(fault(FatTree{{4, 4}, {1, 1u << 31}}, {}) == "the fat tree is too large");
  CHECK(fault(Clos{1, 0, 1}, {}) == "a clos needs leaves, hosts and spines");
  CHECK(fault(Clos{1, 2, 1, 0.0}, {}) == "oversubscription out of range");
  CHECK(fault(Clos{1u << 31, 1u << 31, 1}, {}) == "the clos is too large");
  CHECK(fault(Torus{{4, 1}}, {}) == "the torus has no such dimensions");
  CHECK(fault(Torus{{65536, 65536}}, {}) == "the torus is too large");
  CHECK(fault(Torus{{4}, 0.0}, {}) == "bandwidth out of range");
  CHECK(fault(Dragonfly{0, 1, 1}, {}) == "a dragonfly needs groups, routers and hosts");
  CHECK(fault(Dragonfly{65536, 65536, 1}, {}) == "the dragonfly is too large");
  const Torus ring{{6}};
  CHECK(fault(ring, {.group = 4}) == "6 hosts in groups of 4");
  CHECK(fault(ring, {.bytes = -1}) == "flows of -1 bytes");
  CHECK(fault(ring, {.sizes = Sizes::random, .bytes = 1.5}) == "flows of 1.5 bytes");
  CHECK(fault(ring, {.spread_s = -1}) == "starts spread over -1 s");
  CHECK(fault(ring, {.flows = 5}) == "only random traffic takes a number of flows");
  CHECK(fault(ring, {.pattern = Pattern::random, .flows = 1u << 30}) == "1073741824 flows");
  CHECK(fault(FatTree{{1}, {1}}, {}) == "traffic needs two hosts");
}

TEST_CASE("a ring of 4 million hosts, a million links a path, is refused", "[slow]") {
  CHECK(fault(Torus{{4000000}}, {}) == "the flows' paths are too long together");
}

}  // namespace generate_test
