#pragma once

#include <string>

#include "flowplan/base/result.hpp"
#include "flowplan/topology/node_picture.hpp"

namespace flowplan::topology {

// One reader a format, each a pure function of the text.
[[nodiscard]] Result<NodePicture> read_nccl_xml(const std::string& text, const std::string& file);
[[nodiscard]] Result<NodePicture> read_nvidia_smi(const std::string& text, const std::string& file);

}  // namespace flowplan::topology
