#pragma once

#include <optional>
#include <string>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/collective/shape.hpp"
#include "flowplan/collective/stack.hpp"

namespace flowplan::collective {

/// What a communicator runs.
struct Choice {
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 0;
  std::string reason;
};

/// Whether NCCL has that algorithm and protocol for the operation on that shape. `nvls`: the
/// hardware reduces in its switch.
[[nodiscard]] bool available(const Stack& stack, Operation operation, const Shape& shape, bool nvls,
                             Algorithm algorithm, Protocol protocol);

/// What NCCL believes it would take (src/graph/tuning.cc; not a prediction). The pair must be
/// available.
[[nodiscard]] Seconds nccl_cost(const Stack& stack, Operation operation, const Shape& shape,
                                Bytes size, Algorithm algorithm, Protocol protocol);

/// Algorithm and protocol as NCCL chooses them: those forced; else the tuner plugin's table for
/// that count of nodes (interpolated in log2(nodes), see below); else the least cost by NCCL's
/// model. Errors FP062: nothing available is left of what was forced.
[[nodiscard]] Result<Choice> choose(const Stack& stack, Operation operation, const Shape& shape,
                                    Bytes size, bool nvls, std::optional<Algorithm> algorithm,
                                    std::optional<Protocol> protocol);

/// The table's switches for a count of nodes that it has no row for: sizes are interpolated in
/// log2(nodes). A choice that only one of the two rows has shrinks to nothing at the other: there
/// it starts where the following choice does, as polygons in (size, nodes) do. Beyond the last row
/// the last two are continued when they have the same choices, else the last one holds; before the
/// first row, the first.
[[nodiscard]] SwitchRow row_at(const SwitchTable& table, int nodes);

}  // namespace flowplan::collective
