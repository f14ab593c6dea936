#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/constants.hpp"
#include "flowplan/collective/operation.hpp"

namespace flowplan::collective {

/// Figures by protocol: LL, LL128, Simple.
using ByProtocol = std::array<double, 3>;
/// Figures for one node, two nodes, three and more.
using ByNodes = std::array<double, 3>;
[[nodiscard]] constexpr std::size_t index(Protocol protocol) {
  return static_cast<std::size_t>(protocol);
}
[[nodiscard]] constexpr std::size_t node_class(int nodes) {
  return nodes <= 1 ? 0 : nodes == 2 ? 1 : 2;
}

/// NCCL's own cost model (src/graph/tuning.cc): what it believes, which decides its choice. Times
/// in us, rates in GB/s = 1e9 byte/s.
struct NcclModel {
  ByProtocol tree_base_us, ring_base_us;
  ByProtocol tree_nvlink_us, ring_nvlink_us;    ///< a step inside a node
  ByProtocol tree_network_us, ring_network_us;  ///< a step between nodes
  double nvls_us, nvls_tree_network_us;
  double overhead_us, overhead_simple_factor;
  double simple_latency_factor, simple_latency_from_bytes;
  double plugin_us;   ///< latency that the network plugin advertises
  bool plugin_flush;  ///< it counts once more for Simple
  bool ll128_across_nodes;
  double ring_ll_fraction, ring_ll128_fraction, tree_fraction, tree_ll_divisor;
  ByNodes tree_ll128_fraction;
  std::array<std::vector<double>, 3>
      tree_correction;  ///< by protocol, then by doubling of the size
  double tree_correction_from_bytes;
  ByProtocol threads, bytes_per_thread;
  ByNodes bus, channels;  ///< channels times the modelled rate of one; their number
  ByNodes tree_bus;       ///< the same of the tree's channels: between two nodes a NIC carries half
  double pat_base_us, pat_network_divisor, pat_rank_us;
  double pat_fraction;  ///< of bus; 0: this NCCL has no PAT
  ByNodes ll_max, ring_ll128_channel, tree_channel, tree_ll128_channel, nvls_tree_channel;
  double nvls_efficiency;
};

/// "A size below `loops` loops of the chunk takes a chunk of `bytes`", in order.
struct ChunkRule {
  double start_bytes = 0.0;
  std::vector<double> loops, bytes;
};

/// One NVLink domain, one direction of a GPU's port.
struct NodeLaw {
  double line;  ///< GB/s; the rates below hold for it and carry over as fractions
  double launch_us;
  /// What the host takes to launch one: no collective returns sooner. 0: hidden by the one before.
  double host_us, host_overlap;
  double growth_us, growth_from_bytes, growth_to_bytes;
  ByProtocol step_us, rate;
  double port_rate;  ///< most that a ring gets out of a port, own shard aside
  double own_shard, overlap, ll_hidden;
  double p2p_extra_us, p2p_peer_us, p2p_growth_us, p2p_growth_from_bytes, p2p_growth_to_bytes;
  double p2p_rate;
  /// All-to-all: on top of the launch, per doubling of the ranks, while channels start (from
  /// p2p_growth_from_bytes to ...to_bytes of a message); GB/s of a port; of the own shard; overlap.
  double exchange_extra_us, exchange_peer_us, exchange_growth_us;
  double exchange_rate, exchange_own_shard, exchange_overlap;
};

/// In-switch reduction.
struct NvlsLaw {
  int channels;   ///< 0: the GPU has none
  int min_ranks;  ///< NCCL uses it from here
  double step_us, step_chunk_bytes, step_full_ranks;
  double extra_loops, whole_loops_below, overlap;
  std::vector<double> rate_ranks, rate;  ///< wire GB/s of a port by ranks
  double gather_rate;                    ///< of all_gather and reduce_scatter
  ChunkRule chunk;
};

/// Between nodes; rates of a whole node's NICs, one direction.
struct NetworkLaw {
  double line;  ///< GB/s; the rates below carry over as fractions of it
  double launch_us;
  ByProtocol ring_inner_step_us;  ///< a ring's step inside a node; unused by Simple
  ByProtocol ring_step_us;        ///< LL, LL128: a step between nodes; Simple: every step
  ByProtocol ring_rate, gather_rate, ring_overlap;
  double tree_step_us, tree_network_step_us, tree_rate, tree_ll_fraction, tree_overlap;
  int nvls_tree_channels;
  double nvls_tree_step_us, nvls_tree_loop_us, nvls_tree_rate, nvls_tree_overlap;
  ChunkRule nvls_tree_chunk;
  double all_to_all_us, all_to_all_doubling_us;  ///< launch included; per doubling of the nodes
  double cross_rail_slowdown;                    ///< of pairs on different rails; 1: not known
  double p2p_us, p2p_rate, p2p_message_factor, p2p_message_full_bytes, p2p_message_reference_bytes;
  double collnet_us, collnet_rate;  ///< rate: of a GPU's port; 0: no reduction in the switches
};

/// The size at which a choice starts, in a tuner's table for one count of nodes.
struct Switch {
  Algorithm algorithm{};
  Protocol protocol{};
  double from_bytes = 0.0;
  std::string name;  ///< "ring_ll128"
};
struct SwitchRow {
  int nodes = 0;
  std::vector<Switch> switches;  ///< by size
};
/// Which algorithm and protocol a tuner plugin picks, by nodes and size.
struct SwitchTable {
  Operation operation{};
  int per_node = 0;             ///< ranks a node that it is for
  std::vector<SwitchRow> rows;  ///< by nodes
};
struct Tuner {
  int min_nodes = 0;  ///< it leaves fewer to NCCL
  std::vector<SwitchTable> tables;

  [[nodiscard]] const SwitchTable* find(Operation operation, int per_node) const;
};

/// Half widths of the 90 % bands in percent, from rows left out of the fits. By size: below 1 MiB;
/// to 64 MiB on one node, to 1 GiB across; above.
using BySize = std::array<double, 3>;
struct Bands {
  BySize node, node_exchange, network, network_exchange;
  BySize carried;  ///< at least this where nothing like the shape was measured
};

/// A software stack on a fabric: everything that the prediction of collectives knows about NCCL,
/// its network plugin and the links' usable rates. Read once from a constants set.
struct Stack {
  std::string id;
  NcclModel model{};
  NodeLaw node{};
  NvlsLaw nvls{};
  NetworkLaw network{};
  Tuner tuner;
  Bands bands{};
  ByProtocol wire_factor{};  ///< bytes on the wire per byte of payload
  int calibrated_min_nodes = 0, calibrated_max_nodes = 0;  ///< of the rows behind it; 0, 0: none
  std::vector<int> calibrated_per_node;                    ///< ranks a node that those rows had
  bool all_to_all_measured = false;                        ///< between nodes, on this fabric
};

/// Errors FP033, all in one go: a figure that the set lacks, or of the wrong length or sign; a name
/// under "tuner." that cannot be read.
[[nodiscard]] Result<Stack> read_stack(const catalog::Constants& constants);

}  // namespace flowplan::collective
