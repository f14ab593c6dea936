#pragma once

#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/topology/import.hpp"

namespace flowplan::topology {

/// A switch, or a block of nodes, as Slurm's files list them.
struct ListedSwitch {
  std::string name;
  std::vector<std::string> children;  ///< switches below it
  std::vector<std::string> nodes;
  Place place;
};

/// The nodes below each switch with all the switches above them, in the order of the switches.
/// Errors FP060: a switch twice, below two others or below itself, one that does not exist (with
/// the nearest name), with nothing or both sorts below it; a node below two switches.
[[nodiscard]] Result<std::vector<ImportedNode>> nodes_of_tree(
    const std::vector<ListedSwitch>& switches);

/// Blocks are NVLink domains: nodes with `domain` set and no switches. Errors FP060: a block twice,
/// an empty one, a node in two.
[[nodiscard]] Result<std::vector<ImportedNode>> nodes_of_blocks(
    const std::vector<ListedSwitch>& blocks);

}  // namespace flowplan::topology
