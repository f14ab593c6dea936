#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/collective/allowed.hpp"
#include "flowplan/collective/operation.hpp"
#include "flowplan/collective/shape.hpp"
#include "flowplan/estimate/estimate.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::collective {

struct Stack;

struct Request {
  Operation operation{};
  Bytes size{};                  ///< as nccl-tests prints it: the full vector; > 0
  std::vector<Group> groups;     ///< run at the same time on disjoint GPUs, all of the same size
  Allowed<Algorithm> algorithm;  ///< forced, as NCCL_ALGO does
  Allowed<Protocol> protocol;    ///< forced, as NCCL_PROTO does
  std::optional<int> channels;   ///< forced, as NCCL_MIN_ and NCCL_MAX_NCHANNELS do
  /// List every flow instead of counting what links carry; the same answer, for checking.
  bool list_flows = false;
};

struct Outcome {
  Seconds time{};  ///< of the slowest group
  Algorithm algorithm{};
  Protocol protocol{};
  int channels = 0;
  double channel_share = 1.0;  ///< of those that a large size takes, when they are forced
  Seconds launch{};            ///< T0 of the law t = T0 + (A^p + D^p)^(1/p)
  Seconds latency{};           ///< A: hops times cost a hop
  Seconds transfer{};          ///< D: bytes over the tightest link at its usable rate
  BytesPerSecond algbw{}, busbw{};
  std::string limit;   ///< "latency", or the tier and link that binds: "efa node0.nic0->leaf0"
  std::string next;    ///< the next one
  std::string reason;  ///< why this algorithm and protocol
  /// Bytes on the wire over all links of a tier, for one operation of every group.
  std::vector<std::pair<topology::Tier, Bytes>> carried;
  Shape shape;             ///< of the slowest group
  std::string stack;       ///< id of the software profile that was used
  bool calibrated = true;  ///< false when no measurement like this shape is behind the constants
  std::string note;        ///< then: what was carried over from where
  Band band;               ///< of the time, from rows left out of the fit
};

/// The figure of a constants set, and the place in it, that is the half width in per cent of the 90
/// % band of an operation's time: by the size, inside a node or across nodes.
struct BandFigure {
  std::string_view name;
  std::size_t index = 0;
};
[[nodiscard]] BandFigure band_figure(Operation operation, bool across_nodes, Bytes size);

/// Time of a collective on a cluster with the software stack of `profile` (a constants set of kind
/// "collectives"; the instance's default when null). Errors FP061 (a GPU that the cluster does not
/// have, a group of one, groups that overlap or differ in size), FP062 (size, algorithm or protocol
/// that this operation does not have), FP060 (a failed link that nothing goes round), FP030 and
/// FP033 (the profile).
///
/// The model is docs/models/collectives.md: NCCL's and its plugin's choice of algorithm and
/// protocol; the flows of the schedule on the cluster's links; their drain time; one law for how
/// latency and transfer overlap.
[[nodiscard]] Result<Outcome> predict(const catalog::Catalog& catalog,
                                      const topology::Cluster& cluster, const Request& request,
                                      const catalog::Constants* profile = nullptr);
/// The same with a stack that was read before: for callers that ask often.
[[nodiscard]] Result<Outcome> predict(const Stack& stack, const topology::Cluster& cluster,
                                      const Request& request);

/// The first `ranks` GPUs as one group.
[[nodiscard]] Group contiguous_group(std::uint32_t ranks, std::uint32_t first = 0);

}  // namespace flowplan::collective
