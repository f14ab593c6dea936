#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/collective/allowed.hpp"
#include "flowplan/collective/shape.hpp"
#include "flowplan/collective/stack.hpp"

namespace flowplan::collective {

/// What a communicator runs.
struct Choice {
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 0;
  double channel_share = 1.0;  ///< of the channels that a large size would take, at most 1
  std::string reason;
};

/// What a request forces, as NCCL_ALGO, NCCL_PROTO and NCCL_MIN_NCHANNELS = NCCL_MAX_NCHANNELS do.
struct Forced {
  Allowed<Algorithm> algorithm;
  Allowed<Protocol> protocol;
  std::optional<int> channels;  ///< 1 to `most_channels`

  [[nodiscard]] bool any() const { return algorithm.stated() || protocol.stated() || channels; }
};
inline constexpr int most_channels = 64;  ///< that NCCL has

/// One that NCCL could run, and what its model says that it costs.
struct Candidate {
  Algorithm algorithm{};
  Protocol protocol{};
  std::optional<Seconds> cost;  ///< nothing: NCCL has no model of it
  bool eligible = true;         ///< false: only when it is forced
};
/// All that the shape has, in the order of `all_algorithms` and `all_protocols`.
[[nodiscard]] std::vector<Candidate> candidates(const Stack& stack, Operation operation,
                                                const Shape& shape, Bytes size, bool nvls);

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
/// model. Errors FP062: nothing available is left of what was forced, or channels were forced that
/// do not exist (alltoall and sendrecv have none to force).
[[nodiscard]] Result<Choice> choose(const Stack& stack, Operation operation, const Shape& shape,
                                    Bytes size, bool nvls, const Forced& forced = {});

/// The table's switches for a count of nodes that it has no row for: sizes are interpolated in
/// log2(nodes). A choice that only one of the two rows has shrinks to nothing at the other: there
/// it starts where the following choice does, as polygons in (size, nodes) do. Beyond the last row
/// the last two are continued when they have the same choices, else the last one holds; before the
/// first row, the first.
[[nodiscard]] SwitchRow row_at(const SwitchTable& table, int nodes);

}  // namespace flowplan::collective
