#include "flowplan/flow/quotient.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "flowplan/base/assert.hpp"

namespace flowplan::flow {
namespace {

constexpr std::uint32_t unseen = no_class;

/// How many there are of each class.
std::vector<std::uint64_t> count(const std::vector<std::uint32_t>& classes, std::uint32_t size) {
  std::vector<std::uint64_t> members(size, 0);
  for (const std::uint32_t c : classes) {
    if (c != no_class) ++members[c];
  }
  return members;
}

/// The first of each class.
std::vector<std::uint32_t> representatives(const std::vector<std::uint32_t>& classes,
                                           std::uint32_t size) {
  std::vector<std::uint32_t> first(size, unseen);
  for (std::uint32_t i = 0; i < classes.size(); ++i) {
    if (classes[i] != no_class && first[classes[i]] == unseen) first[classes[i]] = i;
  }
  return first;
}

/// Uses of links that stand for their class, in the order of the classes of the flows.
struct Crossings {
  std::vector<std::uint32_t> first;  // per flow class, and one past the last
  std::vector<std::uint32_t> use;    // in FlowSet::link
};

Crossings crossings(const FlowSet& flows, const Partition& partition,
                    const std::vector<std::uint32_t>& link_of_class) {
  const auto stands = [&](LinkId link) {
    return link_of_class[partition.link_class[index(link)]] == index(link);
  };
  Crossings found;
  found.first.assign(partition.flow_classes + 1, 0);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      if (stands(flows.link[u])) ++found.first[partition.flow_class[f] + 1];
    }
  }
  std::partial_sum(found.first.begin(), found.first.end(), found.first.begin());
  found.use.resize(found.first.back());
  std::vector<std::uint32_t> next(found.first.begin(), found.first.end() - 1);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      if (stands(flows.link[u])) found.use[next[partition.flow_class[f]]++] = u;
    }
  }
  return found;
}

/// Adds up the uses of one class of flows by class of links. The flows on one link mostly have one
/// coefficient; its multiple is rounded once, where a sum would be once a flow.
class UseSums {
 public:
  explicit UseSums(std::size_t link_classes) : slot_(link_classes, unseen) {}

  struct Sum {
    LinkId link;
    double coefficient = 0.0;         // of the first flow
    std::uint64_t flows_on_link = 0;  // with that coefficient...
    double others = 0.0;              // ...and the sum of what others take
    std::uint64_t other_flows = 0;
    std::uint64_t links_on_flow = 0;

    [[nodiscard]] double total() const {
      return coefficient * static_cast<double>(flows_on_link) + others;
    }
  };

  void add(LinkId link, double coefficient) {
    Sum& sum = at(link);
    if (sum.flows_on_link == 0) sum.coefficient = coefficient;
    if (sum.coefficient == coefficient) {
      ++sum.flows_on_link;
    } else {
      sum.others += coefficient;
      ++sum.other_flows;
    }
  }

  Sum& at(LinkId link) {
    std::uint32_t& slot = slot_[index(link)];
    if (slot == unseen) {
      slot = static_cast<std::uint32_t>(sums_.size());
      sums_.push_back({.link = link});
    }
    return sums_[slot];
  }

  [[nodiscard]] const std::vector<Sum>& sums() const { return sums_; }

  void clear() {
    for (const Sum& sum : sums_)
      slot_[index(sum.link)] = unseen;
    sums_.clear();
  }

 private:
  std::vector<std::uint32_t> slot_;  // per class of links
  std::vector<Sum> sums_;
};

/// Adds a class of flows with the uses that were summed up.
void add_class(FlowSet& flows, const UseSums& sums, const FlowSpec& spec,
               std::vector<Use>& buffer) {
  buffer.clear();
  for (const UseSums::Sum& sum : sums.sums())
    buffer.push_back({sum.link, sum.total()});
  flows.add(buffer, spec);
}

/// Flows of F on a link of L x links of L = links of L on a flow of F x flows of F.
void check_counts(const FlowSet& flows, const Partition& partition, const Quotient& quotient,
                  std::uint32_t flow, UseSums& sums) {
  const std::uint32_t c = partition.flow_class[flow];
  for (std::uint32_t u = flows.first_use[flow]; u < flows.first_use[flow + 1]; ++u) {
    ++sums.at(LinkId{partition.link_class[index(flows.link[u])]}).links_on_flow;
  }
  for (const UseSums::Sum& sum : sums.sums()) {
    FLOWPLAN_ASSERT((sum.flows_on_link + sum.other_flows) *
                        quotient.links_in_class[index(sum.link)] ==
                    sum.links_on_flow * quotient.flows_in_class[c]);
  }
}

}  // namespace

Quotient fold(const Network& network, const FlowSet& flows, const Partition& partition) {
  FLOWPLAN_ASSERT(partition.flow_class.size() == flows.size());
  FLOWPLAN_ASSERT(partition.link_class.size() == network.size());
  Quotient quotient;
  quotient.links_in_class = count(partition.link_class, partition.link_classes);
  quotient.flows_in_class = count(partition.flow_class, partition.flow_classes);

  const auto link_of_class = representatives(partition.link_class, partition.link_classes);
  quotient.network.capacity.reserve(link_of_class.size());
  for (const std::uint32_t l : link_of_class)
    quotient.network.capacity.push_back(network.capacity[l]);

  const auto flow_of_class = representatives(partition.flow_class, partition.flow_classes);
  const Crossings crossed = crossings(flows, partition, link_of_class);
  quotient.flows.reserve(partition.flow_classes, 0);
  UseSums sums(partition.link_classes);
  std::vector<Use> buffer;
  for (std::uint32_t c = 0; c < partition.flow_classes; ++c) {
    for (std::uint32_t i = crossed.first[c]; i < crossed.first[c + 1]; ++i) {
      const std::uint32_t u = crossed.use[i];
      sums.add(LinkId{partition.link_class[index(flows.link[u])]}, flows.coefficient[u]);
    }
    if (partition.equitable) check_counts(flows, partition, quotient, flow_of_class[c], sums);
    add_class(quotient.flows, sums, flows.spec(flow_of_class[c]), buffer);
    sums.clear();
  }
  return quotient;
}

Quotient fold(const Quotient& quotient) {
  const Partition partition = refine(quotient.network, quotient.flows);
  if (!partition.equitable) return quotient;
  Quotient folded = fold(quotient.network, quotient.flows, partition);
  folded.links_in_class.assign(partition.link_classes, 0);
  folded.flows_in_class.assign(partition.flow_classes, 0);
  for (std::size_t l = 0; l < quotient.network.size(); ++l) {
    const std::uint32_t c = partition.link_class[l];
    if (c != no_class) folded.links_in_class[c] += quotient.links_in_class[l];
  }
  for (std::size_t f = 0; f < quotient.flows.size(); ++f) {
    folded.flows_in_class[partition.flow_class[f]] += quotient.flows_in_class[f];
  }
  return folded;
}

void QuotientBuilder::reserve(std::size_t link_classes, std::size_t flow_classes,
                              std::size_t uses) {
  capacity_.reserve(link_classes);
  links_in_class_.reserve(link_classes);
  specs_.reserve(flow_classes);
  flows_in_class_.reserve(flow_classes);
  entries_.reserve(uses);
}

LinkId QuotientBuilder::link_class(double capacity, std::uint64_t links) {
  FLOWPLAN_ASSERT(links >= 1);
  capacity_.push_back(capacity);
  links_in_class_.push_back(links);
  return LinkId{static_cast<std::uint32_t>(capacity_.size() - 1)};
}

FlowId QuotientBuilder::flow_class(const FlowSpec& spec, std::uint64_t flows) {
  FLOWPLAN_ASSERT(flows >= 1);
  specs_.push_back(spec);
  flows_in_class_.push_back(flows);
  return FlowId{static_cast<std::uint32_t>(specs_.size() - 1)};
}

void QuotientBuilder::use(FlowId flow, LinkId link, std::uint64_t flows_on_one_link,
                          std::uint64_t links_of_one_flow, double coefficient) {
  FLOWPLAN_ASSERT(flows_on_one_link >= 1 && links_of_one_flow >= 1);
  FLOWPLAN_ASSERT(flows_on_one_link * links_in_class_[index(link)] ==
                  links_of_one_flow * flows_in_class_[index(flow)]);
  entries_.push_back({flow, link, coefficient * static_cast<double>(flows_on_one_link)});
}

Quotient QuotientBuilder::build() {
  const auto by_flow = [](const Entry& a, const Entry& b) { return a.flow < b.flow; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), by_flow)) {
    std::stable_sort(entries_.begin(), entries_.end(), by_flow);
  }
  Quotient quotient;
  quotient.network.capacity = std::exchange(capacity_, {});
  quotient.links_in_class = std::exchange(links_in_class_, {});
  quotient.flows_in_class = std::exchange(flows_in_class_, {});
  quotient.flows.reserve(specs_.size(), entries_.size());
  UseSums sums(quotient.network.size());
  std::vector<Use> buffer;
  auto entry = entries_.begin();
  for (std::uint32_t f = 0; f < specs_.size(); ++f) {
    for (; entry != entries_.end() && index(entry->flow) == f; ++entry) {
      sums.add(entry->link, entry->coefficient);
    }
    add_class(quotient.flows, sums, specs_[f], buffer);
    sums.clear();
  }
  entries_.clear();
  specs_.clear();
  return quotient;
}

}  // namespace flowplan::flow
