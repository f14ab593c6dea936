#pragma once

#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"

namespace flowplan {

/// A time taken apart. A leaf holds seconds and names what limits it; an inner node's time is the
/// sum of its children, so the leaves of a tree always sum to its total.
struct Breakdown {
  std::string id;       ///< stable, dotted: "step.pipeline_bubble"
  std::string label;    ///< for people
  Seconds leaf_time{};  ///< of a leaf; unused by an inner node
  std::string limit;    ///< the limiting resource: "tensor cores (bf16)", "EFA", "host launch"
  std::string next;     ///< what limits when that one is lifted; may be empty
  std::string formula;  ///< how the number came about, in words and values; may be empty
  std::vector<Breakdown> children;

  /// A leaf's own time, or the sum over its children.
  [[nodiscard]] Seconds time() const;
};

/// The limiting resources with the time each limits, longest first; ties by name.
struct LimitShare {
  std::string limit;
  Seconds time{};
};
[[nodiscard]] std::vector<LimitShare> limits(const Breakdown& tree);
/// The leaf or node of that id; null when there is none.
[[nodiscard]] const Breakdown* find(const Breakdown& tree, const std::string& id);

}  // namespace flowplan
