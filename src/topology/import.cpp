#include "flowplan/topology/import.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "import_readers.hpp"

namespace flowplan::topology {
namespace {

constexpr std::array<std::string_view, 7> format_names{
    "ec2", "slurm", "slurm-yaml", "kubernetes", "volcano", "nccl", "nvidia-smi"};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// Case does not matter.
bool has_key(std::string_view text, std::string_view key) {
  const auto same = [](char a, char b) {
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
    return lower(a) == lower(b);
  };
  return std::search(text.begin(), text.end(), key.begin(), key.end(), same) != text.end();
}

}  // namespace

std::string_view name(ImportFormat format) {
  return format_names.at(static_cast<std::size_t>(format));
}

std::optional<ImportFormat> find_import_format(std::string_view name) {
  const auto found = std::find(format_names.begin(), format_names.end(), name);
  if (found == format_names.end()) return std::nullopt;
  return static_cast<ImportFormat>(found - format_names.begin());
}

bool describes_a_node(ImportFormat format) {
  return format == ImportFormat::nccl_xml || format == ImportFormat::nvidia_smi;
}

std::optional<ImportFormat> recognise(std::string_view text) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == text.npos) return std::nullopt;
  const char first = text[start];
  if (first == '<') {
    if (has(text, "<system")) return ImportFormat::nccl_xml;
    return std::nullopt;
  }
  if (has_key(text, "SwitchName=") || has_key(text, "BlockName=")) return ImportFormat::slurm_conf;
  if (has(text, "GPU0") && has(text, "CPU Affinity")) return ImportFormat::nvidia_smi;
  if (first == '{' && has(text, "\"Instances\"")) return ImportFormat::ec2;
  if (has(text, "kind") && has(text, "HyperNode") && has(text, "members"))
    return ImportFormat::volcano;
  if (has(text, "kind") && has(text, "Node") && has(text, "metadata"))
    return ImportFormat::kubernetes;
  if (has(text, "topology:") && (has(text, "tree:") || has(text, "block:") || has(text, "flat:") ||
                                 has(text, "ring:") || has(text, "torus3d:")))
    return ImportFormat::slurm_yaml;
  return std::nullopt;
}

Result<Imported> read_topology(std::string text, const std::string& file,
                               std::optional<ImportFormat> format) {
  if (!format) format = recognise(text);
  if (!format || describes_a_node(*format)) {
    const char* found = format ? "this describes the inside of a node, not a cluster"
                               : "this is no topology file that is known";
    return fail(error(Code::wrong_kind_of_file, in_file(file), found,
                      "of clusters: EC2 DescribeInstanceTopology, Slurm's topology.conf and "
                      "topology.yaml, kubectl get nodes -o yaml|json, Volcano's HyperNodes; of the "
                      "inside of a node, which `flowplan topology` compares: NCCL's topology XML, "
                      "`nvidia-smi topo "
                      "-m`"));
  }
  switch (*format) {
    case ImportFormat::ec2:
      return read_ec2(std::move(text), file);
    case ImportFormat::slurm_conf:
      return read_slurm_conf(text, file);
    case ImportFormat::slurm_yaml:
      return read_slurm_yaml(text, file);
    case ImportFormat::volcano:
      return read_volcano(text, file);
    default:
      return read_kubernetes(text, file);
  }
}

}  // namespace flowplan::topology
