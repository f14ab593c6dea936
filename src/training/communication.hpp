#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/collective/collective.hpp"
#include "flowplan/topology/placement.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

/// Times of a job's collectives on its cluster, every group of an axis at once. Remembers what it
/// asked, so that each operation and size is predicted once.
class Communication {
 public:
  /// Errors FP061 when the job's ranks cannot be placed.
  [[nodiscard]] static Result<Communication> on(const catalog::Catalog& catalog,
                                                const topology::Cluster& cluster, const Job& job);

  /// `size` as nccl-tests counts it: the full vector; > 0. The axis has more than one rank. When
  /// the prediction fails, remembers why (see `errors`) and returns an outcome without time.
  const collective::Outcome& predict(topology::Axis axis, collective::Operation operation,
                                     Bytes size);

  /// Counts `times` runs of an operation for the utilisation of tiers.
  void count(const collective::Outcome& outcome, double times);
  [[nodiscard]] const std::map<topology::Tier, Bytes>& carried() const { return carried_; }
  [[nodiscard]] const Diagnostics& errors() const { return errors_; }
  /// Software profile of the collectives; empty when there were none.
  [[nodiscard]] const std::string& stack() const { return stack_; }
  /// What was carried over from other shapes than measured, each once, in the order met.
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Key {
    topology::Axis axis{};
    collective::Operation operation{};
    double bytes = 0.0;
    auto operator<=>(const Key&) const = default;
  };

  Communication(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                topology::Placement placement, topology::Degrees degrees)
      : catalog_(&catalog),
        cluster_(&cluster),
        placement_(std::move(placement)),
        degrees_(degrees) {}

  const catalog::Catalog* catalog_;
  const topology::Cluster* cluster_;
  topology::Placement placement_;
  topology::Degrees degrees_;
  std::map<topology::Axis, collective::Request> requests_;  // groups of an axis, made once
  std::map<Key, collective::Outcome> outcomes_;
  std::map<topology::Tier, Bytes> carried_;
  Diagnostics errors_;
  std::string stack_;
  std::vector<std::string> notes_;
};

/// Degrees and number of ranks of a job; all of the cluster's GPUs when the job does not say.
[[nodiscard]] topology::Degrees degrees(const Layout& layout);
[[nodiscard]] std::uint32_t ranks(const topology::Cluster& cluster, const Job& job);

/// The resource an outcome is limited by, for a breakdown: "efa" of "efa nic_out gpu0".
[[nodiscard]] std::string resource(const std::string& limit);

}  // namespace flowplan::training
