#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "flowplan/flow/refine.hpp"

namespace flowplan::flow {

/// Numbers colours in the order in which they come. An open-addressing table that grows with the
/// colours and not with their bearers, so that few classes stay in cache.
class ColourTable {
 public:
  ColourTable() : slots_(first_slots) {}

  void clear();
  [[nodiscard]] std::uint32_t size() const { return size_; }

  /// The number of `colour`, which is not 0.
  std::uint32_t number(std::uint64_t colour) {
    if (colour == last_.colour) return last_.number;
    std::size_t i = colour & (slots_.size() - 1);
    while (slots_[i].colour != colour) {
      if (slots_[i].colour == 0) return insert(i, colour);
      i = (i + 1) & (slots_.size() - 1);
    }
    last_ = slots_[i];
    return last_.number;
  }

 private:
  static constexpr std::size_t first_slots = 1024;
  struct Slot {
    std::uint64_t colour = 0;
    std::uint32_t number = 0;
  };

  std::uint32_t insert(std::size_t slot, std::uint64_t colour);
  void grow();

  std::vector<Slot> slots_;
  Slot last_;
  std::uint32_t size_ = 0;
};

/// Colour refinement round by round. After each round all links of a class are crossed by equally
/// many flows of each class, so the classes can be tried before they are equitable.
class Refinement {
 public:
  /// Stops when there are more than `most_flow_classes`.
  Refinement(const Network& network, const FlowSet& flows, const Distinction& distinction,
             std::size_t most_flow_classes);

  enum class Step { split, stable, too_many };
  Step round();

  /// Not to be used after `too_many`.
  [[nodiscard]] const Partition& partition() const { return partition_; }
  [[nodiscard]] Partition take() { return std::move(partition_); }

 private:
  struct Link {
    std::uint64_t colour;
    std::uint64_t sum;  // of the colours of its flows in this round
  };

  void colour_links(const Network& network);
  void colour_flows(const Distinction& distinction);
  [[nodiscard]] bool refine_flows();
  void refine_links();

  const FlowSet& flows_;
  std::size_t most_flow_classes_;
  std::vector<std::uint64_t> flow_colour_;
  std::vector<Link> links_;
  ColourTable numbers_;
  Partition partition_;
};

}  // namespace flowplan::flow
