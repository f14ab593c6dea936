#include "flowplan/collective/custom_all_reduce.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"

namespace flowplan::collective {
namespace {

constexpr double port_gbyte = 1e9;

std::string_view generation_of(const catalog::Gpu& gpu) {
  switch (gpu.generation) {
    case catalog::GpuGeneration::ampere:
      return "ampere";
    case catalog::GpuGeneration::hopper:
      return "hopper";
    case catalog::GpuGeneration::blackwell:
      break;
  }
  return "blackwell";
}

/// 0 up to `from`, 1 from `to` on, linear in the logarithm between.
double started(double size, double from, double to) {
  if (size <= from) return 0.0;
  return size >= to ? 1.0 : std::log2(size / from) / std::log2(to / from);
}

double one_shot_us(const CustomAllReduceLaw& law, double ranks, double size) {
  const double doublings = std::log2(ranks);
  const double transfer = (ranks - 1.0) * size / law.one_shot_rate * 1e6;
  const double p = law.overlap;
  const double fill =
      std::pow(std::pow(law.fill_us, p) + std::pow(transfer, p), 1.0 / p) - law.fill_us;
  return law.launch_us + law.launch_doubling_us * doublings + fill +
         law.growth_us * doublings * started(size, law.growth_from_bytes, law.growth_to_bytes);
}

double two_shot_us(const CustomAllReduceLaw& law, double ranks, double size) {
  return law.two_shot_us + law.two_shot_doubling_us * std::log2(ranks) +
         2.0 * (ranks - 1.0) / ranks * size / law.two_shot_rate * 1e6;
}

}  // namespace

std::string_view name(AllReduceStage stage) {
  switch (stage) {
    case AllReduceStage::one_shot:
      return "one-shot";
    case AllReduceStage::two_shot:
      return "two-shot";
    case AllReduceStage::nccl:
      break;
  }
  return "NCCL";
}

Result<CustomAllReduceLaw> read_custom_all_reduce(const catalog::Catalog& catalog,
                                                  const catalog::Gpu& gpu) {
  const auto set = catalog.constants(fmt::format("custom-all-reduce-{}", generation_of(gpu)));
  if (!set) return fail(set.error());
  if (!gpu.nvlink_gbytes_per_s) {
    return fail(error(Code::unknown_figure, fmt::format("{} has no NVLink rate", gpu.id)));
  }
  const catalog::Constants& c = **set;
  const double scale =
      gpu.nvlink_gbytes_per_s.value / c.at("nvlink.line_gbytes_per_s") * port_gbyte;
  CustomAllReduceLaw law;
  law.launch_us = c.at("one_shot.launch_us");
  law.launch_doubling_us = c.at("one_shot.launch_doubling_us");
  law.growth_us = c.at("one_shot.growth_us");
  law.growth_from_bytes = c.at("one_shot.growth_from_bytes");
  law.growth_to_bytes = c.at("one_shot.growth_to_bytes");
  law.fill_us = c.at("one_shot.fill_us");
  law.overlap = c.at("one_shot.overlap");
  law.one_shot_rate = c.at("one_shot.gbytes_per_s") * scale;
  law.two_shot_us = c.get("two_shot.launch_us", 0.0);
  law.two_shot_doubling_us = c.get("two_shot.launch_doubling_us", 0.0);
  law.two_shot_rate = c.get("two_shot.gbytes_per_s", 0.0) * scale;
  law.nccl_saving_us = c.at("nccl.saving_us");
  law.most_bytes = c.get("most_bytes", 0.0);
  law.band = c.at("band_fraction");
  return law;
}

CustomAllReduce custom_all_reduce(const CustomAllReduceLaw& law, int ranks, Bytes size,
                                  Seconds nccl) {
  FLOWPLAN_ASSERT(ranks >= 2 && size.value() > 0.0);
  // Without its launch NCCL still moves its bytes: half of its time is the least that is believed.
  constexpr double least_of_nccl = 0.5;
  const Seconds spared = nccl - microseconds(law.nccl_saving_us);
  CustomAllReduce best{std::max(spared, nccl * least_of_nccl), AllReduceStage::nccl, law.band,
                       nccl};
  if (law.most_bytes > 0.0 && size.value() > law.most_bytes) return best;
  const auto try_stage = [&](double us, AllReduceStage stage) {
    if (microseconds(us) < best.time) best = {microseconds(us), stage, law.band, nccl};
  };
  try_stage(one_shot_us(law, ranks, size.value()), AllReduceStage::one_shot);
  if (law.two_shot_rate > 0.0) {
    try_stage(two_shot_us(law, ranks, size.value()), AllReduceStage::two_shot);
  }
  return best;
}

Result<CustomAllReduce> custom_all_reduce(const catalog::Catalog& catalog,
                                          const topology::Cluster& cluster, const Group& group,
                                          Bytes size) {
  Request request;
  request.operation = Operation::all_reduce;
  request.size = size;
  request.groups = {group};
  const auto nccl = predict(catalog, cluster, request);
  if (!nccl) return fail(nccl.error());
  if (nccl->shape.nodes > 1) {
    return fail(error(Code::bad_placement,
                      fmt::format("custom all-reduce over {} NVLink domains", nccl->shape.nodes),
                      "its kernels read other GPUs' memory: one domain"));
  }
  const auto law = read_custom_all_reduce(catalog, catalog.gpu_of(*cluster.spec().instance));
  if (!law) return fail(law.error());
  return custom_all_reduce(*law, nccl->shape.ranks, size, nccl->time);
}

}  // namespace flowplan::collective
