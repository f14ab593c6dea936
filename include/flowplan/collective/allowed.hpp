#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "flowplan/base/result.hpp"
#include "flowplan/collective/operation.hpp"

namespace flowplan::collective {

/// Which algorithms or protocols a request allows: any of them until it says more, those that it
/// names, or all but those.
template <class T>
class Allowed {
 public:
  Allowed() = default;
  Allowed(T only) : Allowed({only}, false) {}  // NOLINT: one is a list of one
  Allowed(std::optional<T> only) {             // NOLINT: nothing allows all
    if (only) *this = Allowed(*only);
  }
  Allowed(std::initializer_list<T> values, bool all_but) : stated_(true), all_but_(all_but) {
    for (const T value : values)
      add(value);
  }

  void add(T value) { mask_ |= bit(value); }
  /// Whether the request says anything.
  [[nodiscard]] bool stated() const { return stated_; }
  [[nodiscard]] bool has(T value) const {
    return !stated_ || ((mask_ & bit(value)) != 0) != all_but_;
  }
  /// Whether it names the value as one that may run: then also one that NCCL would not take alone.
  [[nodiscard]] bool asks_for(T value) const { return stated_ && !all_but_ && has(value); }

 private:
  static std::uint32_t bit(T value) { return 1u << static_cast<unsigned>(value); }

  std::uint32_t mask_ = 0;
  bool stated_ = false, all_but_ = false;
};

/// Reads what NCCL_ALGO takes: "RING", "RING,TREE", "^NVLS,NVLSTREE" (all but these), and lists for
/// single functions behind a default: "RING;allreduce:TREE,NVLS". "auto" and "" allow all. Errors
/// FP062: no such algorithm or function; an algorithm that only other operations have is one that
/// `choose` refuses.
[[nodiscard]] Result<Allowed<Algorithm>> parse_algorithms(std::string_view text,
                                                          Operation operation);
/// The same for NCCL_PROTO: "SIMPLE", "LL,LL128", "^LL128".
[[nodiscard]] Result<Allowed<Protocol>> parse_protocols(std::string_view text, Operation operation);

}  // namespace flowplan::collective
