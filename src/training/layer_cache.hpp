#pragma once

#include <cstddef>
#include <unordered_map>

#include "layer.hpp"

namespace flowplan::training {

/// Kernel times of layers by what they depend on. For jobs of one model, sequence length and
/// framework.
class LayerCache {
 public:
  /// A layer's work and, of the last kind asked for, the head's.
  [[nodiscard]] const LayerWork& layer(const compute::Kernels& kernels, const Framework& framework,
                                       const Job& job, LayerKind kind);
  [[nodiscard]] const HeadWork& head(const compute::Kernels& kernels, const Framework& framework,
                                     const Job& job, const LayerWork& last_layer, LayerKind kind);

 private:
  struct Key {
    LayerKind kind{};
    model::Precision precision{};
    Recompute recompute{};
    unsigned modules = 0;
    int tp = 1, cp = 1, ep = 1, etp = 1;
    bool sequence_parallel = true;
    std::int64_t micro_batch = 1, adapter_rank = 0;
    unsigned adapter_targets = 0;
    double copies = 0, attention_share = 1.0, frozen_bytes = 2.0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  static Key key_of(const Job& job, LayerKind kind);

  std::unordered_map<Key, LayerWork, Hash> layers_;
  std::unordered_map<Key, HeadWork, Hash> heads_;
};

}  // namespace flowplan::training
