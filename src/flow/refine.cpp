#include "flowplan/flow/refine.hpp"

#include <bit>
#include <utility>

#include "flowplan/base/assert.hpp"
#include "refinement.hpp"

namespace flowplan::flow {
namespace {

/// Colour of a link that no flow uses.
constexpr std::uint64_t colourless = 0;

/// Odd multipliers that spread small differences over all bits.
constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
constexpr std::uint64_t first_factor = 0xbf58476d1ce4e5b9;
constexpr std::uint64_t second_factor = 0x94d049bb133111eb;

/// The finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators"), never colourless.
constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * first_factor;
  x = (x ^ (x >> 27)) * second_factor;
  x ^= x >> 31;
  return x == colourless ? 1 : x;
}

constexpr std::uint64_t mix(std::uint64_t seed, double value) {
  return mix(seed + golden_ratio * std::bit_cast<std::uint64_t>(value));
}

/// A neighbour's colour as seen through a coefficient. Colours are well mixed already, so most need
/// nothing more.
constexpr std::uint64_t through(std::uint64_t colour, double coefficient) {
  return coefficient == 1.0 ? colour : mix(colour, coefficient);
}

}  // namespace

void ColourTable::clear() {
  slots_.assign(slots_.size(), {});
  last_ = {};
  size_ = 0;
}

std::uint32_t ColourTable::insert(std::size_t slot, std::uint64_t colour) {
  last_ = slots_[slot] = {colour, size_++};
  const std::uint32_t number = last_.number;
  if (2 * std::size_t{size_} > slots_.size()) grow();
  return number;
}

void ColourTable::grow() {
  std::vector<Slot> old(4 * slots_.size());
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.colour == 0) continue;
    std::size_t i = slot.colour & (slots_.size() - 1);
    while (slots_[i].colour != 0)
      i = (i + 1) & (slots_.size() - 1);
    slots_[i] = slot;
  }
}

Refinement::Refinement(const Network& network, const FlowSet& flows, const Distinction& distinction,
                       std::size_t most_flow_classes)
    : flows_(flows), most_flow_classes_(most_flow_classes) {
  FLOWPLAN_ASSERT(flows.first_use.size() == flows.size() + 1);
  colour_links(network);
  colour_flows(distinction);
  partition_.flow_class.resize(flows.size());
  partition_.link_class.resize(network.size());
}

void Refinement::colour_links(const Network& network) {
  links_.reserve(network.size());
  for (const double capacity : network.capacity)
    links_.push_back({mix(0, capacity), 0});
}

void Refinement::colour_flows(const Distinction& distinction) {
  FLOWPLAN_ASSERT(distinction.label.empty() || distinction.label.size() == flows_.size());
  flow_colour_.reserve(flows_.size());
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    std::uint64_t colour = mix(mix(1, flows_.cap_per_s[f]), flows_.weight[f]);
    if (distinction.over_time) colour = mix(mix(colour, flows_.bytes[f]), flows_.start_s[f]);
    if (!distinction.label.empty()) colour = mix(colour + golden_ratio * distinction.label[f]);
    flow_colour_.push_back(colour);
  }
}

Refinement::Step Refinement::round() {
  const auto before = std::pair(partition_.flow_classes, partition_.link_classes);
  ++partition_.rounds;
  if (!refine_flows()) return Step::too_many;
  refine_links();
  // A round only splits classes, so equal numbers mean equal classes.
  partition_.equitable = before == std::pair(partition_.flow_classes, partition_.link_classes);
  return partition_.equitable ? Step::stable : Step::split;
}

bool Refinement::refine_flows() {
  numbers_.clear();
  for (std::size_t f = 0; f < flows_.size(); ++f) {
    const std::uint32_t begin = flows_.first_use[f];
    const std::uint32_t end = flows_.first_use[f + 1];
    std::uint64_t colour = flow_colour_[f];
    for (std::uint32_t u = begin; u < end; ++u) {
      colour += through(links_[index(flows_.link[u])].colour, flows_.coefficient[u]);
    }
    colour = mix(colour);
    flow_colour_[f] = colour;
    partition_.flow_class[f] = numbers_.number(colour);
    for (std::uint32_t u = begin; u < end; ++u) {
      links_[index(flows_.link[u])].sum += through(colour, flows_.coefficient[u]);
    }
    if (numbers_.size() > most_flow_classes_) return false;
  }
  partition_.flow_classes = numbers_.size();
  return true;
}

void Refinement::refine_links() {
  numbers_.clear();
  for (std::size_t l = 0; l < links_.size(); ++l) {
    Link& link = links_[l];
    const bool used = link.sum != 0;
    link.colour = used ? mix(link.colour + mix(link.sum)) : colourless;
    link.sum = 0;
    partition_.link_class[l] = used ? numbers_.number(link.colour) : no_class;
  }
  partition_.link_classes = numbers_.size();
}

Partition refine(const Network& network, const FlowSet& flows, const Distinction& distinction,
                 std::uint32_t rounds) {
  FLOWPLAN_ASSERT(rounds >= 1);
  Refinement refinement(network, flows, distinction, flows.size());
  for (std::uint32_t r = 0; r < rounds; ++r) {
    if (refinement.round() == Refinement::Step::stable) break;
  }
  return refinement.take();
}

}  // namespace flowplan::flow
