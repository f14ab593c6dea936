#pragma once

#include <string>

#include "flowplan/compute/kernels.hpp"
#include "flowplan/training/framework.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

/// One kind of GPU work of one micro-batch.
struct Work {
  Seconds forward{}, backward{};
  std::string limit, next;
};

/// GPU work of one transformer layer on one rank, for one micro-batch. Communication is not in it.
struct LayerWork {
  Work gemm, attention, memory_bound, casts;
  [[nodiscard]] Seconds forward() const;
  [[nodiscard]] Seconds backward() const;
};
[[nodiscard]] LayerWork layer_work(const compute::Kernels& kernels, const Framework& framework,
                                   const Job& job);

/// What recomputation adds to a layer's backward pass, without communication.
[[nodiscard]] Seconds recomputation(const LayerWork& layer, Recompute recompute);

/// Output projection and loss on the last stage: 16-bit GEMMs, then bytes per logit.
struct HeadWork {
  Work gemm;
  Seconds loss{};  ///< forward and backward
  [[nodiscard]] Seconds total() const;
};
[[nodiscard]] HeadWork head_work(const compute::Kernels& kernels, const Framework& framework,
                                 const Job& job);

/// Parameters of one layer on one rank: GEMM weights divided by TP, the rest whole.
[[nodiscard]] double layer_parameters_per_rank(const Job& job);
/// Of the embedding or the output head, vocabulary divided by TP.
[[nodiscard]] double vocabulary_parameters_per_rank(const Job& job);

/// Key and value heads of one rank: replicated when there are fewer than TP ranks.
[[nodiscard]] std::int64_t kv_heads_per_rank(const Job& job);

}  // namespace flowplan::training
