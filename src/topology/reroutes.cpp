// What a degraded cluster's traffic does about its failures, in words.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "flowplan/topology/degradation.hpp"

namespace flowplan::topology {
namespace {

/// The first `most` as a list, the rest as a number.
std::string some_of(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

std::string name_of_gpu(const Cluster& cluster, GpuId gpu) {
  return cluster.vertex_name(cluster.vertex(gpu));
}

/// A failed link on the only way between a GPU and the others, `flow::no_link` where there is a
/// way.
flow::LinkId cut_of(const Cluster& cluster, GpuId gpu) {
  if (cluster.gpus() < 2) return flow::no_link;
  std::vector<flow::LinkId> links;
  const GpuId near{index(gpu) % cluster.gpus_per_node() > 0 ? index(gpu) - 1 : index(gpu) + 1};
  const bool has_near = cluster.gpus_per_node() > 1;
  const GpuId far{(index(gpu) + cluster.gpus_per_domain()) % cluster.gpus()};
  if (has_near) {
    cluster.route(gpu, near, links);
    // The neighbour's own port is its own trouble.
    if (links.size() > 1) links.erase(links.begin() + 1, links.end());
  }
  if (cluster.has_nics() && cluster.domains() > 1) {
    std::vector<flow::LinkId> out;
    cluster.route(gpu, far, out);
    const std::size_t own = static_cast<std::size_t>(
        std::find_if(out.begin(), out.end(),
                     [&](flow::LinkId link) { return cluster.tier(link) == Tier::efa; }) -
        out.begin());
    links.insert(links.end(), out.begin(),
                 out.begin() + static_cast<std::ptrdiff_t>(std::min(own + 1, out.size())));
  }
  for (const flow::LinkId link : links)
    if (cluster.capacity(link) == 0.0) return link;
  return flow::no_link;
}

}  // namespace

std::vector<std::string> rerouted_gpus(const Cluster& cluster) {
  std::vector<std::string> rerouted;
  const auto slow = cluster.slowdowns();
  const bool any = std::any_of(slow.begin(), slow.end(), [&](const Slowdown& one) {
    return one.factor == 0.0 && cluster.tier(one.link) == Tier::efa;
  });
  if (!any || !cluster.has_nics()) return rerouted;
  const std::vector<GpuId> dead = failed_gpus(cluster);
  for (std::uint32_t id = 0; id < cluster.gpus(); ++id) {
    const GpuId gpu{id};
    if (std::binary_search(dead.begin(), dead.end(), gpu)) continue;
    if (cut_of(cluster, gpu) != flow::no_link) continue;
    const std::vector<GpuId> exits = cluster.exits(gpu), entries = cluster.entries(gpu);
    const std::vector<GpuId>& others = exits.front() == gpu ? entries : exits;
    if (others.front() == gpu) continue;
    rerouted.push_back(fmt::format("{} by the NICs of {} others of {}", name_of_gpu(cluster, gpu),
                                   others.size(), cluster.node_name(cluster.node_of(gpu))));
  }
  return rerouted;
}

std::vector<std::string> describe_reroutes(const Cluster& cluster, std::size_t most) {
  std::vector<std::string> cut, without_rank, slower, failed;
  if (cluster.slowdowns().empty()) return {};
  for (const Slowdown& slow : cluster.slowdowns()) {
    if (slow.factor == 0.0)
      failed.push_back(cluster.link_name(slow.link));
    else
      slower.push_back(
          fmt::format("{} at {:g} of its rate", cluster.link_name(slow.link), slow.factor));
  }
  const std::vector<GpuId> dead = failed_gpus(cluster);
  for (std::uint32_t id = 0; id < cluster.gpus() && !failed.empty(); ++id) {
    const GpuId gpu{id};
    if (std::binary_search(dead.begin(), dead.end(), gpu)) continue;
    if (const flow::LinkId link = cut_of(cluster, gpu); link != flow::no_link)
      cut.push_back(fmt::format("{} (by {})", name_of_gpu(cluster, gpu), cluster.link_name(link)));
  }
  for (const GpuId gpu : dead)
    without_rank.push_back(name_of_gpu(cluster, gpu));
  std::vector<std::string> text;
  const auto say = [&](const char* what, const std::vector<std::string>& names) {
    if (!names.empty()) text.push_back(what + some_of(names, most) + ".");
  };
  say("Failed: ", failed);
  say("Slower (traffic stays on them, only failed NICs are gone round): ", slower);
  say("Rerouted over NVLink: ", rerouted_gpus(cluster));
  say("Failed GPUs, which take no ranks: ", without_rank);
  say("Cut off: ", cut);
  return text;
}

}  // namespace flowplan::topology
