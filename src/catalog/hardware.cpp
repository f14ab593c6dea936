#include "flowplan/catalog/hardware.hpp"

namespace flowplan::catalog {

namespace {

/// The precision whose peak holds: the FP8 variants run on the same units.
std::optional<model::Precision> unit_of_precision(model::Precision precision,
                                                  GpuGeneration generation) {
  using model::Precision;
  switch (precision) {
    case Precision::fp8_block:
      return Precision::fp8;
    case Precision::mxfp8:
      if (generation < GpuGeneration::blackwell) return std::nullopt;
      return Precision::fp8;
    default:
      return precision;
  }
}

}  // namespace

std::optional<FlopsPerSecond> Gpu::peak(model::Precision precision) const {
  const auto unit = unit_of_precision(precision, generation);
  if (!unit) return std::nullopt;
  const auto found = dense_tflops.find(*unit);
  if (found == dense_tflops.end() || !found->second.known) return std::nullopt;
  return teraflops_per_second(found->second.value);
}

std::string_view name(InstanceKind kind) {
  switch (kind) {
    case InstanceKind::instance:
      return "instance";
    case InstanceKind::ultraserver:
      return "ultraserver";
    case InstanceKind::reference:
      return "reference";
  }
  return "";
}

Bytes Instance::hbm_per_gpu() const {
  return mebibytes(hbm_reported_mib_per_gpu.value);
}

BytesPerSecond Instance::efa_per_gpu() const {
  if (!efa_gbps_total.known || gpus == 0) return BytesPerSecond(0.0);
  return gigabits_per_second(efa_gbps_total.value) / gpus;
}

}  // namespace flowplan::catalog
