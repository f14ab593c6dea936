#include "flowplan/topology/degradation.hpp"

#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace flowplan::topology {
namespace {

constexpr const char* grammar =
    "WHAT:WHERE=FACTOR with nic:gpuN, nic:nodeN, nvlink:gpuN, pcie:gpuN, uplink:leafN or "
    "uplink:podN; 0.5 is half, 0 a failure";

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
  if (!(value >= 0.0) || !std::isfinite(value)) return std::nullopt;
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

/// A sort of part that can be degraded.
struct Part {
  const char* what;   ///< "nic"
  const char* where;  ///< "gpu"
  std::uint32_t count;
  std::vector<Slowdown> (*slow)(const Cluster&, std::uint32_t, double);
};

std::vector<Part> parts_of(const Cluster& cluster) {
  return {
      {"nic", "gpu", cluster.gpus(),
       [](const Cluster& c, std::uint32_t i, double f) { return slow_nic(c, GpuId{i}, f); }},
      {"nic", "node", cluster.nodes(), slow_node},
      {"nvlink", "gpu", cluster.gpus(),
       [](const Cluster& c, std::uint32_t i, double f) { return slow_nvlink(c, GpuId{i}, f); }},
      {"pcie", "gpu", cluster.gpus(),
       [](const Cluster& c, std::uint32_t i, double f) { return slow_pcie(c, GpuId{i}, f); }},
      {"uplink", "leaf", cluster.leaves(),
       [](const Cluster& c, std::uint32_t i, double f) {
         return slow_all(c.uplinks_of_leaf(i), f);
       }},
      {"uplink", "pod", cluster.pods(),
       [](const Cluster& c, std::uint32_t i, double f) {
         return slow_all(c.uplinks_of_pod(i), f);
       }},
  };
}

Result<std::vector<Slowdown>> parse_one(const Cluster& cluster, std::string_view text) {
  const std::size_t colon = text.find(':'), equals = text.find('=');
  if (colon == text.npos || equals == text.npos || equals < colon) return fail(unreadable(text));
  const std::string_view what = text.substr(0, colon);
  const std::string_view where = text.substr(colon + 1, equals - colon - 1);
  const std::optional<double> factor = factor_of(text.substr(equals + 1));
  if (!factor) return fail(unreadable(text));
  for (const Part& part : parts_of(cluster)) {
    if (what != part.what) continue;
    const std::optional<std::uint32_t> number = number_after(where, part.where);
    if (!number) continue;
    if (*number >= part.count)
      return fail(error(Code::bad_cluster, fmt::format("there is no {}", where),
                        fmt::format("the cluster has {}0 to {}{}", part.where, part.where,
                                    static_cast<std::int64_t>(part.count) - 1)));
    std::vector<Slowdown> slow = part.slow(cluster, *number, *factor);
    if (slow.empty())
      return fail(error(Code::bad_cluster, fmt::format("{} has no {}", where, what)));
    return slow;
  }
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
