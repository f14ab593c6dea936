#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/base/quantity.hpp"

namespace flowplan::compute {

struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;  ///< > 0: (m x k) times (k x n)
  std::int64_t groups = 1;           ///< so many products of that shape in one kernel
};

/// A kernel's time with what bounds it.
struct KernelTime {
  Seconds time{};
  const char* limit = "";  ///< "tensor cores", "HBM", "launch": the largest term
  const char* next = "";   ///< the next largest
};

/// Output tiles that a matrix kernel may choose from; all vectors are of the same length.
struct GemmTiles {
  std::vector<double> rows, columns;
  std::vector<double> efficiency;  ///< of the large tile, 0..1
  std::vector<double> splits;      ///< ways the depth may be split over units
};

/// What a matrix kernel of one precision reaches on one GPU.
struct GemmRates {
  FlopsPerSecond peak{};       ///< dense
  double peak_fraction = 1.0;  ///< of it, at unlimited depth with the large tile, 0..1
  double extra_depth = 0.0;    ///< a tile's start-up, as elements of k
  double wave_share = 0.0;     ///< share of time in whole waves; 0: no wave quantisation
  BytesPerSecond hbm{};        ///< usable
  Seconds launch{};
  double input_bytes = 2.0;   ///< of an element of the operands
  double output_bytes = 2.0;  ///< of an element of the result
  double units = 1.0;         ///< streaming multiprocessors
  double norm = 4.0;          ///< p of the p-norm that joins arithmetic and HBM, >= 1
};

/// Time of one matrix kernel: launch + ((arithmetic)^p + (bytes / HBM)^p)^(1/p), arithmetic being
/// the fastest choice of tile and split of (waves * units * tile FLOPs) at the reached rate. Never
/// faster than the peak. The shape's sizes must be > 0.
[[nodiscard]] KernelTime gemm_time(const GemmShape& shape, const GemmRates& rates,
                                   const GemmTiles& tiles);

}  // namespace flowplan::compute
