#include "held_flows.hpp"

#include <algorithm>
#include <utility>

namespace flowplan::flow {

void HeldFlows::add(std::uint32_t holder, std::uint32_t flow, double due) {
  due_[flow] = due;
  links_[flow] = {};
  Clock& clock = clocks_[holder];
  clock.first = clock.first == none ? flow : merge(clock.first, flow);
  if (clock.first == flow) renew_end(holder);
}

void HeldFlows::remove(std::uint32_t holder, std::uint32_t flow) {
  Clock& clock = clocks_[holder];
  const std::uint32_t below = merge_siblings(links_[flow].child);
  if (clock.first == flow) {
    clock.first = below;
    renew_end(holder);
  } else {
    cut(flow);
    if (below != none) clock.first = merge(clock.first, below);
  }
}

void HeldFlows::set_level(std::uint32_t holder, double level, double now) {
  Clock& clock = clocks_[holder];
  clock.service = service(holder, now);
  clock.since_s = now;
  clock.level = level;
  renew_end(holder);
}

void HeldFlows::take_ended(double limit, std::vector<std::uint32_t>& out) {
  ends_.restore();
  ending_.clear();
  ends_.collect(limit, ending_);
  for (const std::uint32_t holder : ending_) {
    Clock& clock = clocks_[holder];
    while (clock.first != none && end_of(clock) <= limit) {
      out.push_back(clock.first);
      clock.first = merge_siblings(links_[clock.first].child);
    }
    renew_end(holder);
  }
}

double HeldFlows::end_of(const Clock& clock) const {
  if (clock.first == none) return MinimumTree::none;
  const double left = std::max(0.0, due_[clock.first] - clock.service);
  return left > 0.0 ? clock.since_s + left / clock.level : clock.since_s;
}

/// The root of two heaps made one.
std::uint32_t HeldFlows::merge(std::uint32_t a, std::uint32_t b) {
  if (due_[b] < due_[a]) std::swap(a, b);
  Link& below = links_[b];
  below.previous = a;
  below.next = links_[a].child;
  if (below.next != none) links_[below.next].previous = b;
  links_[a].child = b;
  links_[a].next = links_[a].previous = none;
  return a;
}

/// The root of a list of heaps made one: in pairs, then from the last pair to the first.
std::uint32_t HeldFlows::merge_siblings(std::uint32_t first) {
  std::uint32_t pairs = none;  // chained by `next`, the last one first
  while (first != none) {
    const std::uint32_t a = first;
    const std::uint32_t b = links_[a].next;
    first = b == none ? none : links_[b].next;
    const std::uint32_t pair = b == none ? a : merge(a, b);
    links_[pair].next = pairs;
    pairs = pair;
  }
  std::uint32_t root = none;
  while (pairs != none) {
    const std::uint32_t next = links_[pairs].next;
    root = root == none ? pairs : merge(root, pairs);
    pairs = next;
  }
  if (root != none) links_[root].next = links_[root].previous = none;
  return root;
}

/// Takes a flow, with its children, out of its siblings; it is not a root.
void HeldFlows::cut(std::uint32_t flow) {
  const Link& link = links_[flow];
  Link& before = links_[link.previous];
  (before.child == flow ? before.child : before.next) = link.next;
  if (link.next != none) links_[link.next].previous = link.previous;
}

}  // namespace flowplan::flow
