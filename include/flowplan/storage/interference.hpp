#pragma once

#include "flowplan/base/quantity.hpp"

namespace flowplan::storage {

/// A training step as one node's network devices see it.
struct StepTraffic {
  Seconds step{};           ///< alone, > 0
  Seconds exposed{};        ///< part of it that waits for collectives between nodes
  double utilisation = 0;   ///< of the devices by collectives, mean over the step, 0..1
  BytesPerSecond device{};  ///< of a node's devices together, one direction, > 0
};

/// A transfer that goes over the same devices while training goes on.
struct Background {
  Bytes per_node{};       ///< that it moves
  BytesPerSecond rate{};  ///< of a node when it runs alone, > 0
};

/// What both make of each other.
struct Interference {
  double steps = 0.0;        ///< that the transfer lasts
  Seconds longer_step{};     ///< by which each of these takes longer
  Seconds longer{};          ///< training waits in all: steps x longer_step
  Seconds transfer_alone{};  ///< of the background alone
  Seconds transfer{};        ///< beside training
};

/// Simulates steps and the transfer on one node's devices (`flow::simulate` of a task graph; by
/// symmetry every node does the same). Each step computes while the hidden part of its collectives
/// runs, then waits for the exposed part. Collectives never go faster than alone; where both want
/// more than the devices have, they share in proportion to what each takes alone.
[[nodiscard]] Interference interfere(const StepTraffic& training, const Background& background);

}  // namespace flowplan::storage
