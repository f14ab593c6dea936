#include "flowplan/topology/degradation.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace flowplan::topology {
namespace {

constexpr const char* grammar =
    "WHAT:WHERE=FACTOR with nic:gpuN, nic:nodeN, nvlink:gpuN, pcie:gpuN, gpu:gpuN, node:nodeN, "
    "uplink:leafN, uplink:podN, leaf:leafN or link:A->B; FACTOR from 0 to 1: 0.5 is half, 0 a "
    "failure";

void add(std::vector<Slowdown>& slow, flow::LinkId link, double factor) {
  if (link != flow::no_link) slow.push_back({link, factor});
}

Diagnostic unreadable(std::string_view text) {
  return error(Code::usage, fmt::format("`{}` is not a degradation", text), grammar);
}

/// "gpu12" after "gpu": 12.
std::optional<std::uint32_t> number_after(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  std::uint32_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> factor_of(std::string_view text) {
  double value = 0.0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

std::vector<Slowdown> slow_all(const std::vector<flow::LinkId>& links, double factor) {
  std::vector<Slowdown> slow;
  for (const flow::LinkId link : links)
    add(slow, link, factor);
  return slow;
}

/// The PCIe part of a GPU's ways out and in.
std::vector<Slowdown> slow_pcie(const Cluster& cluster, GpuId gpu, double factor) {
  std::vector<flow::LinkId> links, pcie;
  if (cluster.has_nics()) {
    cluster.exit_route(gpu, links);
    cluster.entry_route(gpu, links);
  }
  for (const flow::LinkId link : links)
    if (cluster.tier(link) == Tier::pcie) pcie.push_back(link);
  return slow_all(pcie, factor);
}

/// A node's links but for the NICs' own.
std::vector<Slowdown> slow_whole_node(const Cluster& cluster, std::uint32_t node, double factor) {
  std::vector<Slowdown> slow = slow_node(cluster, node, factor);
  const std::uint32_t first = node * cluster.gpus_per_node();
  for (std::uint32_t gpu = first; gpu < first + cluster.gpus_per_node(); ++gpu) {
    const std::vector<Slowdown> one = slow_gpu(cluster, GpuId{gpu}, factor);
    slow.insert(slow.end(), one.begin(), one.end());
  }
  return slow;
}

/// A leaf's uplinks and the NICs that hang below it.
std::vector<Slowdown> slow_leaf(const Cluster& cluster, std::uint32_t leaf, double factor) {
  std::vector<flow::LinkId> links = cluster.uplinks_of_leaf(leaf);
  flow::LinkId last = flow::no_link;
  for (std::uint32_t gpu = 0; gpu < cluster.gpus(); ++gpu) {
    const flow::LinkId out = cluster.nic_out(GpuId{gpu});
    if (out == last || cluster.leaf_of(GpuId{gpu}) != leaf) continue;
    last = out;  // GPUs that share a NIC follow each other
    links.push_back(out);
    links.push_back(cluster.nic_in(GpuId{gpu}));
  }
  return slow_all(links, factor);
}

/// A sort of part that can be degraded.
struct Part {
  const char* what;   ///< "nic"
  const char* where;  ///< "gpu"
  std::uint32_t count;
  std::vector<Slowdown> (*slow)(const Cluster&, std::uint32_t, double);
  const std::vector<std::string>* names = nullptr;  ///< of an imported cluster
};

std::vector<Part> parts_of(const Cluster& cluster) {
  const Wiring* wiring = cluster.spec().wiring.get();
  const auto* nodes = wiring ? &wiring->node : nullptr;
  const auto* leaves = wiring ? &wiring->leaf_name : nullptr;
  const auto* pods = wiring ? &wiring->pod_name : nullptr;
  return {
      {"nic", "gpu", cluster.gpus(),
       [](const Cluster& c, std::uint32_t i, double f) { return slow_nic(c, GpuId{i}, f); }},
      {"nic", "node", cluster.nodes(), slow_node, nodes},
      {"nvlink", "gpu", cluster.gpus(),
       [](const Cluster& c, std::uint32_t i, double f) { return slow_nvlink(c, GpuId{i}, f); }},
      {"pcie", "gpu", cluster.gpus(),
       [](const Cluster& c, std::uint32_t i, double f) { return slow_pcie(c, GpuId{i}, f); }},
      {"gpu", "gpu", cluster.gpus(),
       [](const Cluster& c, std::uint32_t i, double f) { return slow_gpu(c, GpuId{i}, f); }},
      {"node", "node", cluster.nodes(), slow_whole_node, nodes},
      {"leaf", "leaf", cluster.leaves(), slow_leaf, leaves},
      {"uplink", "leaf", cluster.leaves(),
       [](const Cluster& c, std::uint32_t i, double f) {
         return slow_all(c.uplinks_of_leaf(i), f);
       },
       leaves},
      {"uplink", "pod", cluster.pods(),
       [](const Cluster& c, std::uint32_t i, double f) { return slow_all(c.uplinks_of_pod(i), f); },
       pods},
  };
}

/// The number of a part by its number or its own name.
std::optional<std::uint32_t> find_part(const Part& part, std::string_view where) {
  if (part.names != nullptr)
    for (std::uint32_t i = 0; i < part.names->size(); ++i)
      if ((*part.names)[i] == where) return i;
  return number_after(where, part.where);
}

Result<std::vector<Slowdown>> one_link(const Cluster& cluster, std::string_view where,
                                       double factor) {
  const std::size_t arrow = where.find("->");
  if (arrow == where.npos) return fail(unreadable(where));
  const auto from = cluster.find_vertex(where.substr(0, arrow));
  const auto to = cluster.find_vertex(where.substr(arrow + 2));
  const flow::LinkId link = from && to ? cluster.link_between(*from, *to) : flow::no_link;
  if (link == flow::no_link)
    return fail(error(Code::bad_cluster, fmt::format("there is no link {}", where),
                      "for example " + cluster.link_name(flow::LinkId{0})));
  return std::vector<Slowdown>{{link, factor}};
}

Diagnostic no_such_part(const Part& part, std::string_view where) {
  std::string hint = fmt::format("the cluster has {}0 to {}{}", part.where, part.where,
                                 static_cast<std::int64_t>(part.count) - 1);
  if (part.names != nullptr && !number_after(where, part.where)) hint = suggest(where, *part.names);
  return error(Code::bad_cluster, fmt::format("there is no {}", where), std::move(hint));
}

Result<std::vector<Slowdown>> parse_one(const Cluster& cluster, std::string_view text) {
  const std::size_t colon = text.find(':'), equals = text.rfind('=');
  if (colon == text.npos || equals == text.npos || equals < colon) return fail(unreadable(text));
  const std::string_view what = text.substr(0, colon);
  const std::string_view where = text.substr(colon + 1, equals - colon - 1);
  const std::optional<double> factor = factor_of(text.substr(equals + 1));
  if (!factor) return fail(unreadable(text));
  if (*factor < 0.0 || *factor > 1.0)
    return fail(error(Code::usage,
                      fmt::format("`{}`: a factor of {:g} is no degradation", text, *factor),
                      "0 (failed) to 1 (as built)"));
  if (what == "link") return one_link(cluster, where, *factor);
  const Part* named = nullptr;  // a sort whose parts have names of their own
  const std::vector<Part> parts = parts_of(cluster);
  for (const Part& part : parts) {
    if (what != part.what) continue;
    if (part.names != nullptr) named = &part;
    const std::optional<std::uint32_t> number = find_part(part, where);
    if (!number) continue;
    if (*number >= part.count) return fail(no_such_part(part, where));
    std::vector<Slowdown> slow = part.slow(cluster, *number, *factor);
    if (slow.empty())
      return fail(error(Code::bad_cluster, fmt::format("{} has no {}", where, what)));
    return slow;
  }
  if (named != nullptr) return fail(no_such_part(*named, where));
  return fail(unreadable(text));
}

}  // namespace

std::vector<Slowdown> slow_nic(const Cluster& cluster, GpuId gpu, double factor) {
  return slow_all({cluster.nic_out(gpu), cluster.nic_in(gpu)}, factor);
}

std::vector<Slowdown> slow_node(const Cluster& cluster, std::uint32_t node, double factor) {
  std::vector<Slowdown> slow;
  const std::uint32_t first = node * cluster.gpus_per_node();
  for (std::uint32_t gpu = first; gpu < first + cluster.gpus_per_node(); ++gpu) {
    const flow::LinkId out = cluster.nic_out(GpuId{gpu});
    const bool shared = gpu > first && out == cluster.nic_out(GpuId{gpu - 1});
    if (shared) continue;  // else the factor would count twice
    add(slow, out, factor);
    add(slow, cluster.nic_in(GpuId{gpu}), factor);
  }
  return slow;
}

std::vector<Slowdown> slow_nvlink(const Cluster& cluster, GpuId gpu, double factor) {
  return slow_all({cluster.nvlink_out(gpu), cluster.nvlink_in(gpu)}, factor);
}

std::vector<Slowdown> slow_gpu(const Cluster& cluster, GpuId gpu, double factor) {
  std::vector<Slowdown> slow = slow_nvlink(cluster, gpu, factor);
  if (!cluster.has_nics()) return slow;
  std::vector<flow::LinkId> out, in;
  cluster.exit_route(gpu, out);
  cluster.entry_route(gpu, in);
  add(slow, out.front(), factor);
  add(slow, in.back(), factor);
  return slow;
}

std::vector<GpuId> failed_gpus(const Cluster& cluster) {
  std::vector<GpuId> failed;
  const auto slow = cluster.slowdowns();
  if (std::none_of(slow.begin(), slow.end(), [](const Slowdown& one) { return one.factor == 0.0; }))
    return failed;
  for (std::uint32_t id = 0; id < cluster.gpus(); ++id) {
    const std::vector<Slowdown> ports = slow_gpu(cluster, GpuId{id}, 0.0);
    if (!ports.empty() && std::all_of(ports.begin(), ports.end(), [&](const Slowdown& port) {
          return cluster.capacity(port.link) == 0.0;
        }))
      failed.push_back(GpuId{id});
  }
  return failed;
}

Result<std::vector<Slowdown>> parse_degradation(const Cluster& cluster, std::string_view text) {
  std::vector<Slowdown> all;
  Diagnostics faults;
  while (true) {
    const std::size_t comma = text.find(',');
    const auto one = parse_one(cluster, text.substr(0, comma));
    if (one) {
      all.insert(all.end(), one->begin(), one->end());
    } else {
      faults.insert(faults.end(), one.error().begin(), one.error().end());
    }
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  if (!faults.empty()) return fail(std::move(faults));
  return all;
}

}  // namespace flowplan::topology
