#include "flowplan/flow/generate.hpp"

#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "case_limits.hpp"
#include "fabric.hpp"
#include "flowplan/base/split_mix.hpp"

namespace flowplan::flow {
namespace {

/// Links that all flows cross together, at most: 1.5 GiB.
constexpr std::uint64_t most_uses = std::uint64_t{1} << 27;

/// Largest mean of random sizes: twice as much is still a whole number in a double.
constexpr double most_random_bytes = 0x1p51;

/// One random cycle through each block of hosts (Sattolo): whom each host sends to.
std::vector<std::uint32_t> random_cycles(std::uint32_t hosts, std::uint32_t block,
                                         SplitMix64& random) {
  std::vector<std::uint32_t> target(hosts);
  std::iota(target.begin(), target.end(), 0U);
  for (std::uint32_t first = 0; first < hosts; first += block) {
    for (std::uint32_t i = block - 1; i > 0; --i) {
      std::swap(target[first + i], target[first + random.below(i)]);
    }
  }
  return target;
}

/// The pairs of hosts of a pattern, the same ones every time they are asked for.
class Pairs {
 public:
  Pairs(const Traffic& traffic, std::uint32_t hosts, std::uint64_t seed)
      : traffic_(traffic),
        hosts_(hosts),
        block_(traffic.group ? traffic.group : hosts),
        seed_(seed) {
    if (traffic.pattern == Pattern::permutation) {
      SplitMix64 random(seed);
      target_ = random_cycles(hosts, block_, random);
    }
  }

  [[nodiscard]] std::uint64_t count() const {
    switch (traffic_.pattern) {
      case Pattern::all_to_all:
        return std::uint64_t{hosts_} * (block_ - 1);
      case Pattern::incast:
        return hosts_ - hosts_ / block_;
      case Pattern::random:
        return traffic_.flows ? traffic_.flows : hosts_;
      case Pattern::permutation:
      case Pattern::ring:
        break;
    }
    return hosts_;
  }

  /// Calls `use(source, target)` for each; ends early when it returns false.
  template <class Use>
  void each(Use&& use) const {
    if (traffic_.pattern == Pattern::random) return each_random(use);
    for (std::uint32_t s = 0; s < hosts_; ++s) {
      const std::uint32_t first = s / block_ * block_;
      if (traffic_.pattern == Pattern::all_to_all) {
        for (std::uint32_t t = first; t < first + block_; ++t) {
          if (t != s && !use(s, t)) return;
        }
      } else if (const auto target = only_target(s, first); target && !use(s, *target)) {
        return;
      }
    }
  }

 private:
  template <class Use>
  void each_random(Use& use) const {
    SplitMix64 random(seed_);
    for (std::uint64_t f = count(); f > 0; --f) {
      const auto s = static_cast<std::uint32_t>(random.below(hosts_));
      const std::uint32_t first = s / block_ * block_;
      const auto other = static_cast<std::uint32_t>(random.below(block_ - 1));
      if (!use(s, first + other + (first + other >= s ? 1 : 0))) return;
    }
  }

  [[nodiscard]] std::optional<std::uint32_t> only_target(std::uint32_t s,
                                                         std::uint32_t first) const {
    switch (traffic_.pattern) {
      case Pattern::permutation:
        return target_[s];
      case Pattern::ring:
        return first + (s - first + 1) % block_;
      default:
        return s == first ? std::nullopt : std::optional(first);
    }
  }

  const Traffic& traffic_;
  std::uint32_t hosts_, block_;
  std::uint64_t seed_;
  std::vector<std::uint32_t> target_;  // of a permutation
};

std::optional<Diagnostic> fault(const Traffic& traffic, std::uint32_t hosts) {
  if (hosts < 2) return bad_generator("traffic needs two hosts");
  if (traffic.group != 0 && (traffic.group < 2 || hosts % traffic.group != 0)) {
    return bad_generator(fmt::format("{} hosts in groups of {}", hosts, traffic.group),
                         "a group is 2 or more hosts and divides all of them");
  }
  const bool random = traffic.sizes == Sizes::random;
  const double most = random ? most_random_bytes : most_bytes;
  if (!(traffic.bytes >= (random ? 1.0 : 0.0) && traffic.bytes <= most) ||
      (random && traffic.bytes != std::floor(traffic.bytes))) {
    return bad_generator(fmt::format("flows of {} bytes", traffic.bytes),
                         random ? "whole bytes from 1 to 2^51" : "0 to 1e24");
  }
  if (!(traffic.spread_s >= 0.0 && traffic.spread_s <= most_seconds)) {
    return bad_generator(fmt::format("starts spread over {} s", traffic.spread_s), "0 to 1e12");
  }
  if (traffic.flows > 0 && traffic.pattern != Pattern::random) {
    return bad_generator("only random traffic takes a number of flows");
  }
  return std::nullopt;
}

constexpr std::array topology_names{"fat tree", "clos", "torus", "dragonfly"};
constexpr std::array pattern_names{"permutation", "all-to-all", "ring", "incast", "random"};

void describe(const Topology& topology, const Traffic& traffic, std::uint32_t hosts, Case& out) {
  out.name = fmt::format("{} of {} hosts, {}", topology_names[topology.index()], hosts,
                         pattern_names[static_cast<std::size_t>(traffic.pattern)]);
  out.about = fmt::format(
      "{} bytes a flow{}{}{}, seed {}.", traffic.bytes,
      traffic.sizes == Sizes::random ? " on average, random" : "",
      traffic.group ? fmt::format(", in groups of {}", traffic.group) : "",
      traffic.spread_s > 0.0 ? fmt::format(", starts spread over {} s", traffic.spread_s) : "",
      traffic.seed);
}

/// Counts the links that all flows cross; nothing when there are too many.
std::optional<std::uint64_t> count_uses(const Fabric& fabric, const Pairs& pairs) {
  std::uint64_t uses = 0;
  std::vector<LinkId> path;
  pairs.each([&](std::uint32_t s, std::uint32_t t) {
    path.clear();
    fabric.route(s, t, path);
    uses += path.size();
    return uses <= most_uses;
  });
  return uses <= most_uses ? std::optional(uses) : std::nullopt;
}

/// Writes straight into the arrays: exactly as much memory as the flows take.
void add_flows(const Fabric& fabric, const Pairs& pairs, const Traffic& traffic, std::uint64_t uses,
               SplitMix64 sizes, SplitMix64 starts, Case& out) {
  const std::uint64_t count = pairs.count();
  FlowSet& flows = out.flows;
  flows.reserve(count, uses);
  flows.coefficient.push_usual(uses);
  flows.cap_per_s.push_usual(count);
  flows.weight.push_usual(count);
  out.flow_source.reserve(count);
  out.flow_target.reserve(count);
  const auto range =
      static_cast<std::uint64_t>(traffic.sizes == Sizes::random ? 2.0 * traffic.bytes - 1.0 : 1.0);
  pairs.each([&](std::uint32_t s, std::uint32_t t) {
    fabric.route(s, t, flows.link);
    flows.first_use.push_back(static_cast<std::uint32_t>(flows.link.size()));
    flows.bytes.push_back(traffic.sizes == Sizes::random
                              ? static_cast<double>(1 + sizes.below(range))
                              : traffic.bytes);
    flows.start_s.push_back(traffic.spread_s > 0.0 ? starts.unit() * traffic.spread_s : 0.0);
    out.flow_source.push_back(s);
    out.flow_target.push_back(t);
    return true;
  });
}

}  // namespace

Result<Case> generate(const Topology& topology, const Traffic& traffic) {
  const auto fabric = make_fabric(topology);
  if (!fabric) return fail(fabric.error());
  const std::uint32_t hosts = (*fabric)->hosts();
  if (const auto found = fault(traffic, hosts)) return fail(*found);
  SplitMix64 seeds(traffic.seed);
  const std::uint64_t pair_seed = seeds.next(), size_seed = seeds.next();
  const Pairs pairs(traffic, hosts, pair_seed);
  if (pairs.count() > most_flows) {
    return fail(bad_generator(fmt::format("{} flows", pairs.count()),
                              fmt::format("at most {}", most_flows)));
  }
  const auto uses = count_uses(**fabric, pairs);
  if (!uses) {
    return fail(bad_generator("the flows' paths are too long together",
                              fmt::format("at most {} links in all", most_uses)));
  }
  Case out;
  describe(topology, traffic, hosts, out);
  (*fabric)->build(out);
  add_flows(**fabric, pairs, traffic, *uses, SplitMix64(size_seed), SplitMix64(seeds.next()), out);
  return out;
}

}  // namespace flowplan::flow
