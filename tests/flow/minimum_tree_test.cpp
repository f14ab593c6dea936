#include "../../src/flow/minimum_tree.hpp"

#include <algorithm>
#include <random>

#include <catch2/catch.hpp>

namespace minimum_tree_test {

using flowplan::flow::MinimumTree;

namespace {

void require_same(const MinimumTree& tree, const std::vector<double>& keys) {
  const auto least = std::min_element(keys.begin(), keys.end());
  REQUIRE(tree.minimum() == *least);
  if (*least == MinimumTree::none) return;
  REQUIRE(tree.top() == static_cast<std::uint32_t>(least - keys.begin()));
  std::vector<std::uint32_t> expected, found;
  const double limit = *least + 5.0;
  for (std::uint32_t i = 0; i < keys.size(); ++i) {
    if (keys[i] <= limit) expected.push_back(i);
  }
  tree.collect(limit, found);
  REQUIRE(found == expected);
}

}  // namespace

TEST_CASE("a tree without keys has no minimum") {
  CHECK(MinimumTree(0).minimum() == MinimumTree::none);
  CHECK(MinimumTree(1).minimum() == MinimumTree::none);
}

TEST_CASE("the minimum is right after every change, at once or deferred") {
  std::mt19937 random(7);
  for (const std::size_t size : {1U, 2U, 15U, 16U, 17U, 255U, 256U, 257U, 5000U}) {
    CAPTURE(size);
    MinimumTree tree(size);
    std::vector<double> keys(size, MinimumTree::none);
    for (int step = 0; step < 200; ++step) {
      const bool deferred = random() % 2 == 0;
      for (std::uint32_t changes = 1 + random() % 4; changes > 0; --changes) {
        const auto i = static_cast<std::uint32_t>(random() % size);
        // Few distinct keys, so that ties are common; some vanish.
        const double key =
            random() % 5 == 0 ? MinimumTree::none : static_cast<double>(random() % 20);
        keys[i] = key;
        if (deferred) {
          tree.defer(i, key);
        } else {
          tree.set(i, key);
        }
      }
      tree.restore();
      require_same(tree, keys);
    }
  }
}

}  // namespace minimum_tree_test
