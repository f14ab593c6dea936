#include "simulate.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "flowplan/base/assert.hpp"
#include "flowplan/flow/flow_set.hpp"
#include "flowplan/flow/task_graph.hpp"

namespace flowplan::training {

namespace {

/// One pass of a rank's program.
struct Pass {
  bool forward = true;
  int chunk = 0;
  std::int64_t micro_batch = 0;
};

/// The order of a rank's passes: 1F1B, or Megatron's interleaved schedule of it with `v` chunks.
std::vector<Pass> program(int rank, int p, int v, std::int64_t m) {
  const auto pass = [&](std::int64_t k, bool forward) {
    const std::int64_t group = static_cast<std::int64_t>(p) * v;
    const auto chunk = static_cast<int>(k % group / p);
    return Pass{forward, forward ? chunk : v - 1 - chunk, k / group * p + k % p};
  };
  const std::int64_t total = m * v;
  const std::int64_t ahead =
      v == 1 ? p - rank - 1 : 2 * (p - rank - 1) + static_cast<std::int64_t>(v - 1) * p;
  const std::int64_t warm = std::min(ahead, total);
  std::vector<Pass> order;
  order.reserve(static_cast<std::size_t>(2 * total));
  for (std::int64_t k = 0; k < warm; ++k)
    order.push_back(v == 1 ? Pass{true, 0, k} : pass(k, true));
  for (std::int64_t k = warm; k < total; ++k) {
    order.push_back(v == 1 ? Pass{true, 0, k} : pass(k, true));
    order.push_back(v == 1 ? Pass{false, 0, k - warm} : pass(k - warm, false));
  }
  for (std::int64_t k = total - warm; k < total; ++k)
    order.push_back(v == 1 ? Pass{false, 0, k} : pass(k, false));
  return order;
}

/// Builds the task graph of one flush.
class Flush {
 public:
  Flush(const StepTimes& times, const Job& job)
      : times_(times), p_(job.layout.pp), v_(job.layout.vp), m_(times.micro_batches) {
    const auto count = static_cast<std::size_t>(2 * p_ * v_) * static_cast<std::size_t>(m_);
    tasks_.resize(count);
    known_.assign(count, false);
  }

  /// Which pass each task of the graph is; times are not set.
  [[nodiscard]] const std::vector<TimelineSpan>& passes() const { return passes_; }

  flow::TaskGraph build() {
    std::vector<std::vector<Pass>> programs;
    for (int rank = 0; rank < p_; ++rank)
      programs.push_back(program(rank, p_, v_, m_));
    std::vector<std::size_t> next(programs.size(), 0);
    // A task may only depend on tasks before it, so ranks take turns as far as they can.
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < p_; ++rank) {
        auto& at = next[static_cast<std::size_t>(rank)];
        const auto& passes = programs[static_cast<std::size_t>(rank)];
        while (at < passes.size() && add(rank, passes[at], at == 0 ? nullptr : &passes[at - 1])) {
          ++at;
          moved = true;
        }
      }
    }
    for (std::size_t rank = 0; rank < programs.size(); ++rank)
      FLOWPLAN_ASSERT(next[rank] == programs[rank].size());
    return std::move(graph_);
  }

 private:
  [[nodiscard]] std::size_t place(int rank, const Pass& pass) const {
    const std::size_t stage = static_cast<std::size_t>(pass.chunk) * static_cast<std::size_t>(p_) +
                              static_cast<std::size_t>(rank);
    return (stage * static_cast<std::size_t>(m_) + static_cast<std::size_t>(pass.micro_batch)) * 2 +
           (pass.forward ? 0 : 1);
  }

  [[nodiscard]] double duration(int rank, const Pass& pass) const {
    const StageTime& stage = times_.stages[static_cast<std::size_t>(rank)];
    const bool last = rank + 1 == p_;
    // The head is on the last chunk of the last rank; half of what it exchanges goes each way.
    const Seconds head_forward =
        last ? times_.head.forward() + times_.head_shard.time / 2.0 : Seconds(0);
    const Seconds head_backward =
        last ? times_.head.backward() + times_.head_shard.time / 2.0 : Seconds(0);
    const Seconds head = pass.forward ? head_forward : head_backward;
    const Seconds whole = pass.forward ? stage.pass.forward : stage.pass.backward;
    Seconds time = (whole - head) / static_cast<double>(v_);
    if (last && pass.chunk + 1 == v_) time += head;
    if (p_ > 1) time += times_.pp_transfer.time;
    return time.value();
  }

  /// The pass whose result this one needs; itself when there is none.
  [[nodiscard]] std::pair<int, Pass> before(int rank, const Pass& pass) const {
    Pass other = pass;
    if (pass.forward) {
      if (rank > 0) return {rank - 1, other};
      if (pass.chunk == 0) return {rank, pass};
      --other.chunk;
      return {p_ - 1, other};
    }
    if (rank + 1 < p_) return {rank + 1, other};
    if (pass.chunk + 1 < v_) {
      ++other.chunk;
      return {0, other};
    }
    other.forward = true;
    return {rank, other};
  }

  bool add(int rank, const Pass& pass, const Pass* previous) {
    std::vector<flow::TaskId> after;
    const auto [from, needed] = before(rank, pass);
    const std::size_t self = place(rank, pass), other = place(from, needed);
    if (other != self) {
      if (!known_[other]) return false;
      after.push_back(tasks_[other]);
    }
    if (previous != nullptr) after.push_back(tasks_[place(rank, *previous)]);
    double time = duration(rank, pass);
    // Fill and drain: nothing hides these transfers.
    const bool fills = pass.forward && pass.micro_batch == 0 && pass.chunk == 0 && rank > 0;
    const bool drains =
        !pass.forward && pass.micro_batch + 1 == m_ && pass.chunk == 0 && rank + 1 < p_;
    if (fills || drains) time += times_.pp_transfer.whole.value();
    tasks_[self] = graph_.add({}, time, after);
    passes_.push_back({pass.forward ? TimelineSpan::What::forward : TimelineSpan::What::backward,
                       rank,
                       pass.chunk,
                       pass.micro_batch,
                       {},
                       {}});
    known_[self] = true;
    return true;
  }

  const StepTimes& times_;
  int p_, v_;
  std::int64_t m_;
  flow::TaskGraph graph_;
  std::vector<flow::TaskId> tasks_;
  std::vector<bool> known_;
  std::vector<TimelineSpan> passes_;
};

}  // namespace

Result<Seconds> simulated_step(const StepTimes& times, const Job& job) {
  FLOWPLAN_ASSERT(job.schedule == Schedule::one_forward_one_backward);
  const auto timeline = flow::simulate(flow::Network{}, Flush(times, job).build());
  if (!timeline) return fail(timeline.error());
  return Seconds(timeline->makespan_s) + times.dp.time + times.optimizer + times.overhead;
}

Result<StepTimeline> played_step(const StepTimes& times, const Job& job) {
  FLOWPLAN_ASSERT(job.schedule == Schedule::one_forward_one_backward);
  Flush flush(times, job);
  const auto timeline = flow::simulate(flow::Network{}, flush.build());
  if (!timeline) return fail(timeline.error());
  StepTimeline step{flush.passes(), Seconds(timeline->makespan_s)};
  for (std::size_t task = 0; task < step.spans.size(); ++task) {
    step.spans[task].from = Seconds(timeline->start_s[task]);
    step.spans[task].to = Seconds(timeline->end_s[task]);
  }
  using What = TimelineSpan::What;
  const std::pair<What, Seconds> ends[] = {{What::gradients, times.dp.time},
                                           {What::optimizer, times.optimizer},
                                           {What::overhead, times.overhead}};
  for (const auto& [what, time] : ends) {
    for (int rank = 0; rank < job.layout.pp; ++rank)
      step.spans.push_back({what, rank, 0, 0, step.end, step.end + time});
    step.end += time;
  }
  return step;
}

}  // namespace flowplan::training
