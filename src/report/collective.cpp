#include "flowplan/report/collective.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using collective::Operation;

constexpr double element_bytes = 4;  // nccl-tests' default type, float

/// Elements as nccl-tests prints them: of one rank's part where the operation scatters or gathers.
std::int64_t elements(const CollectiveSweep& sweep, Bytes size) {
  const bool parts = sweep.operation == Operation::all_gather ||
                     sweep.operation == Operation::reduce_scatter ||
                     sweep.operation == Operation::all_to_all;
  return static_cast<std::int64_t>(
      std::floor(size.value() / element_bytes / (parts ? sweep.ranks : 1)));
}

std::string_view reduction(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::reduce_scatter ? "sum"
                                                                                      : "none";
}

std::string title(const CollectiveSweep& sweep) {
  std::string text = fmt::format("{} on {} x {}, {} ranks, {}", collective::name(sweep.operation),
                                 sweep.nodes, sweep.instance, sweep.ranks, sweep.profile);
  for (const std::string& condition : sweep.conditions)
    text += ", " + condition;
  return text;
}

std::string microseconds_text(Seconds time) {
  const double us = time.value() * 1e6;
  return us < 1e4 ? fmt::format("{:.2f}", us) : fmt::format("{:.0f}", us);
}

double gbytes(BytesPerSecond rate) {
  return rate.value() / 1e9;
}

/// What the outcomes say about shapes that were never measured, each once.
std::vector<std::string> notes(const CollectiveSweep& sweep) {
  std::vector<std::string> found;
  for (const CollectiveLine& line : sweep.lines) {
    const std::string& note = line.outcome.note;
    if (!note.empty() && std::find(found.begin(), found.end(), note) == found.end()) {
      found.push_back(note);
    }
  }
  return found;
}

}  // namespace

std::string collective_text(const CollectiveSweep& sweep) {
  std::string text = fmt::format("# {}\n#\n", title(sweep));
  text += fmt::format("#{:>12} {:>14} {:>8} {:>7} {:>5} {:>10} {:>8} {:>8}  {:<10} {:<9} {}\n",
                      "size", "count", "type", "redop", "root", "time", "algbw", "busbw",
                      "algorithm", "protocol", "limit");
  text += fmt::format("#{:>12} {:>14} {:>8} {:>7} {:>5} {:>10} {:>8} {:>8}\n", "(B)", "(elements)",
                      "", "", "", "(us)", "(GB/s)", "(GB/s)");
  double sum = 0.0;
  for (const CollectiveLine& line : sweep.lines) {
    const collective::Outcome& o = line.outcome;
    text += fmt::format(
        "{:>13.0f} {:>14} {:>8} {:>7} {:>5} {:>10} {:>8.2f} {:>8.2f}  {:<10} "
        "{:<9} {}\n",
        line.size.value(), elements(sweep, line.size), "float", reduction(sweep.operation), -1,
        microseconds_text(o.time), gbytes(o.algbw), gbytes(o.busbw), collective::name(o.algorithm),
        collective::name(o.protocol), o.limit);
    sum += gbytes(o.busbw);
  }
  if (!sweep.lines.empty()) {
    text += fmt::format("# Avg bus bandwidth    : {:.4g}\n",
                        sum / static_cast<double>(sweep.lines.size()));
  }
  for (const std::string& note : notes(sweep))
    text += fmt::format("# Note: {}\n", note);
  return text;
}

Document collective(const CollectiveSweep& sweep) {
  Section section{"",
                  {},
                  Table{{{"size, B"},
                         {"time, us"},
                         {"algbw, GB/s"},
                         {"busbw, GB/s"},
                         {"algorithm", false},
                         {"protocol", false},
                         {"limit", false},
                         {"next", false}},
                        {}},
                  {}};
  for (const CollectiveLine& line : sweep.lines) {
    const collective::Outcome& o = line.outcome;
    section.table->rows.push_back(
        {fmt::format("{:.0f}", line.size.value()), microseconds_text(o.time),
         fmt::format("{:.2f}", gbytes(o.algbw)), fmt::format("{:.2f}", gbytes(o.busbw)),
         std::string(collective::name(o.algorithm)), std::string(collective::name(o.protocol)),
         o.limit, o.next});
  }
  section.remarks = notes(sweep);
  return {title(sweep), "", {std::move(section)}};
}

std::string collective_json(const CollectiveSweep& sweep) {
  using Json = nlohmann::ordered_json;
  Json lines = Json::array();
  for (const CollectiveLine& line : sweep.lines) {
    const collective::Outcome& o = line.outcome;
    lines.push_back({{"size_bytes", line.size.value()},
                     {"count", elements(sweep, line.size)},
                     {"time_s", o.time.value()},
                     {"algbw_bytes_per_s", o.algbw.value()},
                     {"busbw_bytes_per_s", o.busbw.value()},
                     {"algorithm", collective::name(o.algorithm)},
                     {"protocol", collective::name(o.protocol)},
                     {"channels", o.channels},
                     {"launch_s", o.launch.value()},
                     {"latency_s", o.latency.value()},
                     {"transfer_s", o.transfer.value()},
                     {"limit", o.limit},
                     {"next", o.next},
                     {"reason", o.reason},
                     {"calibrated", o.calibrated},
                     {"note", o.note}});
  }
  Json json{{"format_version", result_format_version},
            {"kind", "collective"},
            {"operation", collective::name(sweep.operation)},
            {"instance", sweep.instance},
            {"nodes", sweep.nodes},
            {"ranks", sweep.ranks},
            {"profile", sweep.profile},
            {"conditions", sweep.conditions},
            {"type", "float"},
            {"redop", reduction(sweep.operation)},
            {"results", std::move(lines)}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
