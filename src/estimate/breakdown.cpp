#include "flowplan/estimate/breakdown.hpp"

#include <algorithm>
#include <map>

namespace flowplan {

namespace {

void collect(const Breakdown& node, std::map<std::string, Seconds>& by_limit) {
  if (node.children.empty()) by_limit[node.limit] += node.leaf_time;
  for (const Breakdown& child : node.children)
    collect(child, by_limit);
}

}  // namespace

Seconds Breakdown::time() const {
  if (children.empty()) return leaf_time;
  Seconds sum;
  for (const Breakdown& child : children)
    sum += child.time();
  return sum;
}

std::vector<LimitShare> limits(const Breakdown& tree) {
  std::map<std::string, Seconds> by_limit;
  collect(tree, by_limit);
  std::vector<LimitShare> shares;
  for (const auto& [limit, time] : by_limit)
    shares.push_back({limit, time});
  std::stable_sort(shares.begin(), shares.end(),
                   [](const LimitShare& a, const LimitShare& b) { return a.time > b.time; });
  return shares;
}

const Breakdown* find(const Breakdown& tree, const std::string& id) {
  if (tree.id == id) return &tree;
  for (const Breakdown& child : tree.children) {
    if (const Breakdown* found = find(child, id)) return found;
  }
  return nullptr;
}

}  // namespace flowplan
