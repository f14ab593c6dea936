#include "flowplan/inference/layout.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace flowplan::inference {

namespace {

/// Collects what is wrong with a layout.
class LayoutFaults {
 public:
  void add(Code code, std::string message, std::string hint = {}) {
    list_.push_back(error(code, std::move(message), std::move(hint)));
  }
  void at_least_one(int n, std::string_view what) {
    if (n < 1) add(Code::layout_mismatch, fmt::format("{} is {}, not at least 1", what, n));
  }
  void divides(std::int64_t parts, std::int64_t whole, std::string_view part,
               std::string_view what) {
    if (whole % parts == 0) return;
    add(Code::not_divisible, fmt::format("{} {} does not divide {} {}", part, parts, whole, what));
  }
  [[nodiscard]] bool none() const { return list_.empty(); }
  Diagnostics take() { return std::move(list_); }

 private:
  Diagnostics list_;
};

Diagnostic layout_note(std::string message, std::string hint = {}) {
  Diagnostic note = error(Code::layout_mismatch, std::move(message), std::move(hint));
  note.severity = Severity::note;
  return note;
}

void check_expert_ranks(const Layout& l, const model::Transformer& m, LayoutFaults& faults) {
  if (!m.experts) {
    if (l.ep > 1)
      faults.add(Code::layout_mismatch, fmt::format("ep {}, but {} has no experts", l.ep, m.name));
    if (l.attention_dp > 1) {
      faults.add(
          Code::layout_mismatch,
          fmt::format("attention_dp {}, but {} has no experts to share", l.attention_dp, m.name),
          "use replicas");
    }
    return;
  }
  if (l.ranks() % l.ep != 0) {
    faults.add(
        Code::layout_mismatch,
        fmt::format("ep {} does not divide the {} ranks of a stage (tp {} x attention_dp {})", l.ep,
                    l.ranks(), l.tp, l.attention_dp));
    return;
  }
  faults.divides(l.ep, m.experts->count + l.redundant_experts, "ep",
                 "experts, redundant ones included");
  faults.divides(l.expert_tp(), m.experts->ffn, "expert TP", "columns of an expert");
}

void note_copies(const Layout& l, const model::Transformer& m, Diagnostics& notes) {
  const double copies = kv_copies(m, l.tp);
  if (copies <= 1.0) return;
  if (m.latent_attention) {
    notes.push_back(
        layout_note(fmt::format("tp {}: the latent KV cache is one head, kept by each rank", l.tp),
                    "attention DP keeps it once"));
  } else {
    notes.push_back(
        layout_note(fmt::format("tp {} does not divide {} KV heads: each rank keeps {:.0f}, {:.3g} "
                                "copies of the cache in all",
                                l.tp, m.kv_heads, kv_heads_per_rank(m, l.tp), copies)));
  }
}

void note_domains(const Layout& l, const catalog::Instance& instance, Diagnostics& notes) {
  if (l.tp > instance.nvlink_domain_gpus) {
    notes.push_back(
        layout_note(fmt::format("tp {} leaves the NVLink domain of {} GPUs: its "
                                "all-reduces cross the network",
                                l.tp, instance.nvlink_domain_gpus)));
  }
  if (l.ranks() > instance.nvlink_domain_gpus && l.tp <= instance.nvlink_domain_gpus) {
    notes.push_back(
        layout_note(fmt::format("{} ranks share experts over NVLink domains of {}: "
                                "dispatch and combine cross the network",
                                l.ranks(), instance.nvlink_domain_gpus)));
  }
}

}  // namespace

double kv_heads_per_rank(const model::Transformer& model, int tp) {
  if (model.latent_attention) return 1.0;
  return std::max(1.0, std::ceil(static_cast<double>(model.kv_heads) / tp));
}

double kv_copies(const model::Transformer& model, int tp) {
  if (model.latent_attention) return tp;
  return tp * kv_heads_per_rank(model, tp) / static_cast<double>(model.kv_heads);
}

Result<Diagnostics> check_layout(const Layout& l, const model::Transformer& m,
                                 const catalog::Instance* instance) {
  LayoutFaults faults;
  faults.at_least_one(l.tp, "tp");
  faults.at_least_one(l.pp, "pp");
  faults.at_least_one(l.attention_dp, "attention_dp");
  faults.at_least_one(l.ep, "ep");
  faults.at_least_one(l.replicas, "replicas");
  if (l.redundant_experts < 0) {
    faults.add(Code::layout_mismatch,
               fmt::format("redundant_experts is {}, not at least 0", l.redundant_experts));
  }
  if (!faults.none()) return fail(faults.take());
  faults.divides(l.tp, m.heads, "tp", "query heads");
  if (m.linear_attention)
    faults.divides(l.tp, m.linear_attention->value_heads, "tp", "heads of linear attention");
  if (m.dense_layers() > 0) faults.divides(l.tp, m.ffn, "tp", "columns of the MLP");
  if (l.pp > m.layers) {
    faults.add(Code::layout_too_deep,
               fmt::format("{} stages for {} layers of {}", l.pp, m.layers, m.name));
  }
  check_expert_ranks(l, m, faults);
  if (!faults.none()) return fail(faults.take());
  Diagnostics notes;
  note_copies(l, m, notes);
  if (instance != nullptr) note_domains(l, *instance, notes);
  return notes;
}

}  // namespace flowplan::inference
