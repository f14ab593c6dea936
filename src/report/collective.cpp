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

std::int64_t elements(const CollectiveSweep& sweep, Bytes size) {
  return collective_elements(sweep.operation, sweep.ranks, size);
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

/// "90 % band -4 % to +5 %, by rows left out of the fit: across nodes, 1 GiB and more".
std::vector<std::string> bands(const CollectiveSweep& sweep) {
  std::vector<std::string> found;
  for (const CollectiveLine& line : sweep.lines) {
    const Band& band = line.outcome.band;
    const std::string text = fmt::format(
        "time within {:+.0f} to {:+.0f} % ({:.0f} % of rows left out): {}",
        100.0 * (band.low - 1.0), 100.0 * (band.high - 1.0), 100.0 * band.confidence, band.regime);
    if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(text);
  }
  return found;
}

std::string microseconds_or(const std::optional<Seconds>& time, std::string_view none) {
  return time ? microseconds_text(*time) : std::string(none);
}

/// Why the choice of one size fell.
Section choice(const CollectiveLine& line) {
  const collective::Outcome& o = line.outcome;
  Section section{fmt::format("Choice at {:.0f} B", line.size.value()),
                  {{"reason", o.reason}, {"channels", fmt::format("{}", o.channels)}},
                  Table{{{"algorithm", false},
                         {"protocol", false},
                         {"NCCL's cost, us"},
                         {"predicted, us"},
                         {"", false}},
                        {}},
                  {}};
  for (const CollectiveCandidate& entry : line.candidates) {
    const bool taken =
        entry.candidate.algorithm == o.algorithm && entry.candidate.protocol == o.protocol;
    section.table->rows.push_back({std::string(collective::name(entry.candidate.algorithm)),
                                   std::string(collective::name(entry.candidate.protocol)),
                                   microseconds_or(entry.candidate.cost, "-"),
                                   microseconds_or(entry.time, "-"),
                                   taken                      ? "taken"
                                   : entry.candidate.eligible ? ""
                                                              : "only when forced"});
  }
  return section;
}

nlohmann::ordered_json candidates_json(const CollectiveLine& line) {
  Json list = Json::array();
  for (const CollectiveCandidate& entry : line.candidates) {
    Json json{{"algorithm", collective::name(entry.candidate.algorithm)},
              {"protocol", collective::name(entry.candidate.protocol)},
              {"eligible", entry.candidate.eligible}};
    if (entry.candidate.cost) json["nccl_cost_s"] = entry.candidate.cost->value();
    if (entry.time) json["time_s"] = entry.time->value();
    list.push_back(std::move(json));
  }
  return list;
}

/// "At 2:1 (leaves' uplinks; AWS publishes no ratio): 1.00 to 1.93 times as long ..."; empty where
/// no leaf is left.
std::vector<std::string> other_ratio(const CollectiveSweep& sweep) {
  double most = 1.0;
  const CollectiveLine* longest = nullptr;
  for (const CollectiveLine& line : sweep.lines) {
    if (!line.other_time) continue;
    const double times = *line.other_time / line.outcome.time;
    if (longest == nullptr || std::abs(std::log(times)) > std::abs(std::log(most)))
      most = times, longest = &line;
  }
  if (longest == nullptr) return {};
  std::string text = fmt::format(
      "at {:g}:1 (the leaves' uplinks; what AWS builds is not published)", sweep.other_ratio);
  constexpr double same = 5e-4;
  if (std::abs(most - 1.0) < same) return {text + ": the same times"};
  const double busbw = gbytes(longest->outcome.busbw) / most;
  return {text + fmt::format(": {:.2f} times as long at {:.0f} B ({:.2f} GB/s busbw){}", most,
                             longest->size.value(), busbw,
                             sweep.lines.size() > 1 ? ", no other size differs more" : "")};
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

std::int64_t collective_elements(collective::Operation operation, int ranks, Bytes size) {
  const bool parts = operation == Operation::all_gather || operation == Operation::reduce_scatter ||
                     operation == Operation::all_to_all;
  return static_cast<std::int64_t>(std::floor(size.value() / element_bytes / (parts ? ranks : 1)));
}

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
  for (const std::string& band : bands(sweep))
    text += fmt::format("# Band: {}\n", band);
  for (const std::string& other : other_ratio(sweep))
    text += fmt::format("# Fabric: {}\n", other);
  for (const CollectiveLine& line : sweep.lines) {
    if (line.candidates.empty()) continue;
    const Section section = choice(line);
    text += fmt::format("#\n# {}: {}\n", section.title, line.outcome.reason);
    for (const auto& row : section.table->rows)
      text += fmt::format("#   {:<12} {:<8} cost {:>10}  time {:>10}  {}\n", row[0].text,
                          row[1].text, row[2].text, row[3].text, row[4].text);
  }
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
  for (std::string& band : bands(sweep))
    section.remarks.push_back(std::move(band));
  for (std::string& other : other_ratio(sweep))
    section.remarks.push_back(std::move(other));
  Document document{title(sweep), "", {std::move(section)}};
  for (const CollectiveLine& line : sweep.lines) {
    if (!line.candidates.empty()) document.sections.push_back(choice(line));
  }
  return document;
}

std::string collective_json(const CollectiveSweep& sweep) {
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
                     {"note", o.note},
                     {"band",
                      {{"low", o.band.low},
                       {"high", o.band.high},
                       {"confidence", o.band.confidence},
                       {"regime", o.band.regime}}}});
    if (!line.candidates.empty()) lines.back()["candidates"] = candidates_json(line);
    if (line.other_time)
      lines.back()["at_other_ratio"] = {{"leaf_oversubscription", sweep.other_ratio},
                                        {"time_s", line.other_time->value()}};
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

Document collective_groups(const CollectiveGroups& groups) {
  std::string title = fmt::format("{} x {}, {}", groups.nodes, groups.instance, groups.profile);
  for (const std::string& condition : groups.conditions)
    title += ", " + condition;
  Section section{"",
                  {},
                  Table{{{"groups", false},
                         {"operation", false},
                         {"count"},
                         {"ranks"},
                         {"size, B"},
                         {"alone, us"},
                         {"busbw, GB/s"},
                         {"together, us"},
                         {"busbw, GB/s"},
                         {"limit alone", false}},
                        {}},
                  {}};
  for (std::size_t i = 0; i < groups.parts.size(); ++i) {
    const collective::Part& part = groups.parts[i];
    const collective::PartOutcome& o = groups.outcomes[i];
    section.table->rows.push_back(
        {part.name, std::string(collective::name(part.operation)),
         fmt::format("{}", part.groups.size()), fmt::format("{}", o.alone.shape.ranks),
         fmt::format("{:.0f}", part.size.value()), microseconds_text(o.alone.time),
         fmt::format("{:.2f}", gbytes(o.alone.busbw)), microseconds_text(o.together),
         fmt::format("{:.2f}", gbytes(o.busbw_together)), o.alone.limit});
    const std::string& note = o.alone.note;
    auto& remarks = section.remarks;
    if (!note.empty() && std::find(remarks.begin(), remarks.end(), note) == remarks.end())
      remarks.push_back(note);
  }
  section.remarks.push_back("together: all of them start at once; the slowest group of each line");
  return {title, "", {std::move(section)}};
}

std::string collective_groups_json(const CollectiveGroups& groups) {
  Json parts = Json::array();
  for (std::size_t i = 0; i < groups.parts.size(); ++i) {
    const collective::Part& part = groups.parts[i];
    const collective::PartOutcome& o = groups.outcomes[i];
    parts.push_back({{"groups", part.name},
                     {"operation", collective::name(part.operation)},
                     {"count", part.groups.size()},
                     {"ranks", o.alone.shape.ranks},
                     {"size_bytes", part.size.value()},
                     {"algorithm", collective::name(o.alone.algorithm)},
                     {"protocol", collective::name(o.alone.protocol)},
                     {"alone_time_s", o.alone.time.value()},
                     {"alone_busbw_bytes_per_s", o.alone.busbw.value()},
                     {"together_time_s", o.together.value()},
                     {"together_busbw_bytes_per_s", o.busbw_together.value()},
                     {"limit", o.alone.limit},
                     {"calibrated", o.alone.calibrated},
                     {"note", o.alone.note}});
  }
  const Json json{{"format_version", result_format_version},
                  {"kind", "collective_groups"},
                  {"instance", groups.instance},
                  {"nodes", groups.nodes},
                  {"profile", groups.profile},
                  {"conditions", groups.conditions},
                  {"parts", std::move(parts)}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
