#pragma once

#include <string_view>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/collective/collective.hpp"

namespace flowplan::collective {

/// The all-reduce kernels of serving engines inside one NVLink domain, on one generation of GPUs.
/// Times in us, rates in byte/s of a GPU's port.
struct CustomAllReduceLaw {
  double launch_us = 0.0, launch_doubling_us = 0.0;  ///< of one-shot; per doubling of the ranks
  double growth_us = 0.0;  ///< per doubling of the ranks, while blocks start
  double growth_from_bytes = 1.0, growth_to_bytes = 1.0;
  double fill_us = 0.0, overlap = 1.0;  ///< A and p of (A^p + D^p)^(1/p) - A
  double one_shot_rate = 0.0;
  double two_shot_us = 0.0, two_shot_doubling_us = 0.0;
  double two_shot_rate = 0.0;   ///< 0: the engine has no such stage
  double nccl_saving_us = 0.0;  ///< what a graph of the engine saves on NCCL's launch
  double most_bytes = 0.0;      ///< NCCL beyond; 0: no limit
  double band = 0.0;            ///< half-width of the 90 % band, as a fraction
};
/// From the set custom-all-reduce-GENERATION; rates carried over as fractions of the GPU's NVLink.
/// Errors FP030 (no such set), FP032 (a GPU without NVLink).
[[nodiscard]] Result<CustomAllReduceLaw> read_custom_all_reduce(const catalog::Catalog& catalog,
                                                                const catalog::Gpu& gpu);

/// `one_shot`: every rank reads all the others' vectors; `two_shot`: reduce-scatter, all-gather.
enum class AllReduceStage { one_shot, two_shot, nccl };
[[nodiscard]] std::string_view name(AllReduceStage stage);  ///< "one-shot", "two-shot", "NCCL"

struct CustomAllReduce {
  Seconds time{};
  AllReduceStage stage{};
  double band = 0.0;
  Seconds nccl{};  ///< what NCCL takes when it is launched by itself
};

/// The fastest of the kernels and of NCCL, whose own time is given. `ranks` >= 2, `size` > 0: the
/// full vector of each rank.
[[nodiscard]] CustomAllReduce custom_all_reduce(const CustomAllReduceLaw& law, int ranks,
                                                Bytes size, Seconds nccl);
/// The same for a group of one NVLink domain. Errors FP061 (a group of several domains) and those
/// of predict.
[[nodiscard]] Result<CustomAllReduce> custom_all_reduce(const catalog::Catalog& catalog,
                                                        const topology::Cluster& cluster,
                                                        const Group& group, Bytes size);

}  // namespace flowplan::collective
