#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

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
