#pragma once

#include <string>

#include "flowplan/base/result.hpp"
#include "flowplan/topology/import.hpp"

namespace flowplan::topology {

// One reader a format, each a pure function of the text. `file` is what diagnostics show.
[[nodiscard]] Result<Imported> read_ec2(std::string text, const std::string& file);
[[nodiscard]] Result<Imported> read_slurm_conf(const std::string& text, const std::string& file);
[[nodiscard]] Result<Imported> read_slurm_yaml(const std::string& text, const std::string& file);
[[nodiscard]] Result<Imported> read_kubernetes(const std::string& text, const std::string& file);
[[nodiscard]] Result<Imported> read_volcano(const std::string& text, const std::string& file);

// Labels of Kubernetes that say what a node is.
inline constexpr const char* instance_type_label = "node.kubernetes.io/instance-type";
inline constexpr const char* ultraserver_label = "topology.k8s.aws/ultraserver-id";

}  // namespace flowplan::topology
