#include "flowplan/topology/placement.hpp"

#include <algorithm>
#include <numeric>

#include <catch2/catch.hpp>

#include "random_cluster.hpp"

namespace flowplan::topology::placement_test {
namespace {

std::vector<std::uint32_t> ids(const std::vector<GpuId>& gpus) {
  std::vector<std::uint32_t> result;
  for (GpuId gpu : gpus)
    result.push_back(index(gpu));
  return result;
}

std::vector<std::vector<std::uint32_t>> ids(const std::vector<std::vector<GpuId>>& groups) {
  std::vector<std::vector<std::uint32_t>> result;
  for (const std::vector<GpuId>& group : groups)
    result.push_back(ids(group));
  return result;
}

using Ids = std::vector<std::uint32_t>;
using Groups = std::vector<Ids>;

TEST_CASE("contiguous ranks are the GPUs in order") {
  const Placement placement = place(build(p5(), 2), 12).value();
  Ids expected(12);
  std::iota(expected.begin(), expected.end(), 0u);
  CHECK(ids(placement.gpu) == expected);
}

TEST_CASE("spare GPUs of a domain get no rank") {
  // 64 of the 72 GPUs of each UltraServer, as some published runs used.
  PlacementSpec spec;
  spec.gpus_per_domain = 64;
  const Placement placement = place(build(ultraserver(), 2), 128, spec).value();
  CHECK(index(placement.gpu[63]) == 63);
  CHECK(index(placement.gpu[64]) == 72);
  CHECK(index(placement.gpu[127]) == 72 + 63);
}

TEST_CASE("scattered ranks keep whole domains together, and the seed decides") {
  const Cluster cluster = build(p5(), 64);
  const auto scattered = [&](std::uint64_t seed) {
    return place(cluster, 256, {PlacementKind::scattered, seed, 0}).value();
  };
  const Placement placement = scattered(7);
  std::vector<std::uint32_t> used;
  for (std::uint32_t rank = 0; rank < 256; ++rank) {
    const GpuId gpu = placement.gpu[rank];
    CHECK(index(gpu) % 8 == rank % 8);
    CHECK(cluster.domain_of(gpu) == cluster.domain_of(placement.gpu[rank / 8 * 8]));
    if (rank % 8 == 0) used.push_back(cluster.domain_of(gpu));
  }
  std::sort(used.begin(), used.end());
  CHECK(std::unique(used.begin(), used.end()) == used.end());
  CHECK(ids(scattered(7).gpu) == ids(placement.gpu));
  CHECK(ids(scattered(8).gpu) != ids(placement.gpu));
  CHECK(used.back() > 31);  // not only the first half of the nodes
}

TEST_CASE("ranks that do not fit are refused with what does") {
  const Cluster cluster = build(p5(), 2);
  for (const std::uint32_t ranks : {0u, 17u}) {
    const Result<Placement> result = place(cluster, ranks);
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().front().code == Code::bad_placement);
    CHECK(result.error().front().hint == "1 to 16");
  }
  PlacementSpec spec;
  spec.gpus_per_domain = 4;
  CHECK(place(cluster, 8, spec).has_value());
  CHECK_FALSE(place(cluster, 9, spec).has_value());
  spec.gpus_per_domain = 9;
  CHECK_FALSE(place(cluster, 8, spec).has_value());
}

TEST_CASE("tensor-parallel ranks are neighbours, then context, data and pipeline") {
  const Placement placement = place(build(p5(), 2), 16).value();
  const Degrees degrees{2, 2, 2, 2};
  CHECK(ids(groups(placement, degrees, Axis::tp)) ==
        Groups{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}});
  CHECK(ids(groups(placement, degrees, Axis::cp)) ==
        Groups{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}});
  CHECK(ids(groups(placement, degrees, Axis::dp)) ==
        Groups{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}});
  CHECK(ids(groups(placement, degrees, Axis::pp)) ==
        Groups{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}});
}

TEST_CASE("pipeline neighbours are the same rank of the next stage") {
  const Placement placement = place(build(p5(), 1), 6).value();
  const Degrees degrees{2, 1, 1, 3};
  CHECK(ids(pipeline_neighbours(placement, degrees)) == Groups{{0, 2}, {1, 3}, {2, 4}, {3, 5}});
  CHECK(ids(pipeline_neighbours(placement, degrees, true)) ==
        Groups{{0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 0}, {5, 1}});
  CHECK(pipeline_neighbours(placement, {6, 1, 1, 1}, true).empty());
}

TEST_CASE("the groups of every axis partition the ranks, each of the axis' degree and stride") {
  std::mt19937 random(1);
  const auto degree = [&] { return static_cast<int>(1 + random() % 5); };
  const Cluster cluster = build(p5(), 80);
  for (int round = 0; round < 300; ++round) {
    const Degrees degrees{degree(), degree(), degree(), degree()};
    const auto ranks = static_cast<std::uint32_t>(degrees.product());
    const Placement placement =
        place(cluster, ranks, {PlacementKind::scattered, random(), 0}).value();
    std::vector<std::uint32_t> rank_of(cluster.gpus(), ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      rank_of[index(placement.gpu[rank])] = rank;

    std::uint32_t stride = 1;
    const std::pair<Axis, int> axes[] = {{Axis::tp, degrees.tp},
                                         {Axis::cp, degrees.cp},
                                         {Axis::dp, degrees.dp},
                                         {Axis::pp, degrees.pp}};
    for (const auto& [axis, size] : axes) {
      std::vector<int> seen(ranks, 0);
      bool right = true;
      for (const std::vector<GpuId>& group : groups(placement, degrees, axis)) {
        right = right && group.size() == static_cast<std::size_t>(size);
        for (std::size_t i = 0; i < group.size(); ++i) {
          ++seen[rank_of[index(group[i])]];
          if (i > 0)
            right = right && rank_of[index(group[i])] == rank_of[index(group[i - 1])] + stride;
        }
      }
      CAPTURE(round, name(axis));
      CHECK(right);
      CHECK(std::count(seen.begin(), seen.end(), 1) == static_cast<std::ptrdiff_t>(ranks));
      stride *= static_cast<std::uint32_t>(size);
    }
  }
}

}  // namespace
}  // namespace flowplan::topology::placement_test
