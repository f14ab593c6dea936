#pragma once

#include <string>

#include "flowplan/training/framework.hpp"
#include "flowplan/training/iteration.hpp"
#include "layer.hpp"

namespace flowplan::training {

/// Memory of every stage of a job whose layout has been checked.
[[nodiscard]] MemoryUse memory_use(const Framework& framework, const Job& job, Bytes hbm);

/// The fullest stage of it.
struct PeakMemory {
  Bytes bytes{};
  int stage = 0;
};
[[nodiscard]] PeakMemory peak_memory(const Framework& framework, const Job& job);

/// Activations that one layer of a kind keeps for one micro-batch on one rank.
[[nodiscard]] Bytes kept_activations(const Framework& framework, const Job& job, LayerKind kind);

/// When in a step the fullest stage holds most, in words.
[[nodiscard]] std::string peak_moment(const Job& job, const MemoryUse& use);

}  // namespace flowplan::training
