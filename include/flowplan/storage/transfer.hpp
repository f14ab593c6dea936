#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/estimate/estimate.hpp"

namespace flowplan::storage {

/// One limit of a data path, as a link of the flow network. Bytes that move take `per_byte` of its
/// capacity each, which is in bytes/s or in operations/s.
struct Limit {
  std::string id;          ///< "lustre.disk": equal ids of several paths are the same links
  std::string name;        ///< for people: "disks of the file system"
  double capacity = 0.0;   ///< of one link, > 0
  bool shared = true;      ///< one for all nodes; false: one for each node
  double per_byte = 1.0;   ///< > 0
  std::string how;         ///< how the capacity comes about: "93.8 TiB x 1000 MiB/s"
  std::string confidence;  ///< of the figure behind it: "vendor_claim", "assumed"
};

/// The way of some nodes' data.
struct Path {
  std::vector<Limit> limits;  ///< in the order from the store to the GPUs
  Seconds latency{};          ///< of the first byte
  std::vector<Warning> warnings;
};

/// Some nodes that move equally much each, all at once.
struct Movement {
  std::string name;
  Path path;
  std::uint32_t nodes = 1;
  Bytes per_node{};
};

/// A limit and what the movement makes of it.
struct LimitUse {
  Limit limit;
  BytesPerSecond ceiling{};  ///< of all nodes' payload, were this the only limit
  double utilisation = 0.0;  ///< while this movement runs, 0..1
};

/// When a movement ends and why not sooner.
struct Transfer {
  Seconds time{};         ///< latency included
  BytesPerSecond rate{};  ///< payload of all nodes over the time
  std::string limit;      ///< name of the limit that binds; "latency" when nothing is moved
  std::string next;       ///< the one that binds when that one is lifted; empty when none does
  Seconds next_time{};    ///< the time then
  std::vector<LimitUse> limits;  ///< in the path's order
};

/// Runs movements that start together; links of equal id are shared max-min fairly
/// (`flow::simulate` on counts, so that the number of nodes costs nothing).
[[nodiscard]] std::vector<Transfer> run_together(std::span<const Movement> movements);
/// One alone.
[[nodiscard]] Transfer run_alone(const Movement& movement);

/// The transfer as a leaf of a breakdown: binding limit, next, ceilings in the formula.
[[nodiscard]] Breakdown leaf(std::string id, std::string label, const Transfer& transfer);

}  // namespace flowplan::storage
