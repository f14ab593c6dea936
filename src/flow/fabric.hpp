#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/flow/generate.hpp"

namespace flowplan::flow {

/// A generated network whose routes are arithmetic.
class Fabric {
 public:
  virtual ~Fabric() = default;

  [[nodiscard]] virtual std::uint32_t hosts() const = 0;
  /// Writes nodes, capacities and the ends of links into an empty case.
  virtual void build(Case& out) const = 0;
  /// Appends the links from one host to another.
  virtual void route(std::uint32_t source, std::uint32_t target,
                     std::vector<LinkId>& links) const = 0;
};

/// Error FP053: a parameter out of range, too many hosts, switches or links.
[[nodiscard]] Result<std::unique_ptr<Fabric>> make_fabric(const Topology& topology);

// What the topologies share.

/// Directed links that a generated network has at most.
inline constexpr std::uint64_t most_links = std::uint64_t{1} << 26;

[[nodiscard]] Diagnostic bad_generator(std::string message, std::string hint = {});
/// Whether a bandwidth is one that cases may have.
[[nodiscard]] bool is_bandwidth(double bytes_per_s);
/// `a` * `b`, or 2^32 if it is more.
[[nodiscard]] std::uint64_t bounded_product(std::uint64_t a, std::uint64_t b);

/// Appends nodes, names and links in order.
class CaseBuilder {
 public:
  CaseBuilder(Case& out, std::uint64_t nodes, std::uint64_t links);
  void add_nodes(const char* prefix, std::uint32_t count);
  void add_link(std::uint32_t from, std::uint32_t to, double bytes_per_s);
  /// The link up and the link down of a cable, in this order.
  void add_cable(std::uint32_t low, std::uint32_t high, double bytes_per_s);

 private:
  Case& out_;
};

}  // namespace flowplan::flow
