#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/flow/flow_set.hpp"
#include "flowplan/topology/placement.hpp"

namespace flowplan::replay {

/// Collectives that are alike: same operation and size, of the same groups, which run in step.
struct Kind {
  collective::Request request;
  collective::Outcome alone;
  std::uint32_t stream = 0;  ///< kinds of one stream never run at the same time
};

/// All kinds of a replay, and the links that those of different streams share.
class Kinds {
 public:
  Kinds(const collective::Stack& stack, const topology::Cluster& cluster)
      : stack_(stack), cluster_(cluster) {}

  /// The kind of that collective; `key` tells its groups from others'. Errors of predict().
  [[nodiscard]] Result<std::uint32_t> find(const std::string& key, std::uint32_t stream,
                                           collective::Operation operation, Bytes size,
                                           const std::vector<collective::Group>& groups);
  [[nodiscard]] const Kind& at(std::uint32_t kind) const { return kinds_[kind]; }

  /// The network of what kinds share: links that carry the same of each kind are one. Once all
  /// kinds are known.
  void share_links();
  [[nodiscard]] const flow::Network& network() const { return network_; }
  /// Adds a collective to a set over that network.
  void add_flow(std::uint32_t kind, flow::FlowSet& flows) const;

 private:
  using Loads =
      std::vector<std::pair<std::uint32_t, double>>;  // link, bytes on it per byte of size
  [[nodiscard]] Loads loads_of(const Kind& kind, std::vector<double>& amount) const;

  const collective::Stack& stack_;
  const topology::Cluster& cluster_;
  std::vector<Kind> kinds_;
  std::map<std::tuple<std::string, collective::Operation, double>, std::uint32_t> known_;
  flow::Network network_;
  std::vector<std::vector<flow::Use>> uses_;  // by kind
};

}  // namespace flowplan::replay
