#include "flowplan/accuracy/nccl_log.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/text_file.hpp"

namespace flowplan::accuracy {
namespace {

using LogJson = nlohmann::ordered_json;

constexpr std::size_t largest_log_bytes = 64u << 20;
constexpr std::string_view program_suffix = "_perf";

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && std::isspace(static_cast<unsigned char>(line[at])) != 0)
      ++at;
    const std::size_t begin = at;
    while (at < line.size() && std::isspace(static_cast<unsigned char>(line[at])) == 0)
      ++at;
    if (at > begin) words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

bool log_has(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

std::optional<double> number_in(std::string_view word) {
  const std::string text(word);
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') return std::nullopt;
  return value;
}

/// The word after `key` ("NCCL version 2.28.7+cuda13.0": "2.28.7+cuda13.0").
std::string word_after(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  const auto words = words_of(line.substr(at + key.size()));
  return words.empty() ? std::string() : std::string(words.front());
}

/// Up to the first character that a version does not have.
std::string plain_version(std::string text) {
  std::size_t end = 0;
  while (end < text.size() &&
         (std::isdigit(static_cast<unsigned char>(text[end])) != 0 || text[end] == '.'))
    ++end;
  text.resize(end);
  return text;
}

/// NCCL_VERSION_CODE: 22807 is 2.28.7; before 2.9 the minor had one digit: 2804 is 2.8.4.
std::string version_of_code(long code) {
  constexpr long two_digits_from = 10000;
  if (code <= 0) return {};
  const long major = code >= two_digits_from ? code / 10000 : code / 1000;
  const long minor = code >= two_digits_from ? code / 100 % 100 : code / 100 % 10;
  return fmt::format("{}.{}.{}", major, minor, code % 100);
}

void set_program(NcclLog& log, std::string_view text) {
  std::size_t end = text.find(program_suffix);
  if (end == std::string_view::npos) return;
  std::size_t begin = end;
  while (begin > 0 &&
         (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '_'))
    --begin;
  log.program = std::string(text.substr(begin, end - begin)) + std::string(program_suffix);
  log.operation = collective::find_operation(text.substr(begin, end - begin));
}

/// "#  Rank  0 Group  0 Pid 6899 on host device  0 [0000:04:00] NVIDIA H100 80GB HBM3"
bool read_device(std::string_view line, NcclLog& log, std::set<std::string>& hosts) {
  const auto words = words_of(line);
  const auto on = std::find(words.begin(), words.end(), "on");
  if (words.size() < 8 || words[0] != "#" || words[1] != "Rank" || words.end() - on < 4)
    return false;
  ++log.ranks;
  hosts.emplace(on[1]);
  const std::size_t bracket = line.find("] ");
  if (log.gpu.empty() && bracket != std::string_view::npos) {
    log.gpu = std::string(line.substr(bracket + 2));
    while (!log.gpu.empty() && std::isspace(static_cast<unsigned char>(log.gpu.back())) != 0)
      log.gpu.pop_back();
  }
  return true;
}

/// What a line of NCCL_DEBUG=INFO, of mpirun or of the environment says about the run.
void read_remark(std::string_view line, NcclLog& log) {
  if (log.program.empty() && log_has(line, program_suffix)) set_program(log, line);
  if (log.nccl_version.empty() && log_has(line, "NCCL version ")) {
    log.nccl_version = plain_version(word_after(line, "NCCL version "));
  }
  if (log_has(line, "nccl-library=")) {
    log.nccl_version = version_of_code(std::atol(word_after(line, "nccl-library=").c_str()));
  }
  if (log.plugin_version.empty() && log_has(line, "aws-ofi-nccl ")) {
    log.plugin_version = plain_version(word_after(line, "aws-ofi-nccl "));
  }
  if (log_has(line, "NCCL_ALGO=")) log.forced_algorithm = word_after(line, "NCCL_ALGO=");
  if (log_has(line, "NCCL_PROTO=")) log.forced_protocol = word_after(line, "NCCL_PROTO=");
  if (log_has(line, "NCCL_ALGO set by environment to ")) {
    log.forced_algorithm = word_after(line, "NCCL_ALGO set by environment to ");
  }
  if (log_has(line, "NCCL_PROTO set by environment to ")) {
    log.forced_protocol = word_after(line, "NCCL_PROTO set by environment to ");
  }
  if (log_has(line, "NET/Socket") && log_has(line, "Using")) log.sockets = true;
  if (log_has(line, "Using network Socket")) log.sockets = true;
  if (log_has(line, "/GDRDMA")) {
    log.gpu_direct = true;
  } else if (log_has(line, "GPU Direct RDMA Disabled") && !log.gpu_direct) {
    log.gpu_direct = false;
  }
  // "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)"
  if (log_has(line, "(found ") && log_has(line, " nics)")) {
    log.nics = std::atoi(word_after(line, "(found ").c_str());
  }
}

/// A row: size, count, type, reduction, root, then time, algbw, busbw, #wrong once or twice. Rows
/// of sizes without an out-of-place part have one group only. Old versions print no root.
std::optional<NcclLogLine> read_row(const std::vector<std::string_view>& words) {
  constexpr std::size_t fewest = 7;
  if (words.size() < fewest || !number_in(words[0]) || !number_in(words[1])) return std::nullopt;
  if (number_in(words[2])) return std::nullopt;  // the type is a name
  std::size_t first = 4;
  if (words.size() > 5 && number_in(words[4]) && words[4].find('.') == std::string_view::npos) {
    first = 5;  // the root
  }
  if (words.size() < first + 3) return std::nullopt;
  const auto time = number_in(words[first]), algbw = number_in(words[first + 1]),
             busbw = number_in(words[first + 2]);
  if (!time || !algbw || !busbw) return std::nullopt;
  NcclLogLine row;
  row.size_bytes = *number_in(words[0]);
  row.time_us = *time;
  row.algbw_gbytes_per_s = *algbw;
  row.busbw_gbytes_per_s = *busbw;
  if (words.size() > first + 3) row.wrong = number_in(words[first + 3]);
  return row;
}

/// What makes a row unusable; empty: nothing.
std::string fault_of(const NcclLogLine& row) {
  if (!std::isfinite(row.size_bytes) || row.size_bytes <= 0.0)
    return fmt::format("size {} B", row.size_bytes);
  if (!std::isfinite(row.time_us) || row.time_us <= 0.0)
    return fmt::format("time {} us", row.time_us);
  if (!std::isfinite(row.busbw_gbytes_per_s) || row.busbw_gbytes_per_s < 0.0)
    return fmt::format("busbw {} GB/s", row.busbw_gbytes_per_s);
  return {};
}

void take_row(NcclLog& log, NcclLogLine row) {
  std::string fault = fault_of(row);
  if (fault.empty()) {
    log.lines.push_back(std::move(row));
  } else if (row.size_bytes == 0.0) {
    ++log.empty_rows;
  } else if (++log.unusable.rows == 1) {
    log.unusable.line = row.line;
    log.unusable.what = std::move(fault);
  }
}

Diagnostic no_rows(const std::string& file, const NcclLog& log) {
  if (log.unusable.rows > 0) {
    return error(Code::bad_measurement, in_file(file, log.unusable.line),
                 fmt::format("none of the log's {} row{} can be used: {}", log.unusable.rows,
                             log.unusable.rows == 1 ? "" : "s", log.unusable.what),
                 "sizes and times above zero are needed; did the run fail?");
  }
  if (log.empty_rows > 0) {
    return error(Code::bad_measurement, in_file(file),
                 fmt::format("every row ({}) is of size 0", log.empty_rows),
                 "run larger sizes: fewer bytes than ranks leave nothing to send");
  }
  return error(Code::bad_measurement, in_file(file),
               log.ranks > 0 ? "the run stopped before its first size: no rows"
                             : "a log of nccl-tests without rows",
               "a row is: size, count, type, redop, root, time, algbw, busbw");
}

Result<NcclLog> parse_text(std::string_view text, std::string file) {
  NcclLog log;
  log.file = std::move(file);
  std::set<std::string> hosts;
  bool header = false;
  int number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    // mpirun --tag-output and srun --label put a name before each line.
    if (const std::size_t hash = line.find("#  Rank"); hash != std::string_view::npos) {
      read_device(line.substr(hash), log, hosts);
      continue;
    }
    if (log_has(line, "busbw") && log_has(line, "algbw")) header = true;
    if (log_has(line, "Avg bus bandwidth") || log_has(line, "Collective test concluded")) {
      log.concluded = true;
    }
    read_remark(line, log);
    if (!header) continue;
    if (auto row = read_row(words_of(line))) {
      row->line = number;
      take_row(log, std::move(*row));
    }
  }
  log.hosts = static_cast<int>(hosts.size());
  if (!header && log.ranks == 0) {
    return fail(error(Code::wrong_kind_of_file, in_file(log.file), "this is no log of nccl-tests",
                      "its output, or what its -J option wrote"));
  }
  if (log.lines.empty()) return fail(no_rows(log.file, log));
  return log;
}

std::string text_at(const LogJson& object, const char* key) {
  return object.contains(key) && object.at(key).is_string() ? object.at(key).get<std::string>()
                                                            : std::string();
}

double number_at(const LogJson& object, const char* key) {
  return object.contains(key) && object.at(key).is_number() ? object.at(key).get<double>() : 0.0;
}

void read_json_devices(const LogJson& config, NcclLog& log) {
  if (!config.contains("devices") || !config.at("devices").is_array()) return;
  std::set<std::string> hosts;
  for (const LogJson& device : config.at("devices")) {
    if (!device.is_object()) continue;
    ++log.ranks;
    hosts.insert(text_at(device, "hostname"));
    if (log.gpu.empty()) log.gpu = text_at(device, "device_info");
  }
  log.hosts = static_cast<int>(hosts.size());
}

/// Out of place, or in place where that is unusable; the first when both are.
std::optional<NcclLogLine> read_json_row(const LogJson& result) {
  if (!result.is_object()) return std::nullopt;
  std::optional<NcclLogLine> first;
  for (const char* place : {"out_of_place", "in_place"}) {
    if (!result.contains(place) || !result.at(place).is_object()) continue;
    const LogJson& part = result.at(place);
    NcclLogLine row;
    row.size_bytes = number_at(result, "size");
    row.time_us = part.contains("time") ? number_at(part, "time") : number_at(part, "cpu_time");
    row.algbw_gbytes_per_s = number_at(part, "alg_bw");
    row.busbw_gbytes_per_s = number_at(part, "bus_bw");
    if (part.contains("nwrong") && part.at("nwrong").is_number())
      row.wrong = number_at(part, "nwrong");
    if (fault_of(row).empty()) return row;
    if (!first) first = std::move(row);
  }
  return first;
}

Result<NcclLog> parse_json(std::string text, std::string file) {
  const auto document = JsonDocument::parse(std::move(text), file);
  if (!document) return fail(document.error());
  const LogJson& root = document->root();
  if (!root.is_object() || !root.contains("results") || !root.at("results").is_array() ||
      !root.contains("nccl_version")) {
    return fail(error(Code::wrong_kind_of_file, document->place(""), "this is no log of nccl-tests",
                      "its output, or what its -J option wrote"));
  }
  NcclLog log;
  log.file = std::move(file);
  log.nccl_version = version_of_code(static_cast<long>(number_at(root, "nccl_version")));
  for (const char* list : {"args", "env"}) {
    if (!root.contains(list) || !root.at(list).is_array()) continue;
    for (const LogJson& item : root.at(list)) {
      if (item.is_string()) read_remark(item.get<std::string>(), log);
    }
  }
  if (root.contains("config") && root.at("config").is_object()) {
    read_json_devices(root.at("config"), log);
  }
  for (const LogJson& result : root.at("results")) {
    if (auto row = read_json_row(result)) take_row(log, std::move(*row));
  }
  log.concluded = root.contains("average_bus_bandwidth");
  if (log.lines.empty()) return fail(no_rows(log.file, log));
  return log;
}

}  // namespace

Result<NcclLog> parse_nccl_log(std::string text, std::string file) {
  const auto first = std::find_if(text.begin(), text.end(), [](char c) {
    return std::isspace(static_cast<unsigned char>(c)) == 0;
  });
  if (first != text.end() && *first == '{') return parse_json(std::move(text), std::move(file));
  return parse_text(text, std::move(file));
}

Result<NcclLog> read_nccl_log(const std::string& path) {
  auto text = read_text(path, largest_log_bytes);
  if (!text) return fail(std::move(text.error()));
  return parse_nccl_log(std::move(*text), path == "-" ? "<stdin>" : path);
}

}  // namespace flowplan::accuracy
