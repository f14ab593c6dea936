#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
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

/// Where every node of a real cluster stands, as read from a file (topology/import.hpp), instead of
/// the regular order that `Fabric` describes. Sizes of the fabric left at 0 are those of the
/// largest leaf and pod; each leaf and pod is built with the uplinks of such a one.
struct Wiring {
  std::vector<std::string> node;       ///< name of every node; those of an NVLink domain in a row
  std::vector<std::uint32_t> leaf;     ///< of every node; leaves are numbered without gaps
  std::vector<std::uint32_t> pod;      ///< of every leaf, likewise
  std::vector<std::string> leaf_name;  ///< by leaf
  std::vector<std::string> pod_name;   ///< by pod
  /// Nodes that take no ranks: cordoned, failed, or a part of an UltraServer that the file does not
  /// list.
  std::vector<bool> idle;
  std::vector<std::uint32_t> listed;  ///< the nodes that take ranks, in the order of the file
  std::uint32_t nodes_per_domain = 1;
  std::vector<std::string> notes;  ///< what was read and assumed; `summarise()` repeats them
};

struct ClusterSpec {
  const catalog::Instance* instance = nullptr;  ///< outlives the cluster, as the two below
  int count = 1;  ///< units of `instance`: instances, UltraServers or nodes
  Fabric fabric;
  const catalog::Gpu* gpu = nullptr;             ///< that of `instance`; its NVLink rate
  const catalog::Constants* defaults = nullptr;  ///< a set of kind "fabric"
  /// A real cluster of `count` nodes, each one unit of `instance`; null: a regular one.
  std::shared_ptr<const Wiring> wiring = {};
};

/// A link that carries less than it was built for: its capacity times `factor`, finite and >= 0.
/// 0: it has failed.
struct Slowdown {
  flow::LinkId link;
  double factor = 1.0;
};

struct Summary;

/// A cluster as a graph of GPUs, switches and NICs, and the flow network made from its links.
/// Immutable; link ids of the graph and of the network are the same. Everything follows from counts
/// by arithmetic, so that building costs nothing whatever the number of nodes and a copy shares all
/// of it; only `network()` and `graph()` list every link, when they are first asked for. Any number
/// of threads may ask.
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
  [[nodiscard]] std::string node_name(std::uint32_t node) const;  ///< "node3", or as imported
  /// False for a node that takes no ranks, see `Wiring::idle`.
  [[nodiscard]] bool takes_ranks(std::uint32_t node) const;
  [[nodiscard]] std::uint32_t domains() const;  ///< NVLink domains
  [[nodiscard]] std::uint32_t gpus_per_domain() const;
  [[nodiscard]] std::uint32_t domain_of(GpuId gpu) const;
  [[nodiscard]] std::uint32_t leaves() const;
  [[nodiscard]] std::uint32_t leaf_of(GpuId gpu) const;  ///< of its NICs, which must exist
  [[nodiscard]] std::uint32_t pods() const;
  [[nodiscard]] std::uint32_t pod_of(GpuId gpu) const;
  /// False when the cluster is one NVLink domain of a type whose network nobody published: then the
  /// graph has GPUs and the NVLink switch plane only.
  [[nodiscard]] bool has_nics() const;

  [[nodiscard]] std::uint32_t links() const;
  /// Bytes/s, one direction; 0 for a link that has failed.
  [[nodiscard]] double capacity(flow::LinkId link) const;
  /// The capacities of all links. One that has failed stands at the least positive number, so that
  /// whatever crosses it never ends.
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
  /// The link from one vertex to another; `flow::no_link` where there is none.
  [[nodiscard]] flow::LinkId link_between(VertexId from, VertexId to) const;
  /// The vertex of that name, nothing where there is none; compares with the name of every vertex.
  [[nodiscard]] std::optional<VertexId> find_vertex(std::string_view name) const;

  /// A GPU's port to its NVLink switch plane; `flow::no_link` in a domain of one.
  [[nodiscard]] flow::LinkId nvlink_out(GpuId gpu) const;
  [[nodiscard]] flow::LinkId nvlink_in(GpuId gpu) const;
  /// The link between a GPU's NIC group and its leaf: the GPU's share of its node's NICs, or, where
  /// GPUs share NICs, the same link for all of them. `flow::no_link` without NICs.
  [[nodiscard]] flow::LinkId nic_out(GpuId gpu) const;
  [[nodiscard]] flow::LinkId nic_in(GpuId gpu) const;

  /// The links between a leaf and its spines, or a pod and the core: up and down, all planes.
  [[nodiscard]] std::vector<flow::LinkId> uplinks_of_leaf(std::uint32_t leaf) const;
  [[nodiscard]] std::vector<flow::LinkId> uplinks_of_pod(std::uint32_t pod) const;

  /// Appends the links from one GPU to another: through NVLink inside a domain, else over PCIe to
  /// the source's NICs, up and down the fabric as far as needed, in at the target's NICs. Nothing
  /// from a GPU to itself. Arithmetic, no search. Where NICs have failed it goes by one of
  /// `exits()` and one of `entries()`, picked by a hash of (from, to). Where there is no way at
  /// all, it crosses the link that cuts it, whose capacity is 0.
  void route(GpuId from, GpuId to, std::vector<flow::LinkId>& links) const;
  /// Its parts: over PCIe and out of the node by a GPU's NICs, and in.
  void exit_route(GpuId gpu, std::vector<flow::LinkId>& links) const;
  void entry_route(GpuId gpu, std::vector<flow::LinkId>& links) const;
  /// The links between switches, without the NICs' own. Nothing below one leaf. Under `ecmp` the
  /// hash of (from, to) picks the path, the next one where links of it have failed.
  void fabric_route(GpuId from, GpuId to, std::vector<flow::LinkId>& links) const;

  /// GPUs of the same node by whose NICs a GPU's traffic leaves the node (enters it), in equal
  /// parts: its own. When these have failed: those that work, reached over NVLink. When there are
  /// none, its own again.
  [[nodiscard]] std::vector<GpuId> exits(GpuId gpu) const;
  [[nodiscard]] std::vector<GpuId> entries(GpuId gpu) const;

  /// This cluster with some links slower or failed; factors of one link multiply, with those of
  /// this cluster too. The graph is shared, not copied.
  [[nodiscard]] Cluster degraded(std::span<const Slowdown> slowdowns) const;
  /// All links that carry less than built, by id.
  [[nodiscard]] std::span<const Slowdown> slowdowns() const;

  struct Graph;  ///< the Boost.Graph model behind it, for drawing and export
  [[nodiscard]] const Graph& graph() const;

 private:
  struct Data;
  struct View;
  explicit Cluster(std::shared_ptr<const Data> data, std::shared_ptr<const View> view = {});
  [[nodiscard]] double factor(flow::LinkId link) const;
  [[nodiscard]] bool failed(flow::LinkId link) const;
  template <class Works>
  [[nodiscard]] std::vector<GpuId> relays(GpuId gpu, const Works& works) const;

  std::shared_ptr<const Data> data_;
  std::shared_ptr<const View> view_;  ///< null: as built

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
