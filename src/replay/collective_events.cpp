#include "flowplan/replay/collective_events.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/text_file.hpp"
#include "readers.hpp"
#include "spans.hpp"

namespace flowplan::replay {

namespace {

using EventJson = nlohmann::ordered_json;

struct Spelt {
  std::string_view name;
  collective::Operation operation;
  bool counts_output;  ///< nccl-tests' size is what comes out
};
constexpr Spelt spelt_collectives[] = {
    {"allreduce", collective::Operation::all_reduce, false},
    {"all_reduce", collective::Operation::all_reduce, false},
    {"allreduce_coalesced", collective::Operation::all_reduce, false},
    {"barrier", collective::Operation::all_reduce, false},
    {"_allgather_base", collective::Operation::all_gather, true},
    {"allgather", collective::Operation::all_gather, true},
    {"all_gather", collective::Operation::all_gather, true},
    {"allgather_into_tensor_coalesced", collective::Operation::all_gather, true},
    {"_reduce_scatter_base", collective::Operation::reduce_scatter, false},
    {"reduce_scatter", collective::Operation::reduce_scatter, false},
    {"reduce_scatter_tensor_coalesced", collective::Operation::reduce_scatter, false},
    {"all_to_all", collective::Operation::all_to_all, false},
    {"all_to_allv", collective::Operation::all_to_all, false},
    {"alltoall", collective::Operation::all_to_all, false},
    {"broadcast", collective::Operation::broadcast, false},
    {"_broadcast_oop", collective::Operation::broadcast, false},
    {"reduce", collective::Operation::reduce, false},
    {"_reduce_oop", collective::Operation::reduce, false},
    {"send", collective::Operation::send_recv, false},
    {"recv", collective::Operation::send_recv, true}};

/// Bytes of an element of PyTorch's types.
std::optional<double> bytes_of(std::string_view type) {
  static constexpr std::pair<std::string_view, double> types[] = {
      {"Float", 4}, {"BFloat16", 2}, {"Half", 2}, {"Double", 8}, {"Long", 8},        {"Int", 4},
      {"Short", 2}, {"Byte", 1},     {"Char", 1}, {"Bool", 1},   {"ComplexFloat", 8}};
  for (const auto& [name, bytes] : types)
    if (name == type) return bytes;
  if (type.starts_with("Float8")) return 1.0;
  return std::nullopt;
}

bool is_communication(const std::string& kernel) {
  return kernel.starts_with("nccl") || kernel.find("ncclDevKernel") != std::string::npos ||
         kernel.find("ncclKernel") != std::string::npos;
}

class EventReader {
 public:
  explicit EventReader(const JsonDocument& document) : document_(document) {
    log_.file = document.file();
  }

  Result<EventLog> run() {
    const EventJson& root = document_.root();
    read_job(root);
    const EventJson& list = root.at("traceEvents");
    if (!list.is_array()) return fail(bad("/traceEvents", "expected a list of events"));
    for (const EventJson& event : list)
      if (event.is_object()) take(event);
    if (kernels_.empty() && exchanges_.empty())
      return fail(bad("/traceEvents", "no kernel of a GPU is in the profile"));
    sum_up();
    std::stable_sort(log_.events.begin(), log_.events.end(),
                     [](const auto& a, const auto& b) { return a.start < b.start; });
    if (extended_ > 0)
      log_.notes.push_back(fmt::format(
          "{} event{} the first ranks of the group only: the others follow at the same distance",
          extended_, extended_ == 1 ? " lists" : "s list"));
    return std::move(log_);
  }

 private:
  Diagnostic bad(const std::string& pointer, std::string what) const {
    return error(Code::bad_measurement, document_.place(pointer), std::move(what));
  }

  static std::optional<double> number(const EventJson& object, const char* key) {
    const auto found = object.find(key);
    if (found == object.end() || !found->is_number()) return std::nullopt;
    const double value = found->get<double>();
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }

  static std::string text(const EventJson& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
  }

  void read_job(const EventJson& root) {
    const auto job = root.find("distributedInfo");
    if (job == root.end() || !job->is_object()) return;
    constexpr double most = 1e9;
    const auto count = [&](const char* key) -> std::optional<std::uint32_t> {
      const auto value = number(*job, key);
      if (!value || *value < 0.0 || *value > most) return std::nullopt;
      return static_cast<std::uint32_t>(*value);
    };
    log_.rank = count("rank");
    log_.world = count("world_size");
  }

  void take(const EventJson& event) {
    if (text(event, "ph") != "X") return;
    const std::string category = text(event, "cat");
    if (category != "kernel" && category != "gpu_memcpy" && category != "gpu_memset") return;
    const auto start = number(event, "ts"), duration = number(event, "dur");
    if (!start || !duration || *duration < 0.0) return;
    const Span span{*start, *start + *duration};
    const bool exchanges = category == "kernel" && is_communication(text(event, "name"));
    (exchanges ? exchanges_ : kernels_).push_back(span);
    if (exchanges) collective(event, span);
  }

  void skip(std::string why) { ++log_.skipped[std::move(why)]; }

  void collective(const EventJson& event, const Span& span) {
    const auto found = event.find("args");
    if (found == event.end() || !found->is_object() || text(*found, "Collective name").empty())
      return skip("the kernel's event says no sizes");
    const EventJson& args = *found;
    const std::string spelt = text(args, "Collective name");
    const auto known = std::find_if(std::begin(spelt_collectives), std::end(spelt_collectives),
                                    [&](const Spelt& one) { return one.name == spelt; });
    if (known == std::end(spelt_collectives))
      return skip(fmt::format("collective `{}` is not modelled", spelt));
    const auto each = bytes_of(text(args, "dtype"));
    const auto elements = number(args, known->counts_output ? "Out msg nelems" : "In msg nelems");
    if (!each || !elements || *elements < 0.0)
      return skip(fmt::format("`{}` without type or number of elements", spelt));
    CollectiveEvent made;
    made.operation = known->operation;
    made.size = Bytes(*elements * *each);
    made.group = text(args, "Process Group Description");
    if (made.group.empty() || made.group == "undefined")
      made.group = text(args, "Process Group Name");
    made.start = microseconds(span.begin);
    made.duration = microseconds(span.end - span.begin);
    if (!read_ranks(args, made)) return skip(fmt::format("`{}` without ranks of its group", spelt));
    log_.events.push_back(std::move(made));
  }

  /// "[0, 8, 16, 24]"; long lists end in "...".
  bool read_ranks(const EventJson& args, CollectiveEvent& event) {
    if (event.operation == collective::Operation::send_recv) {
      const auto source = number(args, "Src Rank"), target = number(args, "Dst Rank");
      if (source && target && *source >= 0.0 && *target >= 0.0 && *source != *target) {
        event.ranks = {static_cast<std::uint32_t>(*source), static_cast<std::uint32_t>(*target)};
        return true;
      }
    }
    const std::string list = text(args, "Process Group Ranks");
    const char* end = list.data() + list.size();
    for (const char* at = list.data(); at < end;) {
      std::uint32_t rank = 0;
      const auto [stop, code] = std::from_chars(at, end, rank);
      if (code == std::errc{}) {
        // What stands after "..." is the last rank, which the distance gives as well.
        if (list.find("...") > static_cast<std::size_t>(at - list.data()))
          event.ranks.push_back(rank);
        at = stop;
      } else {
        ++at;
      }
    }
    const auto size = number(args, "Group size");
    constexpr double most = 1e7;
    if (!size || *size < 1.0 || *size > most) return !event.ranks.empty();
    const auto wanted = static_cast<std::size_t>(*size);
    if (event.ranks.size() == wanted) return true;
    if (event.ranks.size() < 2 || event.ranks.size() > wanted) return false;
    const std::uint32_t distance = event.ranks[1] - event.ranks[0];
    for (std::size_t i = 1; i < event.ranks.size(); ++i)
      if (event.ranks[i] - event.ranks[i - 1] != distance) return false;
    while (event.ranks.size() < wanted)
      event.ranks.push_back(event.ranks.back() + distance);
    ++extended_;
    return true;
  }

  void sum_up() {
    double first = std::numeric_limits<double>::infinity(), last = 0.0;
    for (const auto* spans : {&kernels_, &exchanges_})
      for (const Span& span : *spans) {
        first = std::min(first, span.begin);
        last = std::max(last, span.end);
      }
    const auto busy = merged(std::move(kernels_)), moving = merged(std::move(exchanges_));
    log_.compute = microseconds(length(busy));
    log_.communication = microseconds(length(moving));
    log_.exposed = microseconds(length(moving) - overlap(busy, moving));
    log_.span = microseconds(last - first);
  }

  const JsonDocument& document_;
  EventLog log_;
  std::vector<Span> kernels_, exchanges_;
  std::uint64_t extended_ = 0;
};

}  // namespace

Result<EventLog> parse_events(std::string text, const std::string& file) {
  if (std::string_view(text).starts_with("\x1f\x8b")) {
    auto plain = inflated(text, file);
    if (!plain) return fail(std::move(plain.error()));
    return parse_events(std::move(*plain), file);
  }
  const auto document =
      JsonDocument::parse(std::move(text), file, JsonLimits{largest_trace_bytes, 64});
  if (!document) return fail(document.error());
  if (!document->root().is_object() || !document->root().contains("traceEvents"))
    return fail(error(Code::wrong_kind_of_file, document->place(""),
                      "this is no trace of PyTorch's profiler", "it has `traceEvents`"));
  return EventReader(*document).run();
}

Result<Recording> read_recording(const std::vector<std::string>& paths) {
  if (paths.size() == 1) {
    auto text = read_text(paths[0], largest_trace_bytes);
    if (!text) return fail(std::move(text.error()));
    const std::string file = paths[0] == "-" ? "<stdin>" : paths[0];
    if (std::string_view(*text).starts_with("\x1f\x8b")) {
      text = inflated(*text, file);
      if (!text) return fail(std::move(text.error()));
    }
    if (holds_profiler_events(*text)) {
      auto log = parse_events(std::move(*text), file);
      if (!log) return fail(std::move(log.error()));
      return std::move(*log);
    }
    auto trace = parse_trace(std::move(*text), file);
    if (!trace) return fail(std::move(trace.error()));
    trace->ranks.front().rank = rank_of(file);
    return std::move(*trace);
  }
  auto trace = read_trace(paths);
  if (!trace) return fail(std::move(trace.error()));
  return std::move(*trace);
}

Result<std::vector<EventComparison>> compare_events(const EventLog& log,
                                                    const collective::Stack& stack,
                                                    const topology::Cluster& cluster,
                                                    const topology::Placement& placement) {
  using Key = std::tuple<collective::Operation, double, std::string, std::vector<std::uint32_t>>;
  std::map<Key, std::vector<double>> seconds;
  for (const CollectiveEvent& event : log.events)
    if (event.ranks.size() > 1 && event.size > Bytes(0))
      seconds[{event.operation, event.size.value(), event.group, event.ranks}].push_back(
          event.duration.value());
  std::vector<EventComparison> out;
  for (auto& [key, times] : seconds) {
    EventComparison one;
    one.operation = std::get<0>(key);
    one.size = Bytes(std::get<1>(key));
    one.group = std::get<2>(key);
    one.ranks = static_cast<std::uint32_t>(std::get<3>(key).size());
    one.count = times.size();
    std::sort(times.begin(), times.end());
    one.fastest = Seconds(times.front());
    one.median = Seconds(times[times.size() / 2]);
    for (const double time : times)
      one.total += Seconds(time);
    collective::Request request;
    request.operation = one.operation;
    request.size = one.size;
    collective::Group group;
    for (const std::uint32_t rank : std::get<3>(key)) {
      if (rank >= placement.ranks())
        return fail(error(Code::bad_placement, in_file(log.file),
                          fmt::format("the profile has rank {}, the cluster room for {}", rank,
                                      placement.ranks()),
                          "give more --nodes"));
      group.push_back(placement.gpu[rank]);
    }
    request.groups = {std::move(group)};
    auto predicted = collective::predict(stack, cluster, request);
    if (!predicted) return fail(std::move(predicted.error()));
    one.predicted = std::move(*predicted);
    out.push_back(std::move(one));
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto& a, const auto& b) { return a.total > b.total; });
  return out;
}

}  // namespace flowplan::replay
