#include "fat_tree.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

namespace flowplan::flow {
namespace {

constexpr std::size_t most_levels = 16;

/// A node of level i has a digit for every level: those below i say which way up leads to it, those
/// from i on which way down leads to the hosts below it. Digits make its number, the lowest level
/// fastest. Parent and child differ in one digit.
class FatTreeFabric : public Fabric {
 public:
  explicit FatTreeFabric(const FatTree& tree) : tree_(tree) {
    const std::size_t levels = tree.down.size();
    for (std::size_t i = 0; i <= levels; ++i) {
      // Bounded, so that nonsense can be refused before anything is built.
      std::uint64_t size = 1;
      for (std::size_t j = 0; j < i; ++j)
        size = bounded_product(size, tree.up[j]);
      for (std::size_t j = i; j < levels; ++j)
        size = bounded_product(size, tree.down[j]);
      size_.push_back(size);
      first_node_.push_back(nodes_);
      nodes_ += size;
      if (i == levels) break;
      first_link_.push_back(links_);
      links_ += 2 * bounded_product(size, tree.up[i]);
    }
  }

  [[nodiscard]] std::uint64_t level_size(std::size_t level) const { return size_[level]; }
  [[nodiscard]] std::uint64_t nodes() const { return nodes_; }
  [[nodiscard]] std::uint64_t links() const { return links_; }

  [[nodiscard]] std::uint32_t hosts() const override {
    return static_cast<std::uint32_t>(size_.front());
  }

  void build(Case& out) const override {
    CaseBuilder builder(out, nodes_, links_);
    builder.add_nodes("h", hosts());
    for (std::size_t i = 1; i < size_.size(); ++i) {
      builder.add_nodes(fmt::format("s{}.", i).c_str(), static_cast<std::uint32_t>(size_[i]));
    }
    std::uint32_t ways_up = 1;  // product of `up` below the level
    for (std::size_t i = 0; i < tree_.down.size(); ++i) {
      for (std::uint32_t child = 0; child < size_[i]; ++child) {
        for (std::uint32_t way = 0; way < tree_.up[i]; ++way) {
          const std::uint32_t above = parent(i, child, way, ways_up);
          builder.add_cable(static_cast<std::uint32_t>(first_node_[i]) + child,
                            static_cast<std::uint32_t>(first_node_[i + 1]) + above,
                            tree_.bytes_per_s);
        }
      }
      ways_up *= tree_.up[i];
    }
  }

  void route(std::uint32_t source, std::uint32_t target,
             std::vector<LinkId>& links) const override {
    // The digits of the common ancestor below its level are the ways up; they stay on the way down
    // until they are replaced by the target's from the top.
    std::uint32_t node = source, ways_up = 1, hosts_below = 1;
    std::size_t level = 0;
    for (; source / hosts_below != target / hosts_below; ++level) {
      const std::uint32_t way = target / ways_up % tree_.up[level];
      links.push_back(up_link(level, node, way));
      node = parent(level, node, way, ways_up);
      ways_up *= tree_.up[level];
      hosts_below *= tree_.down[level];
    }
    while (level-- > 0) {
      ways_up /= tree_.up[level];
      hosts_below /= tree_.down[level];
      const std::uint32_t way = node / ways_up % tree_.up[level];
      const std::uint32_t branch = target / hosts_below % tree_.down[level];
      const std::uint32_t high = node / ways_up / tree_.up[level];
      node = node % ways_up + ways_up * (branch + tree_.down[level] * high);
      links.push_back(down_link(level, node, way));
    }
  }

 private:
  /// `ways_up` is the product of `up` below the level.
  [[nodiscard]] std::uint32_t parent(std::size_t level, std::uint32_t child, std::uint32_t way,
                                     std::uint32_t ways_up) const {
    const std::uint32_t high = child / ways_up / tree_.down[level];
    return child % ways_up + ways_up * (way + tree_.up[level] * high);
  }
  [[nodiscard]] LinkId up_link(std::size_t level, std::uint32_t child, std::uint32_t way) const {
    return LinkId{static_cast<std::uint32_t>(first_link_[level]) +
                  2 * (child * tree_.up[level] + way)};
  }
  [[nodiscard]] LinkId down_link(std::size_t level, std::uint32_t child, std::uint32_t way) const {
    return LinkId{static_cast<std::uint32_t>(index(up_link(level, child, way)) + 1)};
  }

  FatTree tree_;
  std::vector<std::uint64_t> size_;                     // nodes of each level, hosts first
  std::vector<std::uint64_t> first_node_, first_link_;  // of each level
  std::uint64_t nodes_ = 0, links_ = 0;
};

}  // namespace

Result<std::unique_ptr<Fabric>> make_fabric(const FatTree& tree) {
  if (tree.down.empty() || tree.down.size() > most_levels || tree.up.size() != tree.down.size()) {
    return fail(bad_generator(
        fmt::format("a fat tree of {} numbers down and {} up", tree.down.size(), tree.up.size()),
        fmt::format("one number a level each, for 1 to {} levels", most_levels)));
  }
  if (std::count(tree.down.begin(), tree.down.end(), 0U) +
          std::count(tree.up.begin(), tree.up.end(), 0U) >
      0) {
    return fail(bad_generator("a fat tree with no cable on some level",
                              "numbers down and up are 1 or more"));
  }
  if (!is_bandwidth(tree.bytes_per_s)) return fail(bad_generator("bandwidth out of range"));
  auto fabric = std::make_unique<FatTreeFabric>(tree);
  if (fabric->level_size(0) > most_hosts || fabric->nodes() > most_links ||
      fabric->links() > most_links) {
    return fail(
        bad_generator("the fat tree is too large",
                      fmt::format("at most {} hosts and {} links", most_hosts, most_links)));
  }
  return fabric;
}

FatTree full_fat_tree(std::uint32_t hosts, std::uint32_t levels) {
  FatTree tree;
  // The radices from the top: each the largest divisor that leaves the others no smaller.
  std::uint32_t left = hosts;
  for (; levels > 1; --levels) {
    std::uint32_t radix = 1;
    for (std::uint64_t d = 2; d <= left; ++d) {
      std::uint64_t power = 1;
      for (std::uint32_t i = 0; i < levels; ++i)
        power = bounded_product(power, d);
      if (power > left) break;
      if (left % d == 0) radix = static_cast<std::uint32_t>(d);
    }
    if (radix > 1) tree.down.push_back(radix);
    left /= radix;
  }
  tree.down.push_back(left);
  std::reverse(tree.down.begin(), tree.down.end());
  tree.up.push_back(1);
  tree.up.insert(tree.up.end(), tree.down.begin(), tree.down.end() - 1);
  return tree;
}

}  // namespace flowplan::flow
