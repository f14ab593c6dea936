#include "flowplan/inference/trace.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/text_file.hpp"
#include "range_error.hpp"
#include "trace_line.hpp"

namespace flowplan::inference {

namespace {

/// Makes a workload of trace lines, and notes what is wrong with them.
class TraceBuilder {
 public:
  TraceBuilder(std::string file, const TraceOptions& options)
      : file_(std::move(file)), options_(options) {
    workload_.block_tokens = options.block_tokens;
  }

  void add(const TraceLine& line, int number) {
    if (!check(line, number)) return;
    if (workload_.requests.empty()) first_s_ = line.arrival_s;
    last_s_ = line.arrival_s;
    Request request;
    request.arrival_s = (line.arrival_s - first_s_) / options_.speed;
    request.input_tokens = static_cast<std::uint32_t>(line.input_tokens);
    request.output_tokens = static_cast<std::uint32_t>(line.output_tokens);
    request.adapter = adapter(line.adapter);
    request.first_run = static_cast<std::uint32_t>(workload_.runs.size());
    add_blocks(line, request);
    add_group(line, request);
    workload_.requests.push_back(request);
  }

  [[nodiscard]] bool full() const { return workload_.requests.size() >= options_.most_requests; }
  [[nodiscard]] bool hopeless() const { return found_.size() >= most_trace_errors; }
  void complain(Code code, int number, std::string message, std::string hint = {}) {
    if (!hopeless())
      found_.push_back(error(code, in_file(file_, number), std::move(message), std::move(hint)));
  }

  Result<Workload> take() {
    if (workload_.requests.empty() && found_.empty())
      complain(Code::value_out_of_range, 0, "the trace has no requests");
    if (!found_.empty()) return fail(std::move(found_));
    if (workload_.runs.empty()) workload_.block_tokens = 0;
    workload_.requests.shrink_to_fit();
    workload_.runs.shrink_to_fit();
    return std::move(workload_);
  }

 private:
  bool check(const TraceLine& line, int number) {
    const std::size_t before = found_.size();
    const auto wrong = [&](std::string message) {
      complain(Code::value_out_of_range, number, std::move(message));
    };
    constexpr double most_tokens = 4294967295.0;
    if (!(line.input_tokens >= 1.0 && line.input_tokens <= most_tokens))
      wrong(fmt::format("a request has {} input tokens, it needs at least 1", line.input_tokens));
    if (!(line.output_tokens >= 1.0 && line.output_tokens <= most_tokens))
      wrong(fmt::format("a request has {} output tokens, it needs at least 1", line.output_tokens));
    if (!std::isfinite(line.arrival_s))
      wrong("an arrival time is no finite number");
    else if (!workload_.requests.empty() && line.arrival_s < last_s_)
      wrong(
          fmt::format("a request arrives at {} s, before the one in front of it at {} s: sort "
                      "the trace by arrival",
                      line.arrival_s, last_s_));
    return found_.size() == before;
  }

  void add_run(BlockRun run, Request& request) {
    std::vector<BlockRun>& runs = workload_.runs;
    if (request.run_count > 0 && runs.back().first + runs.back().count == run.first) {
      runs.back().count += run.count;
    } else {
      runs.push_back(run);
      ++request.run_count;
    }
  }

  void add_blocks(const TraceLine& line, Request& request) {
    std::size_t count = line.blocks.size();
    const std::uint32_t size = options_.block_tokens;
    if (request.input_tokens % size != 0 && count == request.input_tokens / size + 1) --count;
    for (std::size_t i = 0; i < count && request.run_count < 0xffff; ++i)
      add_run({line.blocks[i], 1}, request);
  }

  // Requests of a group begin with the same tokens; blocks of a group are numbered as it is met.
  void add_group(const TraceLine& line, Request& request) {
    const double tokens = std::min(line.prefix_tokens, line.input_tokens);
    const auto count = static_cast<std::uint32_t>(tokens / options_.block_tokens);
    if (line.prefix_group.empty() || count == 0) return;
    BlockRun& group = groups_[line.prefix_group];
    if (group.count == 0) {
      // Room for any length that the group may have later.
      group = {next_group_block_, 1};
      next_group_block_ += group_room;
    }
    add_run({group.first, std::min(count, group_room)}, request);
  }

  std::uint16_t adapter(const std::string& name) {
    if (name.empty()) return 0;
    const auto next = static_cast<std::uint16_t>(adapters_.size() + 1);
    return adapters_.emplace(name, next).first->second;
  }

  static constexpr std::uint32_t group_room = 1u << 16;

  std::string file_;
  TraceOptions options_;
  Workload workload_;
  Diagnostics found_;
  double first_s_ = 0.0, last_s_ = 0.0;
  std::map<std::string, BlockRun> groups_;
  std::map<std::string, std::uint16_t> adapters_;
  std::uint32_t next_group_block_ = 0;
};

/// Calls visit(line, number) for each line that is not blank, until it returns false.
template <class Visit>
void each_line(std::string_view text, Visit&& visit) {
  int number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    ++number;
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (!visit(line, number)) return;
  }
}

bool is_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

/// Calls add(line, number) for each request; `complain` with what cannot be read.
template <class Builder>
void read_lines(std::string_view text, bool needs_arrivals, Builder& builder) {
  TraceLine line;
  std::optional<TraceColumns> columns;
  const bool json = is_json(text);
  each_line(text, [&](std::string_view row, int number) {
    std::string wrong;
    if (json) {
      wrong = read_json_line(row, needs_arrivals, line);
    } else if (!columns) {
      columns = trace_columns(row);
      const std::string missing = columns->missing(needs_arrivals);
      if (!missing.empty())
        builder.complain(Code::missing_key, number,
                         fmt::format("the trace has no column {}", missing),
                         "known: arrival_s, input_tokens, output_tokens; TIMESTAMP, ContextTokens, "
                         "GeneratedTokens; timestamp, input_length, output_length");
      return missing.empty();
    } else {
      wrong = read_csv_line(row, *columns, line);
    }
    if (wrong.empty()) {
      builder.add(line, number);
    } else {
      builder.complain(Code::csv_syntax, number, wrong);
    }
    return !builder.full() && !builder.hopeless();
  });
}

}  // namespace

Result<Workload> parse_trace(std::string_view text, const std::string& file,
                             const TraceOptions& options) {
  if (!(options.speed > 0.0) || options.block_tokens == 0)
    return fail(out_of_range(
        "/workload/load", "a trace needs a speed above 0 and prefix blocks of at least one token"));
  TraceBuilder builder(file, options);
  read_lines(text, true, builder);
  return builder.take();
}

Result<Workload> read_trace(const std::string& path, const TraceOptions& options) {
  const Result<std::string> text = read_text(path, most_trace_bytes);
  if (!text) return fail(text.error());
  return parse_trace(*text, path, options);
}

Result<TokenPairs> parse_lengths(std::string_view text, const std::string& file) {
  TraceBuilder builder(file, {});
  read_lines(text, false, builder);
  const Result<Workload> workload = builder.take();
  if (!workload) return fail(workload.error());
  TokenPairs pairs;
  for (const Request& request : workload->requests)
    pairs.emplace_back(request.input_tokens, request.output_tokens);
  return pairs;
}

Diagnostics beyond_context(const Workload& workload, std::int64_t context_limit) {
  const auto is_beyond = [context_limit](const Request& request) {
    return std::int64_t{request.input_tokens} + request.output_tokens > context_limit;
  };
  const auto& requests = workload.requests;
  const auto first = std::find_if(requests.begin(), requests.end(), is_beyond);
  if (first == requests.end()) return {};
  Diagnostic warning = out_of_range(
      "/workload/load",
      fmt::format("{} of {} requests are longer than the context limit of {} tokens and will be "
                  "refused, the first is number {} with {} input and {} output tokens",
                  std::count_if(first, requests.end(), is_beyond), requests.size(), context_limit,
                  first - requests.begin(), first->input_tokens, first->output_tokens));
  warning.severity = Severity::warning;
  return {warning};
}

}  // namespace flowplan::inference
