#include "flowplan/collective/concurrent.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <vector>

#include "flowplan/base/assert.hpp"

namespace flowplan::collective {
namespace {

/// What one collective puts on each link, in units of its own bytes.
class Loads {
 public:
  explicit Loads(std::uint32_t links) : amount_(links, 0.0) {}

  template <class Show>
  void collect(const Stack& stack, const topology::Cluster& cluster, const Running& one,
               const Show& show) {
    for (const std::uint32_t link : touched_)
      amount_[link] = 0.0;
    touched_.clear();
    const double size = one.schedule.size.value();
    show(stack, one.schedule, cluster, one.members,
         [&](std::span<const flow::Use> uses, double bytes) {
           for (const flow::Use& use : uses) {
             double& amount = amount_[flow::index(use.link)];
             if (amount == 0.0) touched_.push_back(static_cast<std::uint32_t>(use.link));
             amount += bytes / size * use.coefficient;
           }
         });
  }

  [[nodiscard]] const std::vector<std::uint32_t>& links() const { return touched_; }
  [[nodiscard]] double on(std::uint32_t link) const { return amount_[link]; }

 private:
  std::vector<double> amount_;  // by link
  std::vector<std::uint32_t> touched_;
};

std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// The bits of a number without its last ones, in which sums of the same terms differ.
std::uint64_t rounded_bits(double value) {
  constexpr int rounding = 10;  // 2^-42, 2e-13 of the value
  return (std::bit_cast<std::uint64_t>(value) + (std::uint64_t{1} << (rounding - 1))) >> rounding;
}

double usable(const topology::Cluster& cluster, std::uint32_t link) {
  return std::max(cluster.capacity(flow::LinkId{link}), std::numeric_limits<double>::min());
}

flow::FlowSpec spec_of(const Running& one) {
  const double size = one.schedule.size.value();
  return {size, one.start_s, one.cap_per_s, one.weight > 0.0 ? one.weight : size};
}

/// Classes of links that carry the same of every collective.
struct LinkClasses {
  std::vector<std::uint32_t> first;  ///< a link of each class
  std::vector<std::uint64_t> count;
  std::vector<std::uint32_t> of;  ///< by link: its class where it is the first, else `none`
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
};

LinkClasses classify(const topology::Cluster& cluster, const std::vector<std::uint64_t>& colour) {
  LinkClasses classes;
  classes.of.assign(colour.size(), LinkClasses::none);
  std::unordered_map<std::uint64_t, std::uint32_t> known;  // looked up only, never walked
  for (std::uint32_t link = 0; link < colour.size(); ++link) {
    if (colour[link] == 0) continue;
    const std::uint64_t key = mix(colour[link] ^ mix(rounded_bits(usable(cluster, link))));
    const auto [entry, fresh] =
        known.try_emplace(key, static_cast<std::uint32_t>(classes.first.size()));
    if (fresh) {
      classes.of[link] = entry->second;
      classes.first.push_back(link);
      classes.count.push_back(0);
    }
    ++classes.count[entry->second];
  }
  return classes;
}

}  // namespace

flow::Quotient in_step(const Stack& stack, const topology::Cluster& cluster,
                       std::span<const Running> running) {
  Loads loads(cluster.links());
  std::vector<std::uint64_t> colour(cluster.links(), 0);
  for (std::size_t i = 0; i < running.size(); ++i) {
    loads.collect(stack, cluster, running[i], visit_loads);
    for (const std::uint32_t link : loads.links())
      colour[link] = mix(colour[link] + mix(i + 1) + mix(rounded_bits(loads.on(link))));
  }
  const LinkClasses classes = classify(cluster, colour);

  flow::QuotientBuilder builder;
  builder.reserve(classes.first.size(), running.size(), classes.first.size() * 2);
  for (std::size_t c = 0; c < classes.first.size(); ++c)
    builder.link_class(usable(cluster, classes.first[c]), classes.count[c]);
  for (std::size_t i = 0; i < running.size(); ++i) {
    const flow::FlowId flow = builder.flow_class(spec_of(running[i]));
    if (running.size() > 1) loads.collect(stack, cluster, running[i], visit_loads);
    for (const std::uint32_t link : loads.links()) {
      const std::uint32_t its_class = classes.of[link];
      if (its_class == LinkClasses::none) continue;
      builder.use(flow, flow::LinkId{its_class}, 1, classes.count[its_class], loads.on(link));
    }
  }
  return builder.build();
}

flow::FlowSet in_step_unfolded(const Stack& stack, const topology::Cluster& cluster,
                               std::span<const Running> running) {
  flow::FlowSet flows;
  Loads loads(cluster.links());
  std::vector<flow::Use> uses;
  for (const Running& one : running) {
    loads.collect(stack, cluster, one, visit_flows);
    uses.clear();
    for (const std::uint32_t link : loads.links())
      uses.push_back({flow::LinkId{link}, loads.on(link)});
    flows.add(uses, spec_of(one));
  }
  return flows;
}

}  // namespace flowplan::collective
