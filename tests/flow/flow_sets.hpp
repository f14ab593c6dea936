#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

/// Relative: what two ways of computing the same few sums may differ by.
inline constexpr double tight = 1e-12;
/// What is left of double against long double; the worst of a million random cases was 4e-14.
inline constexpr double rounding = 1e-13;

/// Uses of these links, whole.
inline std::vector<Use> path(std::initializer_list<std::uint32_t> links) {
  std::vector<Use> uses;
  for (const std::uint32_t l : links)
    uses.push_back({LinkId{l}});
  return uses;
}

/// The same flows after `change(spec)`.
template <class Change>
FlowSet changed(const FlowSet& flows, Change&& change) {
  FlowSet result;
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    FlowSpec spec = flows.spec(f);
    change(spec);
    result.add(flows.uses(f), spec);
  }
  return result;
}

/// The same uses with every link renumbered.
template <class NewId>
std::vector<Use> renumbered(std::vector<Use> uses, NewId&& new_id) {
  for (Use& use : uses)
    use.link = LinkId{static_cast<std::uint32_t>(new_id(index(use.link)))};
  return uses;
}

}  // namespace flowplan::flow
