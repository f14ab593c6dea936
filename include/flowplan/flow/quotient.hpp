#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/flow/flow_set.hpp"
#include "flowplan/flow/refine.hpp"

namespace flowplan::flow {

/// A network and its flows with one link and one flow for each class. `network` and `flows` are an
/// ordinary problem: the coefficient of a class of flows on a class of links is what all its flows
/// on one such link take together, so that `solve()` and `simulate()` give the rate and the end of
/// one member, and the load of one link. The counts are for sums and reports.
struct Quotient {
  Network network;
  FlowSet flows;
  std::vector<std::uint64_t> links_in_class;  ///< per link of `network`
  std::vector<std::uint64_t> flows_in_class;  ///< per flow of `flows`
};

/// The quotient of `flows` by a partition of them. Broken symmetry of an equitable partition
/// asserts: flows of F on a link of L x links of L = links of L on a flow of F x flows of F. If
/// the partition is not equitable, a class of flows crosses every class of links that some member
/// crosses: loads and feasibility are exact, but a member may be held to less than its fair rate.
[[nodiscard]] Quotient fold(const Network& network, const FlowSet& flows,
                            const Partition& partition);

/// Folds what was written from counts once more: merges classes that look alike, counts included.
[[nodiscard]] Quotient fold(const Quotient& quotient);

/// Writes a quotient from counts, so that flows which symmetry makes equal are never listed: an
/// all-to-all of 100,000 ranks has 10^10 flows in a handful of classes.
class QuotientBuilder {
 public:
  /// Makes room for so many classes and uses in all.
  void reserve(std::size_t link_classes, std::size_t flow_classes, std::size_t uses);

  /// `links` >= 1 equal links of that capacity each.
  LinkId link_class(double capacity, std::uint64_t links = 1);

  /// `flows` >= 1 equal flows; `spec` is that of each.
  FlowId flow_class(const FlowSpec& spec, std::uint64_t flows = 1);

  /// Each flow of the class crosses `links_of_one_flow` links of the other class, and each such
  /// link is crossed by `flows_on_one_link` flows of the class, which take `coefficient` of their
  /// rate each. Asserts that both count the same crossings. Uses of one pair of classes add up.
  void use(FlowId flow, LinkId link, std::uint64_t flows_on_one_link,
           std::uint64_t links_of_one_flow = 1, double coefficient = 1.0);

  /// The quotient; uses of a flow class keep the order in which they were added. Leaves the builder
  /// empty.
  [[nodiscard]] Quotient build();

 private:
  struct Entry {
    FlowId flow;
    LinkId link;
    double coefficient;  // of all flows on one link
  };

  std::vector<double> capacity_;
  std::vector<std::uint64_t> links_in_class_, flows_in_class_;
  std::vector<FlowSpec> specs_;
  std::vector<Entry> entries_;
};

}  // namespace flowplan::flow
