#include "job_graph.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "flowplan/model/precision.hpp"
#include "readers.hpp"

namespace flowplan::replay {

namespace {

/// nccl-tests' size of a collective: for all_gather what every rank ends up with.
Bytes full_size(const Node& node, std::size_t ranks) {
  return node.operation == collective::Operation::all_gather
             ? node.size * static_cast<double>(ranks)
             : node.size;
}

class Joiner {
 public:
  Joiner(const ExecutionTrace& trace, const catalog::Gpu& gpu, const topology::Placement& placement,
         const Communicators& communicators, const ReplayOptions& options, Kinds& kinds)
      : trace_(trace),
        gpu_(gpu),
        placement_(placement),
        communicators_(communicators),
        options_(options),
        kinds_(kinds),
        one_for_all_(trace.ranks.size() == 1) {}

  Result<JobGraph> run() {
    for (std::uint32_t rank = 0; rank < trace_.ranks.size(); ++rank)
      add_rank(rank);
    check_matches();
    if (!faults_.empty()) return fail(std::move(faults_));
    add_dependencies();
    if (auto sorted = order(); !sorted) return fail(std::move(sorted.error()));
    count_notes();
    return std::move(graph_);
  }

 private:
  /// Which exchange a node is part of: communicator and group, or sender, receiver and tag; then
  /// how many of these came before it on this rank.
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t>;

  void complain(const RankTrace& rank, const Node& node, std::string what) {
    faults_.push_back(malformed(
        rank.file,
        fmt::format("{} {}", trace_.format == TraceFormat::chakra ? "byte" : "line", node.at),
        std::move(what)));
  }

  void add_rank(std::uint32_t rank) {
    const RankTrace& file = trace_.ranks[rank];
    job_node_.emplace_back(file.nodes.size());
    std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> seen;
    for (std::uint32_t i = 0; i < file.nodes.size(); ++i) {
      const Node& node = file.nodes[i];
      std::uint32_t& mine = job_node_[rank][i];
      switch (node.work) {
        case Work::collective:
          mine = collective(rank, node, seen);
          break;
        case Work::send:
        case Work::receive:
          mine = transfer(rank, node, seen);
          break;
        default:
          mine = fresh(rank, node);
          graph_.nodes[mine].seconds = seconds_of(node);
      }
      graph_.nodes[mine].order = std::min<std::uint64_t>(graph_.nodes[mine].order, i);
    }
  }

  std::uint32_t fresh(std::uint32_t rank, const Node& node) {
    JobNode made;
    made.first = &node;
    made.ranks = {rank};
    made.order = std::numeric_limits<std::uint64_t>::max();
    graph_.nodes.push_back(std::move(made));
    return static_cast<std::uint32_t>(graph_.nodes.size() - 1);
  }

  double seconds_of(const Node& node) {
    if (node.work == Work::nothing) return 0.0;
    const bool by_operations = options_.compute == ComputeTime::floor || !node.recorded;
    if (!by_operations || node.work == Work::host)
      return node.recorded.value_or(Seconds(0)).value() * options_.compute_factor;
    const double memory = gpu_.hbm_gbytes_per_s.value;
    const auto peak = gpu_.peak(model::Precision::bf16);
    if ((node.operations == 0.0 && node.touched.value() == 0.0) || !peak || memory <= 0.0) {
      if (node.work == Work::compute) ++untimed_;
      return 0.0;
    }
    ++floored_;
    const double arithmetic = (Flops(node.operations) / *peak).value();
    const double moving = (node.touched / gigabytes_per_second(memory)).value();
    return std::max(arithmetic, moving) * options_.compute_factor;
  }

  collective::Group gpus_of(const std::vector<std::uint32_t>& ranks) const {
    collective::Group group;
    for (const std::uint32_t rank : ranks)
      group.push_back(placement_.gpu[rank]);
    return group;
  }

  /// Gives a new exchange its kind.
  void set_kind(std::uint32_t mine, const std::string& key, std::uint32_t stream,
                collective::Operation operation, Bytes size,
                const std::vector<collective::Group>& groups) {
    if (size.value() <= 0.0 || groups.front().size() < 2) {
      ++without_exchange_;
      return;
    }
    auto kind = kinds_.find(key, stream, operation, size, groups);
    if (kind)
      graph_.nodes[mine].kind = *kind;
    else
      faults_ = std::move(kind.error());
  }

  std::uint32_t stream_of(const std::string& key) {
    return exchange_stream_.try_emplace(key, static_cast<std::uint32_t>(exchange_stream_.size()))
        .first->second;
  }

  std::uint32_t collective(std::uint32_t rank, const Node& node,
                           std::map<std::pair<std::string, std::uint64_t>, std::uint64_t>& seen) {
    const RankGroups& all = communicators_.groups(node.group);
    std::uint64_t group = 0;
    if (!one_for_all_) {
      const auto found = communicators_.group_of(node.group, rank);
      if (!found) {
        complain(trace_.ranks[rank], node,
                 fmt::format("`{}` is of communicator `{}`, which rank {} is not in", node.name,
                             node.group, rank));
        return fresh(rank, node);
      }
      group = *found;
    }
    const std::uint64_t number = seen[{node.group, group}]++;
    const auto [entry, is_new] =
        exchange_.try_emplace(Key{"c" + node.group, group, number}, std::uint32_t{0});
    if (!is_new) {
      JobNode& shared = graph_.nodes[entry->second];
      if (shared.first->operation != node.operation || shared.first->size != node.size) {
        complain(
            trace_.ranks[rank], node,
            fmt::format("`{}` is {} of {:.0f} B, where rank {} has {} of {:.0f} B", node.name,
                        collective::name(node.operation), node.size.value(), shared.ranks.front(),
                        collective::name(shared.first->operation), shared.first->size.value()));
      }
      shared.ranks.push_back(rank);
      return entry->second;
    }
    entry->second = fresh(rank, node);
    std::vector<collective::Group> groups;
    for (std::size_t g = 0; g < all.size(); ++g)
      if (one_for_all_ || g == group) groups.push_back(gpus_of(all[g]));
    const std::string key = fmt::format("c{}/{}", node.group, group);
    set_kind(entry->second, key, stream_of(key), node.operation,
             full_size(node, groups.front().size()), groups);
    return entry->second;
  }

  std::uint32_t transfer(std::uint32_t rank, const Node& node,
                         std::map<std::pair<std::string, std::uint64_t>, std::uint64_t>& seen) {
    const std::uint32_t self = one_for_all_ ? trace_.ranks[0].rank.value_or(0) : rank;
    if (node.peer >= placement_.ranks() || self >= placement_.ranks() || node.peer == self) {
      faults_.push_back(error(Code::bad_placement, in_file(trace_.ranks[rank].file),
                              fmt::format("`{}` is between rank {} and rank {} of {}", node.name,
                                          self, node.peer, placement_.ranks())));
      return fresh(rank, node);
    }
    const bool sends = node.work == Work::send;
    const std::uint32_t from = sends ? self : node.peer, to = sends ? node.peer : self;
    const std::string key = fmt::format("p{}>{}", from, to);
    const auto add = [&] {
      const std::uint32_t mine = fresh(rank, node);
      set_kind(mine, key, stream_of(key), collective::Operation::send_recv, node.size,
               {gpus_of({from, to})});
      return mine;
    };
    if (one_for_all_) {
      lone_transfers_ = true;
      return add();
    }
    const std::uint64_t number = seen[{key + (sends ? "s" : "r"), node.tag}]++;
    const auto [entry, is_new] = exchange_.try_emplace(Key{key, node.tag, number}, 0u);
    if (is_new) return entry->second = add();
    JobNode& shared = graph_.nodes[entry->second];
    if (shared.first->size != node.size)
      complain(trace_.ranks[rank], node,
               fmt::format("`{}` moves {:.0f} B, its other end {:.0f} B", node.name,
                           node.size.value(), shared.first->size.value()));
    shared.ranks.push_back(rank);
    return entry->second;
  }

  /// Every rank of a communicator has to take part in each of its collectives.
  void check_matches() {
    if (one_for_all_) return;
    for (const auto& [key, index] : exchange_) {
      const JobNode& node = graph_.nodes[index];
      const bool is_collective = node.first->work == Work::collective;
      const std::size_t expected =
          is_collective ? communicators_.groups(node.first->group)[std::get<1>(key)].size() : 2;
      if (node.ranks.size() == expected) continue;
      complain(trace_.ranks[node.ranks.front()], *node.first,
               fmt::format("`{}` waits for {} rank{}, {} take{} part", node.first->name, expected,
                           expected == 1 ? "" : "s", node.ranks.size(),
                           node.ranks.size() == 1 ? "s" : ""));
    }
  }

  void add_dependencies() {
    for (std::uint32_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      const auto& nodes = trace_.ranks[rank].nodes;
      for (std::uint32_t i = 0; i < nodes.size(); ++i)
        for (const std::uint32_t before : nodes[i].after)
          graph_.nodes[job_node_[rank][i]].after.push_back(job_node_[rank][before]);
    }
  }

  /// Streams that a node takes its turn in.
  void streams(const JobNode& node, std::vector<std::uint64_t>& into) const {
    into.clear();
    constexpr std::uint64_t of_a_rank = 2;
    const std::uint64_t rank = node.ranks.front();
    if (node.first->work == Work::compute || node.first->work == Work::memory)
      into.push_back(rank * of_a_rank);
    if (node.first->work == Work::host) into.push_back(rank * of_a_rank + 1);
    if (node.first->work == Work::collective && node.kind)
      into.push_back(trace_.ranks.size() * of_a_rank + kinds_.at(*node.kind).stream);
  }

  /// Orders the nodes, the earliest in the files first, and lets each wait for the one before it in
  /// its streams.
  Result<void> order() {
    std::vector<JobNode>& nodes = graph_.nodes;
    std::vector<std::uint32_t> missing(nodes.size(), 0), place(nodes.size(), 0);
    std::vector<std::vector<std::uint32_t>> next(nodes.size());
    for (std::uint32_t n = 0; n < nodes.size(); ++n) {
      missing[n] = static_cast<std::uint32_t>(nodes[n].after.size());
      for (const std::uint32_t before : nodes[n].after)
        next[before].push_back(n);
    }
    using Entry = std::pair<std::uint64_t, std::uint32_t>;
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
    for (std::uint32_t n = 0; n < nodes.size(); ++n)
      if (missing[n] == 0) ready.emplace(nodes[n].order, n);
    std::vector<JobNode> sorted;
    std::map<std::uint64_t, std::uint32_t> last;  // by stream: place of its latest node
    std::vector<std::uint64_t> own;
    while (!ready.empty()) {
      const std::uint32_t n = ready.top().second;
      ready.pop();
      place[n] = static_cast<std::uint32_t>(sorted.size());
      for (std::uint32_t& before : nodes[n].after)
        before = place[before];
      streams(nodes[n], own);
      for (const std::uint64_t stream : own) {
        const auto [entry, is_new] = last.try_emplace(stream, place[n]);
        if (is_new) continue;
        nodes[n].after.push_back(std::exchange(entry->second, place[n]));
      }
      sorted.push_back(std::move(nodes[n]));
      for (const std::uint32_t after : next[n])
        if (--missing[after] == 0) ready.emplace(nodes[after].order, after);
    }
    if (sorted.size() < missing.size()) return fail(cycle(missing));
    nodes = std::move(sorted);
    return {};
  }

  Diagnostic cycle(const std::vector<std::uint32_t>& missing) const {
    constexpr std::size_t most_named = 3;
    std::string names;
    std::size_t waiting = 0;
    for (std::uint32_t n = 0; n < missing.size(); ++n) {
      if (missing[n] == 0) continue;
      if (++waiting <= most_named)
        names += fmt::format("{}`{}`", names.empty() ? "" : ", ", graph_.nodes[n].first->name);
    }
    return error(Code::task_cycle, in_file(trace_.ranks[0].file),
                 fmt::format("{} nodes wait for each other: {}{}", waiting, names,
                             waiting > most_named ? ", ..." : ""));
  }

  void count_notes() {
    if (floored_ > 0)
      graph_.notes.push_back(
          fmt::format("{} compute node{}: no shorter than operations and bytes take at the GPU's "
                      "dense bf16 peak and memory bandwidth",
                      floored_, floored_ == 1 ? "" : "s"));
    if (untimed_ > 0)
      graph_.notes.push_back(
          fmt::format("{} compute node{} neither a time nor operations: taken as none", untimed_,
                      untimed_ == 1 ? " has" : "s have"));
    if (without_exchange_ > 0)
      graph_.notes.push_back(
          fmt::format("{} collective{} of one rank or of no bytes: taken as none",
                      without_exchange_, without_exchange_ == 1 ? "" : "s"));
    if (lone_transfers_)
      graph_.notes.push_back(
          "sends and receives of a single rank's trace begin when this rank is ready, whatever its "
          "peer does");
  }

  const ExecutionTrace& trace_;
  const catalog::Gpu& gpu_;
  const topology::Placement& placement_;
  const Communicators& communicators_;
  const ReplayOptions& options_;
  Kinds& kinds_;
  bool one_for_all_;
  JobGraph graph_;
  std::vector<std::vector<std::uint32_t>> job_node_;  // by rank and its node
  std::map<Key, std::uint32_t> exchange_;             // job node
  std::map<std::string, std::uint32_t> exchange_stream_;
  std::uint64_t untimed_ = 0, floored_ = 0, without_exchange_ = 0;
  bool lone_transfers_ = false;
  Diagnostics faults_;
};

}  // namespace

Result<JobGraph> join(const ExecutionTrace& trace, const catalog::Gpu& gpu,
                      const topology::Placement& placement, const Communicators& communicators,
                      const ReplayOptions& options, Kinds& kinds) {
  return Joiner(trace, gpu, placement, communicators, options, kinds).run();
}

}  // namespace flowplan::replay
