#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/hardware.hpp"
#include "flowplan/flow/flow_set.hpp"

namespace flowplan::catalog {
class Catalog;
class Constants;
}  // namespace flowplan::catalog

namespace flowplan::topology {

/// A GPU of the cluster, numbered domain by domain, node by node.
enum class GpuId : std::uint32_t {};
[[nodiscard]] constexpr std::uint32_t index(GpuId id) {
  return static_cast<std::uint32_t>(id);
}

/// A part of the graph: a GPU, a switch, a NIC group. Numbered node by node, then the NVLink switch
/// planes, leaves, spines and cores.
enum class VertexId : std::uint32_t {};
[[nodiscard]] constexpr std::uint32_t index(VertexId id) {
  return static_cast<std::uint32_t>(id);
}

/// A NIC group is the NICs that one GPU uses, or several GPUs share (p4d).
enum class VertexKind : std::uint8_t {
  gpu,
  pcie_switch,
  cpu_socket,
  nic_group,
  nvswitch_plane,
  leaf,
  spine,
  core
};
[[nodiscard]] std::string_view name(VertexKind kind);

/// What a link is made of; utilisation is reported by it.
enum class Tier : std::uint8_t { nvlink, pcie, efa, leaf_spine, spine_core };
[[nodiscard]] std::string_view name(Tier tier);

/// `spray`: packets use all equal paths, so parallel links are one pool (EFA's SRD). `ecmp`: the
/// uplinks of a leaf are links of their own, as many as carry one NIC group each, and each pair of
/// GPUs is hashed to one of them.
enum class Routing { spray, ecmp };
[[nodiscard]] std::string_view name(Routing routing);

/// The switches above the nodes. AWS publishes neither sizes nor oversubscription of its
/// UltraClusters: these are assumptions, and reports say so.
///
/// A node (EC2 instance) hangs below one leaf, in order: the first `nodes_per_leaf` nodes below the
/// first leaf and so on, likewise leaves below pods. The last leaf and pod may be partly used; they
/// are built whole, so their uplinks are those of a full one.
struct Fabric {
  int nodes_per_leaf = 0;  ///< 0: the catalog's default, rounded to whole NVLink domains
  int leaves_per_pod = 0;  ///< 0: the catalog's default
  double leaf_oversubscription = 1.0;  ///< sum of the nodes' bandwidth / uplinks of a leaf, >= 1
  double core_oversubscription = 1.0;  ///< sum of the leaves' uplinks / uplinks of a pod, >= 1
  Routing routing = Routing::spray;
  /// A leaf for each NIC group of the nodes below it (rail) instead of one for all of them.
  bool rail_optimised = false;
};

struct ClusterSpec {
  const catalog::Instance* instance = nullptr;  ///< outlives the cluster, as the two below
  int count = 1;  ///< units of `instance`: instances, UltraServers or nodes
  Fabric fabric;
  const catalog::Gpu* gpu = nullptr;             ///< that of `instance`; its NVLink rate
  const catalog::Constants* defaults = nullptr;  ///< a set of kind "fabric"
};

struct Summary;

/// A cluster as a graph of GPUs, switches and NICs, and the flow network made from its links.
/// Immutable; link ids of the graph and of the network are the same.
class Cluster {
 public:
  /// Looks up `gpu` and `defaults` (the set "fabric-defaults") where the spec leaves them out, and
  /// builds. Errors: FP060 (count < 1 or not whole UltraServers, sizes < 0, oversubscription < 1,
  /// more than 2^27 links), FP032 when the catalog does not know a figure that the graph needs,
  /// FP073 for an NVLink domain that is only a part of a node.
  [[nodiscard]] static Result<Cluster> build(const catalog::Catalog& catalog, ClusterSpec spec);
  /// The same for a spec that names all three.
  [[nodiscard]] static Result<Cluster> build(const ClusterSpec& spec);

  /// As given, with the sizes of the fabric filled in.
  [[nodiscard]] const ClusterSpec& spec() const;
  [[nodiscard]] std::uint32_t gpus() const;
  [[nodiscard]] std::uint32_t nodes() const;  ///< EC2 instances, or servers
  [[nodiscard]] std::uint32_t gpus_per_node() const;
  [[nodiscard]] std::uint32_t node_of(GpuId gpu) const;
  [[nodiscard]] std::uint32_t domains() const;  ///< NVLink domains
  [[nodiscard]] std::uint32_t gpus_per_domain() const;
  [[nodiscard]] std::uint32_t domain_of(GpuId gpu) const;
  [[nodiscard]] std::uint32_t leaves() const;
  [[nodiscard]] std::uint32_t leaf_of(GpuId gpu) const;  ///< of its NICs, which must exist
  [[nodiscard]] std::uint32_t pods() const;
  /// False when the cluster is one NVLink domain of a type whose network nobody published: then the
  /// graph has GPUs and the NVLink switch plane only.
  [[nodiscard]] bool has_nics() const;

  /// Physical capacities in bytes/s, one direction each.
  [[nodiscard]] const flow::Network& network() const;
  [[nodiscard]] Tier tier(flow::LinkId link) const;
  [[nodiscard]] std::string link_name(flow::LinkId link) const;  ///< "gpu12->nvswitch1"
  /// One way. The sum over a route is the latency that catalogs/constants/fabric-defaults.json
  /// gives for that kind of path; congestion and software are not in it.
  [[nodiscard]] Seconds latency(flow::LinkId link) const;
  [[nodiscard]] VertexId source(flow::LinkId link) const;
  [[nodiscard]] VertexId target(flow::LinkId link) const;

  [[nodiscard]] std::uint32_t vertices() const;
  [[nodiscard]] VertexId vertex(GpuId gpu) const;
  [[nodiscard]] VertexKind kind(VertexId vertex) const;
  [[nodiscard]] std::string vertex_name(VertexId vertex) const;  ///< "gpu12", "node1.nic3", "leaf0"

  /// A GPU's port to its NVLink switch plane; `flow::no_link` in a domain of one.
  [[nodiscard]] flow::LinkId nvlink_out(GpuId gpu) const;
  [[nodiscard]] flow::LinkId nvlink_in(GpuId gpu) const;
  /// The link between a GPU's NIC group and its leaf: the GPU's share of its node's NICs, or, where
  /// GPUs share NICs, the same link for all of them. `flow::no_link` without NICs.
  [[nodiscard]] flow::LinkId nic_out(GpuId gpu) const;
  [[nodiscard]] flow::LinkId nic_in(GpuId gpu) const;

  /// Appends the links from one GPU to another: through NVLink inside a domain, else over PCIe to
  /// the source's NICs, up and down the fabric as far as needed, in at the target's NICs. Nothing
  /// from a GPU to itself. Arithmetic, no search.
  void route(GpuId from, GpuId to, std::vector<flow::LinkId>& links) const;
  /// Appends the fabric part only: the links between switches, without the NICs' own. Nothing below
  /// one leaf. Under `ecmp` the hash of (from, to) picks the path.
  void fabric_route(GpuId from, GpuId to, std::vector<flow::LinkId>& links) const;

  struct Graph;  ///< the Boost.Graph model behind it, for drawing and export
  [[nodiscard]] const Graph& graph() const;

  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  ~Cluster();

 private:
  struct Data;
  explicit Cluster(std::unique_ptr<const Data> data);
  std::unique_ptr<const Data> data_;

  friend Summary summarise(const Cluster& cluster);
};

struct TierSummary {
  Tier tier{};
  std::uint64_t links = 0;
  BytesPerSecond capacity{};  ///< sum over the tier's links, both directions
  /// What the first half of the GPUs can send to the second half at once, one direction, when all
  /// of it goes up to this tier: the minimum cut through the NICs and every tier up to this one.
  /// (The second half can receive no less: it is below as many switches or more.) NVLink joins no
  /// two domains, so there it is the cut through one domain; for PCIe, the half's links to their
  /// NICs.
  BytesPerSecond bisection{};
  double oversubscription = 1.0;  ///< bandwidth from below / bandwidth upwards of a full switch
};

struct Summary {
  std::uint32_t gpus = 0, nodes = 0, domains = 0, leaves = 0, pods = 0;
  std::uint64_t vertices = 0, links = 0;
  std::vector<TierSummary> tiers;        ///< those that the cluster has, from the GPUs upwards
  std::vector<std::string> assumptions;  ///< what is not published and was assumed
};
/// Counts, bisection bandwidth by tier, oversubscription.
[[nodiscard]] Summary summarise(const Cluster& cluster);

}  // namespace flowplan::topology
