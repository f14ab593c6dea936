#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

std::vector<Use> FlowSet::uses(std::size_t flow) const {
  std::vector<Use> uses;
  uses.reserve(first_use[flow + 1] - first_use[flow]);
  for (std::size_t u = first_use[flow]; u < first_use[flow + 1]; ++u)
    uses.push_back({link[u], coefficient[u]});
  return uses;
}

FlowSpec FlowSet::spec(std::size_t flow) const {
  return {.bytes = bytes[flow],
          .start_s = start_s[flow],
          .cap_per_s = cap_per_s[flow],
          .weight = weight[flow]};
}

void FlowSet::reserve(std::size_t flows, std::size_t uses) {
  first_use.reserve(flows + 1);
  link.reserve(uses);
  coefficient.reserve(uses);
  bytes.reserve(flows);
  start_s.reserve(flows);
  cap_per_s.reserve(flows);
  weight.reserve(flows);
}

FlowId FlowSet::add(std::span<const Use> uses, const FlowSpec& spec) {
  for (const Use& use : uses) {
    link.push_back(use.link);
    coefficient.push_back(use.coefficient);
  }
  first_use.push_back(static_cast<std::uint32_t>(link.size()));
  bytes.push_back(spec.bytes);
  start_s.push_back(spec.start_s);
  cap_per_s.push_back(spec.cap_per_s);
  weight.push_back(spec.weight);
  return FlowId{static_cast<std::uint32_t>(size() - 1)};
}

}  // namespace flowplan::flow
