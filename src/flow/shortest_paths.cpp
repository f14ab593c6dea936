#include "shortest_paths.hpp"

#include <algorithm>

#include "path_gap.hpp"

namespace flowplan::flow {

ShortestPaths::ShortestPaths(const Case& flow_case)
    : case_(flow_case),
      first_out_(flow_case.nodes.size() + 1, 0),
      out_(flow_case.network.size()),
      source_(nowhere) {
  for (const std::uint32_t from : flow_case.link_from)
    ++first_out_[from + 1];
  for (std::size_t n = 1; n < first_out_.size(); ++n)
    first_out_[n] += first_out_[n - 1];
  std::vector<std::uint32_t> next(first_out_.begin(), first_out_.end() - 1);
  for (std::uint32_t l = 0; l < out_.size(); ++l)
    out_[next[flow_case.link_from[l]]++] = l;
}

void ShortestPaths::grow(std::uint32_t source) {
  source_ = source;
  reached_by_.assign(case_.nodes.size(), no_link);
  queue_.assign(1, source);
  for (std::size_t i = 0; i < queue_.size(); ++i) {
    for (std::uint32_t o = first_out_[queue_[i]]; o < first_out_[queue_[i] + 1]; ++o) {
      const std::uint32_t to = case_.link_to[out_[o]];
      if (to == source || reached_by_[to] != no_link) continue;
      reached_by_[to] = LinkId{out_[o]};
      queue_.push_back(to);
    }
  }
}

std::optional<std::vector<LinkId>> ShortestPaths::find(std::uint32_t source, std::uint32_t target) {
  if (source != source_) grow(source);
  std::vector<LinkId> path;
  for (std::uint32_t node = target; node != source; node = case_.link_from[index(path.back())]) {
    if (reached_by_[node] == no_link) return std::nullopt;
    path.push_back(reached_by_[node]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace flowplan::flow
