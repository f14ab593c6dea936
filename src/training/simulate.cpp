#include "simulate.hpp"

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "flowplan/base/assert.hpp"
#include "flowplan/flow/flow_set.hpp"
#include "flowplan/flow/task_graph.hpp"
#include "flowplan/training/programs.hpp"

namespace flowplan::training {

namespace {

/// Builds the task graph of one flush.
class Flush {
 public:
  Flush(const StepTimes& times, const Job& job)
      : times_(times), job_(job), p_(job.layout.pp), v_(job.layout.vp), m_(times.micro_batches) {
    const auto directions = job.schedule == Schedule::dual_pipe ? 2u : 1u;
    const auto count =
        directions * static_cast<std::size_t>(2 * p_ * v_) * static_cast<std::size_t>(m_);
    tasks_.resize(count);
    known_.assign(count, false);
  }

  /// The passes as they were played; those that run at once share their time.
  [[nodiscard]] std::vector<TimelineSpan> played(const flow::Timeline& timeline) const {
    std::vector<TimelineSpan> spans = passes_;
    std::size_t next = 0;
    for (std::size_t task = 0; task < parts_.size(); ++task) {
      Seconds from(timeline.start_s[task]);
      for (std::size_t part = 0; part < parts_[task]; ++part) {
        TimelineSpan& span = spans[next++];
        const bool last = part + 1 == parts_[task];
        span.to = last ? Seconds(timeline.end_s[task]) : from + span.to;
        span.from = std::exchange(from, span.to);
      }
    }
    return spans;
  }

  flow::TaskGraph build() {
    std::vector<std::vector<Pass>> programs;
    for (int rank = 0; rank < p_; ++rank)
      programs.push_back(program_of(job_, rank, m_));
    std::vector<std::size_t> next(programs.size(), 0);
    last_.assign(programs.size(), std::nullopt);
    // A task may only depend on tasks before it, so ranks take turns as far as they can.
    for (bool moved = true; moved;) {
      moved = false;
      for (int rank = 0; rank < p_; ++rank) {
        auto& at = next[static_cast<std::size_t>(rank)];
        const auto& passes = programs[static_cast<std::size_t>(rank)];
        while (at < passes.size()) {
          const std::size_t count = passes[at].with_next ? 2 : 1;
          if (!add(rank, std::span(passes).subspan(at, count))) break;
          at += count;
          moved = true;
        }
      }
    }
    for (std::size_t rank = 0; rank < programs.size(); ++rank)
      FLOWPLAN_ASSERT(next[rank] == programs[rank].size());
    return std::move(graph_);
  }

 private:
  /// The stage that a rank is to micro-batches of a direction.
  [[nodiscard]] int stage_of(int rank, int direction) const {
    return direction == 0 ? rank : p_ - 1 - rank;
  }

  [[nodiscard]] std::size_t place(int stage, const Pass& pass) const {
    const std::size_t chunk =
        static_cast<std::size_t>(pass.direction * v_ + pass.chunk) * static_cast<std::size_t>(p_) +
        static_cast<std::size_t>(stage);
    return (chunk * static_cast<std::size_t>(m_) + static_cast<std::size_t>(pass.micro_batch)) * 2 +
           (pass.part == PassPart::forward ? 0 : 1);
  }

  /// Of a stage's whole pass, and of the head in it.
  [[nodiscard]] std::pair<Seconds, Seconds> whole_and_head(const StageTime& stage,
                                                           PassPart part) const {
    // Half of what the head exchanges goes each way.
    const HeadWork& head = times_.head;
    const Seconds shard = times_.head_shard.time / 2.0;
    const Seconds weight = head.gemm.weight + head.prediction.weight;
    switch (part) {
      case PassPart::forward:
        return {stage.pass.forward, head.forward() + shard};
      case PassPart::backward:
        return {stage.pass.backward, head.backward() + shard};
      case PassPart::input:
        return {stage.pass.backward - stage.pass.weight, head.backward() + shard - weight};
      case PassPart::weight:
        break;
    }
    return {stage.pass.weight, weight};
  }

  [[nodiscard]] double duration(int at, const Pass& pass) const {
    const bool last = at + 1 == p_;
    auto [whole, head] = whole_and_head(times_.stages[static_cast<std::size_t>(at)], pass.part);
    if (!last) head = Seconds(0);
    // The head is on the last chunk of the last rank.
    Seconds time = (whole - head) / static_cast<double>(v_);
    if (last && pass.chunk + 1 == v_) time += head;
    if (p_ > 1 && pass.part != PassPart::weight) time += times_.pp_transfer.time;
    return time.value();
  }

  /// The pass whose result this one needs, and its stage; itself when there is none.
  [[nodiscard]] std::pair<int, Pass> before(int stage, const Pass& pass) const {
    Pass other = pass;
    if (pass.part == PassPart::forward) {
      if (stage > 0) return {stage - 1, other};
      if (pass.chunk == 0) return {stage, pass};
      --other.chunk;
      return {p_ - 1, other};
    }
    if (stage + 1 < p_) return {stage + 1, other};
    if (pass.chunk + 1 < v_) {
      ++other.chunk;
      return {0, other};
    }
    other.part = PassPart::forward;
    return {stage, other};
  }

  /// Fill and drain: nothing hides these transfers.
  [[nodiscard]] bool bare_transfer(int stage, const Pass& pass) const {
    if (pass.chunk > 0 || pass.part == PassPart::weight) return false;
    if (pass.part == PassPart::forward) return pass.micro_batch == 0 && stage > 0;
    const std::int64_t of_direction = job_.schedule == Schedule::dual_pipe ? m_ / 2 : m_;
    return pass.micro_batch + 1 == of_direction && stage + 1 < p_;
  }

  /// One task for passes that run at once; false while what one of them needs is not there.
  bool add(int rank, std::span<const Pass> passes) {
    std::vector<flow::TaskId> after;
    double time = 0.0;
    for (const Pass& pass : passes) {
      const int stage = stage_of(rank, pass.direction);
      time += duration(stage, pass);
      if (bare_transfer(stage, pass)) time += times_.pp_transfer.whole.value();
      if (pass.part == PassPart::weight) continue;
      const auto [from, needed] = before(stage, pass);
      const std::size_t other = place(from, needed);
      if (other == place(stage, pass)) continue;
      if (!known_[other]) return false;
      after.push_back(tasks_[other]);
    }
    auto& previous = last_[static_cast<std::size_t>(rank)];
    if (previous) after.push_back(*previous);
    previous = graph_.add({}, time, after);
    parts_.push_back(passes.size());
    for (const Pass& pass : passes) {
      const int stage = stage_of(rank, pass.direction);
      passes_.push_back({what(pass.part),
                         rank,
                         pass.chunk,
                         pass.micro_batch,
                         pass.direction,
                         {},
                         Seconds(duration(stage, pass))});
      if (pass.part == PassPart::weight) continue;
      tasks_[place(stage, pass)] = *previous;
      known_[place(stage, pass)] = true;
    }
    return true;
  }

  static TimelineSpan::What what(PassPart part) {
    if (part == PassPart::forward) return TimelineSpan::What::forward;
    return part == PassPart::weight ? TimelineSpan::What::weight : TimelineSpan::What::backward;
  }

  const StepTimes& times_;
  const Job& job_;
  int p_, v_;
  std::int64_t m_;
  flow::TaskGraph graph_;
  std::vector<flow::TaskId> tasks_;  // by stage, micro-batch and way
  std::vector<bool> known_;
  std::vector<std::optional<flow::TaskId>> last_;  // of each rank
  std::vector<TimelineSpan> passes_;
  std::vector<std::size_t> parts_;  // passes of each task
};

}  // namespace

Result<Seconds> simulated_step(const StepTimes& times, const Job& job) {
  const auto timeline = flow::simulate(flow::Network{}, Flush(times, job).build());
  if (!timeline) return fail(timeline.error());
  return Seconds(timeline->makespan_s) + times.dp.time + times.optimizer + times.overhead;
}

Result<StepTimeline> played_step(const StepTimes& times, const Job& job) {
  Flush flush(times, job);
  const auto timeline = flow::simulate(flow::Network{}, flush.build());
  if (!timeline) return fail(timeline.error());
  StepTimeline step{flush.played(*timeline), Seconds(timeline->makespan_s)};
  using What = TimelineSpan::What;
  const std::pair<What, Seconds> ends[] = {{What::gradients, times.dp.time},
                                           {What::optimizer, times.optimizer},
                                           {What::overhead, times.overhead}};
  for (const auto& [what, time] : ends) {
    for (int rank = 0; rank < job.layout.pp; ++rank)
      step.spans.push_back({what, rank, 0, 0, 0, step.end, step.end + time});
    step.end += time;
  }
  return step;
}

}  // namespace flowplan::training
