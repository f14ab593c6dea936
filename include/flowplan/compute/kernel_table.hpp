#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/compute/gemm.hpp"
#include "flowplan/compute/surface.hpp"

namespace flowplan::compute {

/// Prefill of fused attention: every sequence's queries against its own keys, causal.
struct PrefillShape {
  double batch = 1, seq_len = 1, heads = 1, kv_heads = 1, head_dim = 128;
  double window = 0;       ///< 0: none
  bool narrow_kv = false;  ///< FP8 key and value cache
};
/// One query a sequence against a cache of `context` tokens.
struct DecodeShape {
  double batch = 1, context = 1, heads = 1, kv_heads = 1, head_dim = 128;
  double window = 0;  ///< 0: none
};
/// Latent attention (DeepSeek's dimensions: 512 + 64 cached, 128 + 64 a query, 128 a value).
struct LatentShape {
  double batch = 1, tokens = 1, heads = 1;  ///< tokens of a sequence, or of its cache
};
/// Routed experts of a layer on one GPU: gate, up and down products with what is between them.
struct ExpertsShape {
  double tokens = 1;  ///< of all ranks that share the experts
  double hidden = 1, ffn = 1, per_token = 1, experts = 1;
  double tp = 1, ep = 1;
  double skew = 0;  ///< of the load: 0 balanced, 1 and 2 power laws of exponent 1.01 and 1.2
};

/// What a table said of a time: the law's part, where its surface was asked, and the surface.
struct TableUse {
  std::string table;  ///< "gemm.bf16"
  double law_s = 0.0;
  std::vector<double> features;
  std::shared_ptr<const Surface> surface;
};

/// Kernel times of serving and training libraries as they were measured alone in a loop: a law a
/// kernel (arithmetic and bytes at reached rates, launch) times a smooth surface of what the law
/// misses, from figures "table.*" of a GPU's calibration set. Nothing where the set has no table of
/// that type. Sizes > 0. Cheap to copy.
class KernelTable {
 public:
  /// Errors FP030 (no calibration set), FP025 (a table whose size does not match its knots).
  [[nodiscard]] static Result<KernelTable> on(const catalog::Catalog& catalog,
                                              const catalog::Gpu& gpu);

  /// (m x k) times (k x n). Types: "bf16", "fp8" (dynamic, the quantise kernel included),
  /// "fp8_static", "fp8_block", "nvfp4", "int8_wo", "int4_wo" (weight only), "sq" (SmoothQuant).
  /// Never above the type's dense peak.
  [[nodiscard]] std::optional<Seconds> gemm(std::string_view type, double m, double n,
                                            double k) const;
  /// The same without the quantise kernel of dynamic types, `shape.groups` products at once, and
  /// what bounds it. Never above the type's dense peak.
  [[nodiscard]] std::optional<KernelTime> product(std::string_view type,
                                                  const GemmShape& shape) const;
  [[nodiscard]] std::optional<Seconds> prefill(std::string_view type,
                                               const PrefillShape& shape) const;
  [[nodiscard]] std::optional<Seconds> decode(std::string_view cache,
                                              const DecodeShape& shape) const;
  [[nodiscard]] std::optional<Seconds> latent_prefill(std::string_view cache,
                                                      const LatentShape& shape) const;
  [[nodiscard]] std::optional<Seconds> latent_decode(std::string_view cache,
                                                     const LatentShape& shape) const;
  /// Types as of `gemm`, and "w4a16_mxfp4", "w4a8_mxfp4_mxfp8"; with ".nongated" for two-matrix
  /// experts, ".min_latency" for the kernels of small batches.
  [[nodiscard]] std::optional<Seconds> experts(std::string_view type,
                                               const ExpertsShape& shape) const;

  /// The same, writing of every time but `product`'s what it came from; `use` outlives it.
  [[nodiscard]] KernelTable recording(TableUse& use) const;

 private:
  struct Data;
  struct Table;
  [[nodiscard]] Seconds corrected(std::string_view kind, std::string_view type, const Table& table,
                                  double law_s, std::span<const double> features) const;

  std::shared_ptr<const Data> data_;
  TableUse* use_ = nullptr;
};

}  // namespace flowplan::compute
