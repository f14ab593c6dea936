#include "path_gap.hpp"

#include <fmt/format.h>

namespace flowplan::flow {

std::optional<PathGap> find_gap(const Case& flow_case, std::span<const Use> path,
                                std::uint32_t source, std::uint32_t target) {
  const NameTable& nodes = flow_case.nodes;
  std::uint32_t node = source;
  for (std::size_t hop = 0; hop < path.size(); ++hop) {
    const std::size_t link = index(path[hop].link);
    const std::uint32_t from = flow_case.link_from[link], to = flow_case.link_to[link];
    if (from == nowhere || to == nowhere) return std::nullopt;
    if (from != node) {
      return PathGap{hop, fmt::format("the path is at `{}`, but link `{}` leaves from `{}`",
                                      nodes[node], flow_case.link_name(link), nodes[from])};
    }
    node = to;
  }
  if (node == target) return std::nullopt;
  return PathGap{path.size() - 1,
                 fmt::format("the path ends at `{}`, but the flow's target is `{}`", nodes[node],
                             nodes[target])};
}

}  // namespace flowplan::flow
