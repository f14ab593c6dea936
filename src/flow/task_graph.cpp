#include "flowplan/flow/task_graph.hpp"

#include <algorithm>
#include <optional>
#include <queue>
#include <tuple>

#include <fmt/format.h>

#include "engine.hpp"
#include "flowplan/base/assert.hpp"
#include "tolerances.hpp"

namespace flowplan::flow {
namespace {

/// Names of a cycle that a message lists; a longer one is cut.
constexpr std::size_t most_names = 12;

constexpr std::uint32_t nobody = ~std::uint32_t{0};

using Task = TaskGraph::Task;

/// The tasks after each task: those of t are `after[first[t]]` up to `after[first[t + 1]]`.
struct Successors {
  std::vector<std::uint32_t> first, after;
};

Successors successors(const TaskGraph& graph) {
  Successors s;
  s.first.assign(graph.tasks.size() + 1, 0);
  for (const auto& [before, after] : graph.dependencies)
    ++s.first[index(before) + 1];
  for (std::size_t t = 0; t < graph.tasks.size(); ++t)
    s.first[t + 1] += s.first[t];
  std::vector<std::uint32_t> next(s.first.begin(), s.first.end() - 1);
  s.after.resize(graph.dependencies.size());
  for (const auto& [before, after] : graph.dependencies) {
    s.after[next[index(before)]++] = static_cast<std::uint32_t>(index(after));
  }
  return s;
}

std::vector<std::uint32_t> count_predecessors(const TaskGraph& graph) {
  std::vector<std::uint32_t> count(graph.tasks.size(), 0);
  for (const auto& [before, after] : graph.dependencies)
    ++count[index(after)];
  return count;
}

Diagnostics dangling_dependencies(const TaskGraph& graph) {
  Diagnostics found;
  for (std::size_t d = 0; d < graph.dependencies.size(); ++d) {
    const auto [before, after] = graph.dependencies[d];
    for (const auto& [end, other] : {std::pair{before, after}, std::pair{after, before}}) {
      if (index(end) < graph.tasks.size()) continue;
      const std::string of = index(other) < graph.tasks.size()
                                 ? fmt::format(" of `{}`", graph.tasks[index(other)].name)
                                 : std::string();
      found.push_back(error(
          Code::dangling_dependency,
          fmt::format("dependency {}{} names task {}, which does not exist", d, of, index(end)),
          fmt::format("there are {} tasks", graph.tasks.size())));
    }
  }
  return found;
}

/// The tasks that wait for one another, as "`a` -> `b` -> `a`".
std::string describe(const TaskGraph& graph, const std::vector<std::uint32_t>& cycle) {
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), most_names); ++i) {
    text += fmt::format("`{}` -> ", graph.tasks[cycle[i]].name);
  }
  if (cycle.size() > most_names) text += fmt::format("{} more -> ", cycle.size() - most_names);
  return text + fmt::format("`{}`", graph.tasks[cycle.front()].name);
}

std::optional<Diagnostic> cycle(const TaskGraph& graph, const Successors& next) {
  std::vector<std::uint32_t> waiting = count_predecessors(graph);
  std::vector<std::uint32_t> order;
  for (std::uint32_t t = 0; t < waiting.size(); ++t) {
    if (waiting[t] == 0) order.push_back(t);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::uint32_t s = next.first[order[i]]; s < next.first[order[i] + 1]; ++s) {
      if (--waiting[next.after[s]] == 0) order.push_back(next.after[s]);
    }
  }
  if (order.size() == graph.tasks.size()) return std::nullopt;

  // Each remaining task has a remaining predecessor, so walking back from any ends in a cycle.
  std::vector<std::uint32_t> before(graph.tasks.size(), nobody);
  for (const auto& [from, to] : graph.dependencies) {
    if (waiting[index(from)] > 0 && before[index(to)] == nobody) {
      before[index(to)] = static_cast<std::uint32_t>(index(from));
    }
  }
  auto t = static_cast<std::uint32_t>(
      std::find_if(waiting.begin(), waiting.end(), [](auto w) { return w > 0; }) - waiting.begin());
  std::vector<bool> walked(graph.tasks.size(), false);
  for (; !walked[t]; t = before[t])
    walked[t] = true;
  std::vector<std::uint32_t> found{t};
  for (std::uint32_t b = before[t]; b != t; b = before[b])
    found.push_back(b);
  std::reverse(found.begin(), found.end());
  std::rotate(found.begin(), std::min_element(found.begin(), found.end()), found.end());
  return error(Code::task_cycle, "tasks wait for each other: " + describe(graph, found),
               "remove one of these dependencies");
}

/// Each flow's task; flows of no task never run.
std::vector<std::uint32_t> owners(const TaskGraph& graph) {
  std::vector<std::uint32_t> owner(graph.flows.size(), nobody);
  for (std::uint32_t t = 0; t < graph.tasks.size(); ++t) {
    const Task& task = graph.tasks[t];
    FLOWPLAN_ASSERT(task.delay_s >= 0.0 && task.delay_s < unlimited && task.repeat >= 1);
    FLOWPLAN_ASSERT(task.flow_begin <= task.flow_end && task.flow_end <= graph.flows.size());
    for (std::uint32_t f = task.flow_begin; f < task.flow_end; ++f) {
      FLOWPLAN_ASSERT(owner[f] == nobody);
      owner[f] = t;
    }
  }
  return owner;
}

/// One run of a graph that is known to be sound.
class Run {
 public:
  Run(const Network& network, const TaskGraph& graph, Successors next)
      : network_(network),
        graph_(graph),
        next_(std::move(next)),
        owner_(owners(graph)),
        waiting_(count_predecessors(graph)),
        states_(graph.tasks.size()),
        engine_(network, graph.flows) {
    timeline_.start_s.assign(graph.tasks.size(), 0.0);
    timeline_.end_s.assign(graph.tasks.size(), 0.0);
    timeline_.flow_end_s.assign(graph.flows.size(), 0.0);
    timeline_.bottleneck.assign(graph.flows.size(), no_link);
  }

  Timeline operator()() {
    for (std::uint32_t t = 0; t < waiting_.size(); ++t) {
      if (waiting_[t] == 0) make_ready(t);
    }
    begin_ready();
    while (true) {
      const double timer = timers_.empty() ? unlimited : std::get<0>(timers_.top());
      const double time = std::min(engine_.next_end(), std::max(timer, engine_.now()));
      if (time == unlimited) break;
      for (const std::uint32_t flow : engine_.advance(time))
        flow_ended(flow);
      begin_ready();
      while (!timers_.empty() && std::get<0>(timers_.top()) <= end_of_instant(time)) {
        const auto [due, kind, id] = timers_.top();
        timers_.pop();
        fire(kind, id);
        begin_ready();
      }
    }
    FLOWPLAN_ASSERT(active_ == 0);
    finish();
    return std::move(timeline_);
  }

 private:
  enum class Timer { delay_over, flow_due, task_over };

  struct State {
    std::uint32_t flows_left = 0;
    std::uint32_t runs_left = 0;
    double run_start_s = 0.0;
    bool alone = false;  // no other task was under way when this run began
  };

  void make_ready(std::uint32_t t) {
    ++active_;
    ready_.push_back(t);
  }

  void begin_ready() {
    for (std::size_t i = 0; i < ready_.size(); ++i)
      begin_task(ready_[i]);
    ready_.clear();
  }

  void begin_task(std::uint32_t t) {
    timeline_.start_s[t] = engine_.now();
    states_[t].runs_left = graph_.tasks[t].repeat;
    if (const std::optional<double> duration = fixed_duration(t)) {
      for (std::uint32_t f = graph_.tasks[t].flow_begin; f < graph_.tasks[t].flow_end; ++f) {
        timeline_.flow_end_s[f] = engine_.now() + graph_.tasks[t].delay_s + graph_.flows.start_s[f];
      }
      if (*duration == 0.0) return end_task(t);
      timers_.emplace(engine_.now() + *duration, Timer::task_over, t);
    } else {
      begin_run(t);
    }
  }

  /// How long a task takes that moves nothing.
  [[nodiscard]] std::optional<double> fixed_duration(std::uint32_t t) const {
    const Task& task = graph_.tasks[t];
    double last_start = 0.0;
    for (std::uint32_t f = task.flow_begin; f < task.flow_end; ++f) {
      if (graph_.flows.bytes[f] > 0.0) return std::nullopt;
      last_start = std::max(last_start, graph_.flows.start_s[f]);
    }
    return (task.delay_s + last_start) * task.repeat;
  }

  void begin_run(std::uint32_t t) {
    const Task& task = graph_.tasks[t];
    State& state = states_[t];
    state.flows_left = task.flow_end - task.flow_begin;
    state.run_start_s = engine_.now();
    state.alone = active_ == 1;
    if (task.delay_s > 0.0) {
      timers_.emplace(engine_.now() + task.delay_s, Timer::delay_over, t);
    } else {
      release_flows(t);
    }
  }

  void release_flows(std::uint32_t t) {
    for (std::uint32_t f = graph_.tasks[t].flow_begin; f < graph_.tasks[t].flow_end; ++f) {
      const double start = graph_.flows.start_s[f];
      if (start > 0.0) {
        timers_.emplace(engine_.now() + start, Timer::flow_due, f);
      } else {
        start_flow(f);
      }
    }
  }

  void start_flow(std::uint32_t flow) {
    if (graph_.flows.bytes[flow] > 0.0) {
      engine_.start(flow);
    } else {
      flow_ended(flow);
    }
  }

  void flow_ended(std::uint32_t flow) {
    State& state = states_[owner_[flow]];
    if (state.runs_left == graph_.tasks[owner_[flow]].repeat) {
      timeline_.flow_end_s[flow] = engine_.now();
      if (graph_.flows.bytes[flow] > 0.0) timeline_.bottleneck[flow] = engine_.bottleneck(flow);
    }
    if (--state.flows_left == 0) run_ended(owner_[flow]);
  }

  void run_ended(std::uint32_t t) {
    State& state = states_[t];
    if (--state.runs_left == 0) return end_task(t);
    // Nothing can join a task that is alone before it ends, so its other runs repeat this one.
    if (!state.alone) return begin_run(t);
    const double run_s = engine_.now() - state.run_start_s;
    timers_.emplace(engine_.now() + run_s * state.runs_left, Timer::task_over, t);
  }

  void end_task(std::uint32_t t) {
    timeline_.end_s[t] = engine_.now();
    --active_;
    for (std::uint32_t s = next_.first[t]; s < next_.first[t + 1]; ++s) {
      if (--waiting_[next_.after[s]] == 0) make_ready(next_.after[s]);
    }
  }

  void fire(Timer kind, std::uint32_t id) {
    switch (kind) {
      case Timer::delay_over:
        return release_flows(id);
      case Timer::flow_due:
        return start_flow(id);
      case Timer::task_over:
        return end_task(id);
    }
  }

  void finish() {
    Column times(1.0);
    for (const std::uint32_t task : owner_)
      times.push_back(task == nobody ? 0.0 : graph_.tasks[task].repeat);
    timeline_.link_amount = amounts(network_, graph_.flows, times);
    for (const double end : timeline_.end_s) {
      timeline_.makespan_s = std::max(timeline_.makespan_s, end);
    }
    timeline_.events = engine_.solves();
  }

  using Due = std::tuple<double, Timer, std::uint32_t>;  // when, what, task or flow: ties by id

  const Network& network_;
  const TaskGraph& graph_;
  Successors next_;
  std::vector<std::uint32_t> owner_;
  std::vector<std::uint32_t> waiting_;  // predecessors that have not ended
  std::vector<State> states_;
  std::vector<std::uint32_t> ready_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> timers_;
  Engine engine_;
  std::size_t active_ = 0;  // tasks that are ready or under way
  Timeline timeline_;
};

}  // namespace

TaskId TaskGraph::add(std::string name, double delay_s, std::span<const TaskId> after,
                      std::uint32_t repeat) {
  const TaskId id{static_cast<std::uint32_t>(tasks.size())};
  const std::uint32_t begin = tasks.empty() ? 0 : tasks.back().flow_end;
  tasks.push_back(
      {std::move(name), delay_s, begin, static_cast<std::uint32_t>(flows.size()), repeat});
  for (const TaskId before : after)
    dependencies.emplace_back(before, id);
  return id;
}

Result<Timeline> simulate(const Network& network, const TaskGraph& graph) {
  if (Diagnostics dangling = dangling_dependencies(graph); !dangling.empty()) {
    return fail(std::move(dangling));
  }
  Successors next = successors(graph);
  if (std::optional<Diagnostic> found = cycle(graph, next)) return fail(std::move(*found));
  return Run(network, graph, std::move(next))();
}

}  // namespace flowplan::flow
