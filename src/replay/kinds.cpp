#include "kinds.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include "flowplan/collective/schedule.hpp"

namespace flowplan::replay {

namespace {

std::uint64_t stirred(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// Without the last bits, in which sums of the same terms differ.
std::uint64_t about(double value) {
  constexpr int rounding = 10;
  return (std::bit_cast<std::uint64_t>(value) + (std::uint64_t{1} << (rounding - 1))) >> rounding;
}

}  // namespace

Result<std::uint32_t> Kinds::find(const std::string& key, std::uint32_t stream,
                                  collective::Operation operation, Bytes size,
                                  const std::vector<collective::Group>& groups) {
  const auto [entry, fresh] =
      known_.try_emplace({key, operation, size.value()}, static_cast<std::uint32_t>(kinds_.size()));
  if (!fresh) return entry->second;
  Kind kind;
  kind.stream = stream;
  kind.request.operation = operation;
  kind.request.size = size;
  kind.request.groups = groups;
  auto outcome = collective::predict(stack_, cluster_, kind.request);
  if (!outcome) return fail(std::move(outcome.error()));
  kind.alone = std::move(*outcome);
  kinds_.push_back(std::move(kind));
  return entry->second;
}

Kinds::Loads Kinds::loads_of(const Kind& kind, std::vector<double>& amount) const {
  std::vector<std::uint32_t> touched;
  const double size = kind.request.size.value();
  for (const collective::Group& group : kind.request.groups) {
    collective::Members members = collective::members_of(group, cluster_);
    const collective::Shape shape = collective::shape_of(members);
    if (kind.request.operation == collective::Operation::send_recv) members = {group};
    const collective::Schedule schedule{kind.request.operation, kind.alone.algorithm,
                                        kind.alone.protocol,    shape,
                                        kind.request.size,      kind.alone.channel_share};
    collective::visit_loads(stack_, schedule, cluster_, members,
                            [&](std::span<const flow::Use> uses, double bytes) {
                              for (const flow::Use& use : uses) {
                                double& on = amount[flow::index(use.link)];
                                if (on == 0.0)
                                  touched.push_back(static_cast<std::uint32_t>(use.link));
                                on += bytes / size * use.coefficient;
                              }
                            });
  }
  Loads loads;
  loads.reserve(touched.size());
  for (const std::uint32_t link : touched)
    loads.emplace_back(link, std::exchange(amount[link], 0.0));
  return loads;
}

void Kinds::share_links() {
  uses_.assign(kinds_.size(), {});
  const bool alone = std::all_of(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
    return kind.stream == kinds_.front().stream;
  });
  if (alone) return;  // nothing runs beside anything

  constexpr std::uint32_t nobody = std::numeric_limits<std::uint32_t>::max();
  constexpr std::uint32_t several = nobody - 1;
  std::vector<double> amount(cluster_.links(), 0.0);
  std::vector<std::uint32_t> stream(cluster_.links(), nobody);
  std::vector<std::uint64_t> colour(cluster_.links(), 0);
  std::vector<Loads> loads;
  for (std::uint32_t k = 0; k < kinds_.size(); ++k) {
    loads.push_back(loads_of(kinds_[k], amount));
    for (const auto& [link, load] : loads.back()) {
      colour[link] = stirred(colour[link] + stirred(k + 1) + stirred(about(load)));
      if (stream[link] == nobody)
        stream[link] = kinds_[k].stream;
      else if (stream[link] != kinds_[k].stream)
        stream[link] = several;
    }
  }
  std::unordered_map<std::uint64_t, flow::LinkId> classes;  // looked up only
  std::vector<bool> stands(cluster_.links(), false);        // for its class
  std::vector<flow::LinkId> class_of(cluster_.links(), flow::no_link);
  for (std::uint32_t link = 0; link < colour.size(); ++link) {
    if (stream[link] != several) continue;
    const double capacity =
        std::max(cluster_.capacity(flow::LinkId{link}), std::numeric_limits<double>::min());
    const auto [entry, fresh] =
        classes.try_emplace(stirred(colour[link] ^ stirred(about(capacity))),
                            flow::LinkId{static_cast<std::uint32_t>(network_.size())});
    if (!fresh) continue;
    network_.capacity.push_back(capacity);
    stands[link] = true;
    class_of[link] = entry->second;
  }
  for (std::uint32_t k = 0; k < kinds_.size(); ++k)
    for (const auto& [link, load] : loads[k])
      if (stands[link]) uses_[k].push_back({class_of[link], load});
}

void Kinds::add_flow(std::uint32_t kind, flow::FlowSet& flows) const {
  const double bytes = kinds_[kind].request.size.value();
  // Its weight is its rate alone: of two on one link each gets its half of what it would take.
  const double cap = bytes / kinds_[kind].alone.time.value();
  flows.add(uses_[kind], {bytes, 0.0, cap, cap});
}

}  // namespace flowplan::replay
