#pragma once

#include "flowplan/model/memory.hpp"
#include "flowplan/training/framework.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

/// Bytes of a parameter in each state on a job's ranks, before any sharding; the framework says
/// what the job leaves open.
[[nodiscard]] model::StateFormat state_format(const Framework& framework, const Job& job);
/// Of a gradient as it is stored and reduced.
[[nodiscard]] double gradient_bytes(const Framework& framework, const Job& job);
/// Of a weight of a layer as it is gathered.
[[nodiscard]] double gather_bytes(const Framework& framework, const Job& job);
/// Moved by the optimizer for a parameter of its shard: the framework's figure by the bytes that
/// the states have over the usual ones. Gradients and weights move once, master copy and moments
/// there and back.
[[nodiscard]] double optimizer_traffic(const Framework& framework, const Job& job);

}  // namespace flowplan::training
