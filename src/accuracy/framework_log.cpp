#include "flowplan/accuracy/framework_log.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/text_file.hpp"

namespace flowplan::accuracy {

namespace {

using BenchJson = nlohmann::ordered_json;

constexpr std::size_t largest_framework_log = std::size_t{1} << 30;
constexpr std::size_t most_log_faults = 20;
constexpr double warm_up_share = 0.1;

constexpr std::string_view megatron_time = "elapsed time per iteration (ms):";
constexpr std::string_view bridge_time = "Step Time :";

/// Without the escape sequences that colour it.
std::string plain(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\x1b' && i + 1 < line.size() && line[i + 1] == '[') {
      while (i < line.size() && (line[i] < '@' || line[i] > '~' || line[i] == '['))
        ++i;
      continue;
    }
    if (line[i] != '\r') out += line[i];
  }
  return out;
}

/// The number after a key, thousands commas and blanks passed over; nothing without the key.
/// `bad`: the key is there, and no number from 0 after it.
std::optional<double> number_after(std::string_view line, std::string_view key, bool& bad) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at + key.size());
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  std::string digits;
  for (const char c : line) {
    if (c == ',') continue;
    if ((c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-') break;
    digits += c;
  }
  double value = 0.0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code == std::errc{} && end == digits.data() + digits.size() && value >= 0.0 &&
      std::isfinite(value))
    return value;
  bad = true;
  return std::nullopt;
}

bool line_has(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

std::optional<LogKind> kind_of_line(std::string_view line) {
  if (line_has(line, megatron_time) && line_has(line, "iteration")) return LogKind::megatron;
  if (line_has(line, bridge_time) && line_has(line, "GPU utilization:"))
    return LogKind::megatron_bridge;
  if (line_has(line, "step:") && line_has(line, "tps:")) return LogKind::torchtitan;
  return std::nullopt;
}

LoggedStep step_of(std::string_view line, LogKind kind, bool& bad) {
  constexpr double milli = 1e-3;
  LoggedStep made;
  const auto number = [&](std::string_view key) { return number_after(line, key, bad); };
  if (kind == LogKind::torchtitan) {
    made.step = static_cast<std::int64_t>(number("step:").value_or(0.0));
    made.tokens_per_second_per_gpu = number("tps:");
    made.tflops_per_gpu = number("tflops:");
    return made;
  }
  if (kind == LogKind::megatron) {
    const std::size_t at = line.find("iteration");
    made.step =
        static_cast<std::int64_t>(number_after(line.substr(at), "iteration", bad).value_or(0.0));
    if (const auto ms = number(megatron_time)) made.time = Seconds(*ms * milli);
    made.tflops_per_gpu = number("throughput per GPU (TFLOP/s/GPU):");
  } else {
    if (const auto s = number(bridge_time)) made.time = Seconds(*s);
    made.tflops_per_gpu = number("GPU utilization:");
  }
  if (const auto batch = number("global batch size:"))
    made.global_batch = static_cast<std::int64_t>(*batch);
  return made;
}

template <class Get>
auto median_of(const std::vector<LoggedStep>& steps, std::size_t from, const Get& get)
    -> decltype(get(steps.front())) {
  std::vector<double> values;
  for (std::size_t i = from; i < steps.size(); ++i)
    if (const auto value = get(steps[i])) values.push_back(*value);
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
}

void summarise_steps(FrameworkLog& log) {
  const std::size_t count = log.steps.size();
  log.warm_up =
      count < 2
          ? 0
          : std::max<std::size_t>(
                1, static_cast<std::size_t>(std::ceil(warm_up_share * static_cast<double>(count))));
  const auto seconds = median_of(log.steps, log.warm_up, [](const LoggedStep& s) {
    return s.time ? std::optional(s.time->value()) : std::nullopt;
  });
  if (seconds) log.step_time = Seconds(*seconds);
  log.tokens_per_second_per_gpu = median_of(
      log.steps, log.warm_up, [](const LoggedStep& s) { return s.tokens_per_second_per_gpu; });
  log.tflops_per_gpu =
      median_of(log.steps, log.warm_up, [](const LoggedStep& s) { return s.tflops_per_gpu; });
}

Result<FrameworkLog> parse_steps(std::string_view text, const std::string& file) {
  FrameworkLog log;
  log.file = file;
  Diagnostics faults;
  std::optional<LogKind> kind;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = plain(text.substr(at, end - at));
    at = end + 1;
    ++number;
    const auto its = kind_of_line(line);
    if (!its || (kind && *kind != *its)) continue;
    kind = its;
    bool bad = false;
    LoggedStep step = step_of(line, *its, bad);
    step.line = number;
    const bool zero = (step.time && *step.time <= Seconds(0)) ||
                      step.tokens_per_second_per_gpu.value_or(1.0) <= 0.0;
    if (bad || zero) {
      if (faults.size() < most_log_faults)
        faults.push_back(error(Code::bad_measurement, in_file(file, number),
                               "a step whose numbers cannot be read, or are 0"));
      continue;
    }
    log.steps.push_back(step);
  }
  if (!faults.empty()) return fail(std::move(faults));
  if (!kind)
    return fail(error(Code::wrong_kind_of_file, in_file(file, 1),
                      "this is no log with steps that can be read",
                      "lines of Megatron-LM (elapsed time per iteration), Megatron-Bridge (Step "
                      "Time) or torchtitan (step: .. tps: ..), or the JSON of vllm bench serve"));
  log.kind = *kind;
  summarise_steps(log);
  return log;
}

class BenchReader {
 public:
  explicit BenchReader(const JsonDocument& document) : document_(document) {}

  Result<FrameworkLog> run() {
    FrameworkLog log;
    log.file = document_.file();
    log.kind = LogKind::vllm_bench;
    ServedBenchmark bench;
    bench.engine = text("backend");
    bench.model = text("model_id");
    const auto completed = number("completed", true), input = number("total_input_tokens", true),
               output = number("total_output_tokens", true);
    if (const auto rate = number_or_text("request_rate"); rate && std::isfinite(*rate))
      bench.rate_per_s = *rate;
    if (const auto most = number("max_concurrency", false); most && *most >= 1.0)
      bench.concurrency = static_cast<int>(*most);
    const auto ms = [&](const char* key) {
      const auto value = number(key, false);
      return value ? std::optional(milliseconds(*value)) : std::nullopt;
    };
    bench.ttft_mean = ms("mean_ttft_ms");
    bench.ttft_median = ms("median_ttft_ms");
    bench.tpot_mean = ms("mean_tpot_ms");
    bench.tpot_median = ms("median_tpot_ms");
    if (faults_.empty() && *completed < 1.0) complain("/completed", "no request was answered");
    if (!faults_.empty()) return fail(std::move(faults_));
    bench.requests = static_cast<std::uint64_t>(*completed);
    bench.input_tokens = *input / *completed;
    bench.output_tokens = *output / *completed;
    if (!bench.ttft_mean && !bench.ttft_median && !bench.tpot_mean && !bench.tpot_median)
      complain("", "no mean or median of TTFT or TPOT");
    if (!faults_.empty()) return fail(std::move(faults_));
    log.bench = std::move(bench);
    return log;
  }

 private:
  void complain(const std::string& pointer, std::string what) {
    faults_.push_back(error(Code::bad_measurement, document_.place(pointer), std::move(what)));
  }

  std::string text(const char* key) {
    const BenchJson& root = document_.root();
    return root.contains(key) && root.at(key).is_string() ? root.at(key).get<std::string>()
                                                          : std::string();
  }

  std::optional<double> number(const char* key, bool required) {
    const BenchJson& root = document_.root();
    if (!root.contains(key) || root.at(key).is_null()) {
      if (required) complain("", fmt::format("`{}` is missing", key));
      return std::nullopt;
    }
    constexpr double most = 1e15;
    if (root.at(key).is_number()) {
      const double value = root.at(key).get<double>();
      if (value >= 0.0 && value <= most) return value;
    }
    complain(child_pointer("", key), fmt::format("`{}`: expected a number from 0", key));
    return std::nullopt;
  }

  /// "inf" is a text.
  std::optional<double> number_or_text(const char* key) {
    return text(key).empty() ? number(key, false) : std::nullopt;
  }

  const JsonDocument& document_;
  Diagnostics faults_;
};

}  // namespace

std::string_view name(LogKind kind) {
  switch (kind) {
    case LogKind::megatron:
      return "Megatron-LM";
    case LogKind::megatron_bridge:
      return "Megatron-Bridge";
    case LogKind::torchtitan:
      return "torchtitan";
    case LogKind::vllm_bench:
      break;
  }
  return "vllm bench";
}

Result<FrameworkLog> parse_framework_log(std::string text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || text[first] != '{') return parse_steps(text, file);
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  if (!document->root().contains("total_output_tokens"))
    return fail(error(Code::wrong_kind_of_file, document->place(""),
                      "this is no result of a serving benchmark",
                      "the JSON that vllm bench serve --save-result writes"));
  return BenchReader(*document).run();
}

Result<FrameworkLog> read_framework_log(const std::string& path) {
  auto text = read_text(path, largest_framework_log);
  if (!text) return fail(std::move(text.error()));
  return parse_framework_log(std::move(*text), path == "-" ? "<stdin>" : path);
}

}  // namespace flowplan::accuracy
