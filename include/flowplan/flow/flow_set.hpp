#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "flowplan/flow/column.hpp"

namespace flowplan::flow {

/// Index of a link in a `Network`.
enum class LinkId : std::uint32_t {};
/// Index of a flow in a `FlowSet`.
enum class FlowId : std::uint32_t {};

inline constexpr LinkId no_link{std::numeric_limits<std::uint32_t>::max()};
inline constexpr double unlimited = std::numeric_limits<double>::infinity();

[[nodiscard]] constexpr std::size_t index(LinkId id) {
  return static_cast<std::size_t>(id);
}
[[nodiscard]] constexpr std::size_t index(FlowId id) {
  return static_cast<std::size_t>(id);
}

/// Shared resources: a directed network link, a NIC, a GPU's SMs or HBM. Only their capacity
/// matters here; what they are is the topology's business.
struct Network {
  /// Bytes per second (or any unit per second that the flows' amounts are in); > 0, finite.
  std::vector<double> capacity;

  [[nodiscard]] std::size_t size() const { return capacity.size(); }
};

/// A flow running at rate r takes `coefficient` * r of the link's capacity.
struct Use {
  LinkId link;
  double coefficient = 1.0;  ///< > 0, finite
};

struct FlowSpec {
  double bytes = 0.0;            ///< >= 0; a flow of 0 bytes ends when it starts
  double start_s = 0.0;          ///< >= 0, relative to the set's release
  double cap_per_s = unlimited;  ///< > 0: the flow's rate never exceeds it
  double weight = 1.0;           ///< > 0: rates are max-min fair in rate / weight
};

/// Flows as flat arrays. The uses of flow f are [first_use[f], first_use[f + 1]); a link appears at
/// most once in one flow. A flow without uses must have a finite cap.
struct FlowSet {
  std::vector<std::uint32_t> first_use{0};
  std::vector<LinkId> link;
  Column coefficient{1.0};  ///< per use
  std::vector<double> bytes;
  Column start_s{0.0}, cap_per_s{unlimited}, weight{1.0};

  [[nodiscard]] std::size_t size() const { return bytes.size(); }
  /// The flow's row, which `add()` takes.
  [[nodiscard]] std::vector<Use> uses(std::size_t flow) const;
  [[nodiscard]] FlowSpec spec(std::size_t flow) const;

  /// Makes room for so many flows and uses in all.
  void reserve(std::size_t flows, std::size_t uses);
  FlowId add(std::span<const Use> uses, const FlowSpec& spec);
};

}  // namespace flowplan::flow
