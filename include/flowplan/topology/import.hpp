#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::topology {

/// Who wrote a topology file. The last two describe the inside of a node (node_picture.hpp).
enum class ImportFormat { ec2, slurm_conf, slurm_yaml, kubernetes, volcano, nccl_xml, nvidia_smi };
[[nodiscard]] std::string_view name(ImportFormat format);  ///< "ec2", "slurm", "nccl", ...
[[nodiscard]] std::optional<ImportFormat> find_import_format(std::string_view name);
/// By its content alone; nothing where it looks like none of them.
[[nodiscard]] std::optional<ImportFormat> recognise(std::string_view text);
[[nodiscard]] bool describes_a_node(ImportFormat format);

/// A node as its file describes it.
struct ImportedNode {
  std::string name;           ///< instance id or host name
  std::string instance_type;  ///< empty: the file does not say
  /// Network nodes, or switches, above it: the top first, the last one nearest. Empty: not said.
  std::vector<std::string> switches;
  std::string domain;   ///< what it shares an NVLink domain with: UltraServer, clique, block
  std::string trouble;  ///< why it takes no ranks ("cordoned"); empty: it does
  Place place;
};

struct Imported {
  ImportFormat format{};
  std::string file;
  std::vector<ImportedNode> nodes;  ///< in the order of the file; names are unique
  std::vector<std::string> notes;   ///< what the reader of a report should know
};

/// Reads one of:
/// - EC2 DescribeInstanceTopology (JSON), 3 or 4 network layers, CapacityBlockId of UltraServers;
/// - Slurm topology.conf and topology.yaml, tree and block;
/// - Kubernetes nodes, `kubectl get nodes -o yaml` or `json`, by their topology.k8s.aws labels;
/// - Volcano's HyperNodes, whose members are named (exactMatch); a HyperNode with the label of an
///   UltraServer is one, and that of an instance type is of its nodes.
///
/// `file` is what diagnostics show. Errors, all of a file at once and with their lines: FP060 for
/// what contradicts itself (a node twice, a switch below two others or below itself, a hostlist
/// that is none) or is malformed, FP016 for a file that is none of these, FP020 unknown and FP021
/// missing keys, FP022 and FP023 for values, FP073 for Slurm's ring, torus and flat topologies and
/// HyperNodes by pattern, those of JsonDocument.
[[nodiscard]] Result<Imported> read_topology(std::string text, const std::string& file,
                                             std::optional<ImportFormat> format = {});

/// The cluster that it describes, of the nodes of one instance type; `instance` names it (its
/// UltraServer will do), empty: the only type of the file. Nodes are ordered by pod, leaf, NVLink
/// domain, then as in the file; the two nearest layers of switches are leaves and pods, those above
/// act as one core. UltraServers that the file lists in part are filled up with nodes that take no
/// ranks. `spec.count` and `spec.wiring` are set, `spec.fabric` is for the caller; what was
/// assumed is in the wiring's notes. Errors FP030 for a type that the catalog does not have, FP060
/// without a type, with several, or when nodes do not name their switches.
[[nodiscard]] Result<ClusterSpec> wire(const catalog::Catalog& catalog, const Imported& imported,
                                       const std::string& instance);

}  // namespace flowplan::topology
