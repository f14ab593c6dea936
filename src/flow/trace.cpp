#include "flowplan/flow/trace.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::flow {
namespace {

constexpr double longest_s = 9e9;
constexpr double nanoseconds = 1e9;
constexpr int tasks_process = 1, first_flow_process = 2;

std::int64_t in_ns(double seconds) {
  return static_cast<std::int64_t>(std::min(seconds, longest_s) * nanoseconds + 0.5);
}

/// Nanoseconds as the microseconds that the format wants.
std::string micros(std::int64_t ns) {
  return fmt::format("{}.{:03}", ns / 1000, ns % 1000);
}

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

struct Span {
  std::int64_t start, end;  // ns
  std::uint32_t id;         // task or flow
};

/// The longest `count` spans, by start.
void keep_longest(std::vector<Span>& spans, std::size_t count) {
  if (spans.size() > count) {
    const auto longer = [](const Span& a, const Span& b) {
      return std::pair(b.end - b.start, a.id) < std::pair(a.end - a.start, b.id);
    };
    std::nth_element(spans.begin(), spans.begin() + static_cast<std::ptrdiff_t>(count), spans.end(),
                     longer);
    spans.resize(count);
  }
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) {
    return std::pair(a.start, a.id) < std::pair(b.start, b.id);
  });
}

class Writer {
 public:
  Writer(const Case& flow_case, const Replay& replay, const TraceLimits& limits)
      : case_(flow_case), replay_(replay), limits_(limits) {}

  std::string write() {
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    write_tasks();
    write_flows();
    write_running();
    text_ += fmt::format(
        "\n],\"otherData\":{{\"name\":{},\"makespan_s\":{},\"tasks\":{},\"tasks_drawn\":{},"
        "\"flows\":{},\"flows_drawn\":{}}}}}\n",
        json_text(case_.name), replay_.flows.makespan_s, case_.tasks.size(), tasks_drawn_,
        case_.flows.size(), flows_drawn_);
    return std::move(text_);
  }

 private:
  void event(std::string_view fields) {
    text_ += first_ ? "\n{" : ",\n{";
    text_ += fields;
    text_ += '}';
    first_ = false;
  }

  void name_process(int process, std::string_view name) {
    event(fmt::format(R"("ph":"M","name":"process_name","pid":{},"args":{{"name":{}}})", process,
                      json_text(name)));
    event(fmt::format(R"("ph":"M","name":"process_sort_index","pid":{},"args":{{"sort_index":{}}})",
                      process, process));
  }

  void span(const Span& span, int process, std::size_t lane, std::string_view kind,
            std::string_view name, std::string_view args) {
    event(fmt::format(
        R"("ph":"X","cat":"{}","name":{},"pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}})", kind,
        json_text(name), process, lane, micros(span.start), micros(span.end - span.start), args));
  }

  /// Calls `draw(span, lane)` so that no two spans of a lane overlap.
  template <class Draw>
  static void in_lanes(const std::vector<Span>& spans, Draw&& draw) {
    using Lane = std::pair<std::int64_t, std::size_t>;  // when it is free, number
    std::priority_queue<Lane, std::vector<Lane>, std::greater<>> free;
    for (const Span& span : spans) {
      std::size_t lane = free.size() + 1;
      if (!free.empty() && free.top().first <= span.start) {
        lane = free.top().second;
        free.pop();
      }
      free.emplace(span.end, lane);
      draw(span, lane);
    }
  }

  /// Start and end of a flow. What happens at one instant may be up to 1e-13 of it too early.
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> life(std::uint32_t f) const {
    const std::int64_t start = in_ns(replay_.flow_start_s[f]);
    return {start, std::max(start, in_ns(replay_.flows.end_s[f]))};
  }

  void write_tasks() {
    std::vector<Span> spans;
    for (std::uint32_t t = 0; t < case_.tasks.size(); ++t) {
      spans.push_back({in_ns(replay_.task_start_s[t]), in_ns(replay_.task_end_s[t]), t});
    }
    if (spans.empty()) return;
    keep_longest(spans, limits_.spans);
    tasks_drawn_ = spans.size();
    name_process(tasks_process, "tasks");
    in_lanes(spans, [&](const Span& s, std::size_t lane) {
      const TaskGraph::Task& task = case_.tasks[s.id];
      span(s, tasks_process, lane, "task", task.name,
           fmt::format(R"("flows":{},"repeat":{},"delay_s":{})", task.flow_end - task.flow_begin,
                       task.repeat, task.delay_s));
    });
  }

  void write_flows() {
    std::vector<Span> spans;
    spans.reserve(case_.flows.size());
    for (std::uint32_t f = 0; f < case_.flows.size(); ++f) {
      const auto [start, end] = life(f);
      spans.push_back({start, end, f});
    }
    keep_longest(spans, limits_.spans - tasks_drawn_);
    flows_drawn_ = spans.size();
    std::map<std::uint32_t, std::vector<Span>> by_source;
    for (const Span& s : spans)
      by_source[case_.flow_source[s.id]].push_back(s);
    int process = first_flow_process;
    for (const auto& [source, group] : by_source) {
      name_process(process, fmt::format("flows from {}", case_.nodes[source]));
      in_lanes(group, [&](const Span& s, std::size_t lane) { write_flow(s, process, lane); });
      ++process;
    }
  }

  void write_flow(const Span& s, int process, std::size_t lane) {
    const LinkId held = replay_.flows.bottleneck[s.id];
    span(s, process, lane, "flow",
         fmt::format("{} to {}", case_.flow_name(s.id), case_.nodes[case_.flow_target[s.id]]),
         fmt::format(R"("bytes":{},"held_by":{})", case_.flows.bytes[s.id],
                     held == no_link ? "null" : json_text(case_.link_name(index(held)))));
  }

  using Change = std::pair<std::int64_t, std::int64_t>;  // when, by how many flows

  static bool ends_instant(std::size_t i, const std::vector<Change>& changes) {
    return i + 1 == changes.size() || changes[i + 1].first != changes[i].first;
  }

  /// The number of running flows after each start and end.
  void write_running() {
    std::vector<Change> changes;
    changes.reserve(2 * case_.flows.size());
    for (std::uint32_t f = 0; f < case_.flows.size(); ++f) {
      const auto [start, end] = life(f);
      changes.emplace_back(start, 1);
      changes.emplace_back(end, -1);
    }
    if (changes.empty()) return;
    if (tasks_drawn_ == 0) name_process(tasks_process, "all flows");
    std::sort(changes.begin(), changes.end());
    std::size_t instants = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (i > 0) changes[i].second += changes[i - 1].second;
      instants += ends_instant(i, changes);
    }
    const std::size_t stride = instants / std::max<std::size_t>(limits_.samples, 1) + 1;
    std::size_t instant = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (!ends_instant(i, changes)) continue;
      if (instant++ % stride != 0 && i + 1 < changes.size()) continue;
      event(fmt::format(R"("ph":"C","name":"running flows","pid":{},"ts":{},"args":{{"flows":{}}})",
                        tasks_process, micros(changes[i].first), changes[i].second));
    }
  }

  const Case& case_;
  const Replay& replay_;
  const TraceLimits& limits_;
  std::string text_;
  bool first_ = true;
  std::size_t tasks_drawn_ = 0, flows_drawn_ = 0;
};

}  // namespace

std::string chrome_trace(const Case& flow_case, const Replay& replay, const TraceLimits& limits) {
  return Writer(flow_case, replay, limits).write();
}

}  // namespace flowplan::flow
