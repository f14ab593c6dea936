#include "flowplan/replay/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "communicators.hpp"
#include "flowplan/base/assert.hpp"
#include "flowplan/flow/task_graph.hpp"
#include "job_graph.hpp"
#include "kinds.hpp"
#include "spans.hpp"

namespace flowplan::replay {

namespace {

constexpr double rounding_share = 1e-9;  // of sums over many spans

flow::TaskGraph tasks_of(const JobGraph& job, const Kinds& kinds) {
  flow::TaskGraph graph;
  std::vector<flow::TaskId> after;
  for (const JobNode& node : job.nodes) {
    after.clear();
    for (const std::uint32_t before : node.after)
      after.push_back(flow::TaskId{before});
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    if (node.kind) kinds.add_flow(*node.kind, graph.flows);
    graph.add(node.first->name, node.seconds, after);
  }
  return graph;
}

std::vector<RankTime> times_of(const JobGraph& job, const flow::Timeline& timeline,
                               std::size_t ranks) {
  std::vector<std::vector<Span>> compute(ranks), exchange(ranks);
  std::vector<RankTime> out(ranks);
  for (std::size_t n = 0; n < job.nodes.size(); ++n) {
    const JobNode& node = job.nodes[n];
    const Span span{timeline.start_s[n], timeline.end_s[n]};
    for (const std::uint32_t rank : node.ranks) {
      out[rank].end = std::max(out[rank].end, Seconds(span.end));
      if (span.end <= span.begin) continue;
      if (node.exchanges()) exchange[rank].push_back(span);
      if (node.first->work == Work::compute || node.first->work == Work::memory)
        compute[rank].push_back(span);
    }
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto busy = merged(std::move(compute[rank])), moving = merged(std::move(exchange[rank]));
    RankTime& time = out[rank];
    time.compute = Seconds(length(busy));
    time.communication = Seconds(length(moving));
    const auto rest = [&](double value) {
      return Seconds(value > rounding_share * timeline.makespan_s ? value : 0.0);
    };
    time.exposed = rest(length(moving) - overlap(busy, moving));
    time.idle = rest(timeline.makespan_s - time.compute.value() - time.exposed.value());
  }
  return out;
}

std::vector<CollectiveUse> uses_of(const JobGraph& job, const Kinds& kinds,
                                   const flow::Timeline& timeline) {
  using Key = std::tuple<collective::Operation, double, std::string, std::uint32_t, std::size_t>;
  std::map<Key, CollectiveUse> by_key;
  for (std::size_t n = 0; n < job.nodes.size(); ++n) {
    const JobNode& node = job.nodes[n];
    if (!node.kind) continue;
    const Kind& kind = kinds.at(*node.kind);
    const bool transfer = node.first->work != Work::collective;
    const auto ranks = static_cast<std::uint32_t>(kind.request.groups.front().size());
    CollectiveUse& use =
        by_key[{kind.request.operation, kind.request.size.value(),
                transfer ? std::string() : node.first->group, ranks, kind.request.groups.size()}];
    if (use.count++ == 0) {
      use.operation = kind.request.operation;
      use.size = kind.request.size;
      use.group = transfer ? std::string() : node.first->group;
      use.ranks = ranks;
      use.groups = static_cast<std::uint32_t>(kind.request.groups.size());
    }
    if (kind.alone.time > use.alone.time) use.alone = kind.alone;
    use.total_alone += kind.alone.time;
    use.total += Seconds(timeline.end_s[n] - timeline.start_s[n]);
  }
  std::vector<CollectiveUse> out;
  for (auto& [key, use] : by_key)
    out.push_back(std::move(use));
  std::stable_sort(out.begin(), out.end(), [](const CollectiveUse& a, const CollectiveUse& b) {
    return a.total > b.total;
  });
  return out;
}

}  // namespace

Result<Replay> simulate(const ExecutionTrace& trace, const catalog::Gpu& gpu,
                        const collective::Stack& stack, const topology::Cluster& cluster,
                        const topology::Placement& placement, const ReplayOptions& options) {
  FLOWPLAN_ASSERT(!trace.ranks.empty() && options.compute_factor > 0.0);
  Replay replay;
  replay.one_for_all = trace.ranks.size() == 1;
  replay.ranks =
      replay.one_for_all ? placement.ranks() : static_cast<std::uint32_t>(trace.ranks.size());
  if (replay.ranks > placement.ranks())
    return fail(error(Code::bad_placement,
                      fmt::format("the trace has {} ranks, the cluster has room for {}",
                                  replay.ranks, placement.ranks()),
                      "give more --nodes"));
  const auto communicators =
      Communicators::of(trace, replay.ranks, cluster.gpus_per_domain(), options);
  if (!communicators) return fail(communicators.error());
  Kinds kinds(stack, cluster);
  const auto job = join(trace, gpu, placement, *communicators, options, kinds);
  if (!job) return fail(job.error());
  kinds.share_links();
  const auto timeline = flow::simulate(kinds.network(), tasks_of(*job, kinds));
  if (!timeline) return fail(timeline.error());
  replay.makespan = Seconds(timeline->makespan_s);
  replay.rank = times_of(*job, *timeline, trace.ranks.size());
  replay.collectives = uses_of(*job, kinds, *timeline);
  for (const RankTrace& rank : trace.ranks)
    replay.nodes += rank.nodes.size();
  for (const auto* notes : {&trace.notes, &communicators->notes(), &job->notes})
    replay.notes.insert(replay.notes.end(), notes->begin(), notes->end());
  return replay;
}

}  // namespace flowplan::replay
