#pragma once

#include "flowplan/base/quantity.hpp"
#include "flowplan/collective/schedule.hpp"

namespace flowplan::collective {

/// The parts of t = T0 + (A^p + D^p)^(1/p).
struct Timing {
  Seconds launch{};    ///< T0
  Seconds latency{};   ///< A, the serial part
  Seconds transfer{};  ///< D
  Seconds total{};
};

/// Time of a schedule whose flows need `transfer` on their tightest link. How much of latency and
/// transfer overlap, and what a step costs, depend on the schedule and the stack:
/// docs/models/collectives.md. NVLS and NVLS tree follow the law loop by loop. `inside`: what the
/// first phase of a hierarchical all-to-all needs inside its nodes, before `transfer` between them.
[[nodiscard]] Timing apply_law(const Stack& stack, const Schedule& schedule, Seconds transfer,
                               Seconds inside = {});

/// Chunk that each channel of each rank moves in one loop, by NCCL's rule (src/enqueue.cc).
/// `operations`: channels times ranks of the switch.
[[nodiscard]] Bytes chunk(const ChunkRule& rule, double operations, Bytes size);
/// Loops that an NVLS collective takes; whole ones while they are few. `operations` as above.
[[nodiscard]] double nvls_loops(const NvlsLaw& law, double operations, Bytes size);
/// Wire rate of a GPU's port under NVLS, GB/s: between the listed counts of ranks it is
/// interpolated in log2(ranks), outside it is the nearest.
[[nodiscard]] double nvls_rate(const NvlsLaw& law, int ranks);

}  // namespace flowplan::collective
