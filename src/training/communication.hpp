#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "flowplan/collective/collective.hpp"
#include "flowplan/topology/placement.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

/// Groups of `size` ranks, `stride` apart in the order of ranks: every axis of a layout is one.
struct Span {
  std::int64_t stride = 1, size = 1;
  auto operator<=>(const Span&) const = default;
};
[[nodiscard]] Span tp_span(const Layout& layout);
[[nodiscard]] Span cp_span(const Layout& layout);
/// Ranks that hold the same weights: data and context parallel ones.
[[nodiscard]] Span replica_span(const Layout& layout);
[[nodiscard]] Span pp_span(const Layout& layout);
[[nodiscard]] Span ep_span(const Layout& layout);
/// Ranks that hold the same experts.
[[nodiscard]] Span expert_replica_span(const Layout& layout);

/// Times of a job's collectives on its cluster, every group of an axis at once. Remembers what it
/// asked, so that each operation and size is predicted once.
class Communication {
 public:
  /// Errors FP061 when the job's ranks cannot be placed.
  [[nodiscard]] static Result<Communication> on(const catalog::Catalog& catalog,
                                                const topology::Cluster& cluster, const Job& job);

  /// `size` as nccl-tests counts it: the full vector; > 0. The span has more than one rank. When
  /// the prediction fails, remembers why (see `errors`) and returns an outcome without time.
  const collective::Outcome& predict(Span span, collective::Operation operation, Bytes size);

  /// Dispatch and combine of a token's copies by a library, for groups of that span; remembered as
  /// the collectives are. `tokens` of one rank.
  [[nodiscard]] Seconds exchange(const Job& job, Span span, double tokens);

  /// Counts `times` runs of an operation for the utilisation of tiers.
  void count(const collective::Outcome& outcome, double times);
  void forget_counts() { carried_.clear(); }
  [[nodiscard]] const std::map<topology::Tier, Bytes>& carried() const { return carried_; }
  [[nodiscard]] const Diagnostics& errors() const { return errors_; }
  /// Software profile of the collectives; empty when there were none.
  [[nodiscard]] const std::string& stack() const { return stack_; }
  /// What was carried over from other shapes than measured, each once, in the order met.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const topology::Cluster& cluster() const { return *cluster_; }
  void note(const std::string& text);
  /// Ranks on one NVLink domain.
  [[nodiscard]] std::int64_t ranks_per_domain() const { return ranks_per_domain_; }

 private:
  struct Key {
    Span span;
    collective::Operation operation{};
    double bytes = 0.0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  struct ExchangeKey {
    collective::ExpertBackend backend{};
    Span span;
    double tokens = 0.0;
    auto operator<=>(const ExchangeKey&) const = default;
  };

  Communication(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                topology::Placement placement)
      : catalog_(&catalog), cluster_(&cluster), placement_(std::move(placement)) {}
  collective::Request& request(Span span);

  const catalog::Catalog* catalog_;
  const topology::Cluster* cluster_;
  topology::Placement placement_;
  std::int64_t ranks_per_domain_ = 1;
  std::map<Span, collective::Request> requests_;  // groups of a span, made once
  std::unordered_map<Key, collective::Outcome, Hash> outcomes_;
  std::map<ExchangeKey, Seconds> exchanges_;
  std::map<topology::Tier, Bytes> carried_;
  Diagnostics errors_;
  std::string stack_;
  std::vector<std::string> notes_;
};

/// Number of ranks of a job; all of the cluster's GPUs when the job does not say.
[[nodiscard]] std::uint32_t ranks(const topology::Cluster& cluster, const Job& job);

/// The resource an outcome is limited by, for a breakdown: "efa" of "efa nic_out gpu0".
[[nodiscard]] std::string resource(const std::string& limit);

}  // namespace flowplan::training
