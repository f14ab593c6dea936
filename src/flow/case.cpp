#include "flowplan/flow/case.hpp"

#include <fmt/format.h>

namespace flowplan::flow {

std::string Case::link_name(std::size_t link) const {
  if (!own_link_names.empty() && !own_link_names[link].empty()) {
    return std::string(own_link_names[link]);
  }
  return fmt::format("{}->{}", nodes[link_from[link]], nodes[link_to[link]]);
}

std::string Case::flow_name(std::size_t flow) const {
  return own_flow_names.empty() ? std::to_string(flow) : std::string(own_flow_names[flow]);
}

TaskGraph Case::task_graph() const {
  return {tasks, dependencies, flows};
}

}  // namespace flowplan::flow
