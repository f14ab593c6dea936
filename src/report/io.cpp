#include "flowplan/report/io.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "flowplan/report/format.hpp"

namespace flowplan::report {

namespace {

using storage::Cost;
using storage::LimitUse;
using storage::SizingRow;

std::string detail_value(const storage::Detail& detail) {
  if (detail.unit == "B") return binary_bytes(Bytes(detail.value));
  if (detail.unit == "B/s") return bandwidth(BytesPerSecond(detail.value));
  if (detail.unit == "s") return duration(Seconds(detail.value));
  if (detail.unit == "%") return percent(detail.value);
  return significant(detail.value);
}

std::string limit_text(const storage::Answer& answer) {
  if (answer.next.empty()) return answer.limit;
  return fmt::format("{}; then {}, at {}", answer.limit, answer.next, duration(answer.next_time));
}

Table breakdown_table(const storage::Answer& answer) {
  Table table{{{"part", false}, {"time"}, {"share"}, {"limit", false}, {"next", false}}, {}};
  for (const Breakdown& part : answer.breakdown.children) {
    const double share = answer.time.value() > 0.0 ? part.time() / answer.time : 0.0;
    table.rows.push_back(
        {part.label, duration(part.time()), Cell::bar(share), part.limit, part.next});
  }
  return table;
}

Table limits_table(const storage::Answer& answer) {
  Table table{
      {{"link", false}, {"all nodes, GB/s"}, {"used"}, {"how", false}, {"confidence", false}}, {}};
  for (const LimitUse& use : answer.limits) {
    table.rows.push_back({use.limit.name, significant(use.ceiling.value() / 1e9),
                          percent(use.utilisation), use.limit.how, use.limit.confidence});
  }
  return table;
}

void add_part_sections(const IoPart& part, Document& document) {
  const storage::Answer& answer = part.answer;
  Section head{part.title, {}, {}, {}};
  if (!answer.feasible) {
    head.facts.emplace_back("does not fit", answer.why_not);
  }
  if (answer.feasible || answer.time.value() > 0.0) {
    if (answer.bytes.value() > 0.0)
      head.facts.emplace_back("bytes", fmt::format("{} ({} GB)", binary_bytes(answer.bytes),
                                                   significant(answer.bytes.value() / 1e9)));
    head.facts.emplace_back("time", duration(answer.time));
    if (answer.rate.value() > 0.0) head.facts.emplace_back("throughput", bandwidth(answer.rate));
    head.facts.emplace_back("limit", limit_text(answer));
  }
  for (const storage::Detail& detail : answer.details)
    head.facts.emplace_back(detail.label, detail_value(detail));
  if (answer.breakdown.children.size() > 1) head.table = breakdown_table(answer);
  document.sections.push_back(std::move(head));
  if (!answer.limits.empty())
    document.sections.push_back({part.title + ": links", {}, limits_table(answer), {}});
}

std::string cost_text(const Cost& cost) {
  if (!cost.usd) return "unknown: " + cost.why_not;
  if (cost.as_of.empty()) return usd(*cost.usd);
  return fmt::format("{} (prices of {}, {})", usd(*cost.usd), cost.as_of, cost.confidence);
}

Section money(const IoReport& report) {
  Section section{"Money, " + report.region, {}, {}, {}};
  if (report.month) section.facts.emplace_back("storage, a month", cost_text(*report.month));
  if (report.requests)
    section.facts.emplace_back("requests, each time", cost_text(*report.requests));
  return section;
}

std::string sized(const SizingRow& row) {
  if (row.mount.capacity.value() > 0.0)
    return fmt::format("{} GiB",
                       grouped(static_cast<std::int64_t>(row.mount.capacity / gibibytes(1.0))));
  return fmt::format("{:.0f} MiB/s", row.mount.throughput.value() / 1048576.0);
}

Section sizing_section(const IoReport& report) {
  const bool any = std::any_of(report.sizing.begin(), report.sizing.end(),
                               [](const SizingRow& row) { return row.meets; });
  Section section{fmt::format("Smallest file systems for {}", duration(*report.target)),
                  {},
                  Table{{{"type", false},
                         {"size"},
                         {"steps"},
                         {"time"},
                         {"", false},
                         {"USD/month"},
                         {"limit", false},
                         {"next", false}},
                        {}},
                  {}};
  std::vector<std::string>& remarks = section.remarks;
  for (const SizingRow& row : report.sizing) {
    section.table->rows.push_back(
        {row.mount.service->id, sized(row), grouped(static_cast<std::int64_t>(row.steps)),
         duration(row.timed.time), row.meets ? "meets" : "misses",
         row.month.usd ? significant(row.month.usd->value()) : std::string("unknown"),
         row.timed.limit, row.timed.next});
    if (!row.month.usd) remarks.push_back(row.month.why_not);
  }
  if (!any)
    remarks.insert(remarks.begin(),
                   "No file system meets the target: the rows are the smallest that are as fast as "
                   "the largest, and what binds them.");
  return section;
}

/// The links of all ways, each once, in the order of the first way that has it.
std::vector<std::string> link_names(const IoReport& report, std::size_t part) {
  std::vector<std::string> names;
  for (const IoNetwork& network : report.networks) {
    if (part >= network.parts.size()) continue;
    for (const LimitUse& use : network.parts[part].answer.limits) {
      if (std::find(names.begin(), names.end(), use.limit.name) == names.end())
        names.push_back(use.limit.name);
    }
  }
  return names;
}

Section network_section(const IoReport& report, std::size_t part) {
  Section section{"", {}, Table{{{"link", false}}, {}}, {}};
  Table& table = *section.table;
  std::vector<Cell> times{"time"};
  for (const IoNetwork& network : report.networks) {
    section.title = fmt::format("{} by network, link by link", network.parts[part].title);
    table.columns.push_back({network.name + ", GB/s"});
    table.columns.push_back({"used"});
    const storage::Answer& answer = network.parts[part].answer;
    times.emplace_back(duration(answer.time));
    times.emplace_back("");
    section.remarks.push_back(fmt::format("{}: {}", network.name, limit_text(answer)));
  }
  for (const std::string& name : link_names(report, part)) {
    std::vector<Cell> row{name};
    for (const IoNetwork& network : report.networks) {
      const auto& limits = network.parts[part].answer.limits;
      const auto found = std::find_if(limits.begin(), limits.end(),
                                      [&](const LimitUse& u) { return u.limit.name == name; });
      row.emplace_back(found == limits.end() ? "-" : significant(found->ceiling.value() / 1e9));
      row.emplace_back(found == limits.end() ? "" : percent(found->utilisation));
    }
    table.rows.push_back(std::move(row));
  }
  table.rows.push_back(std::move(times));
  return section;
}

}  // namespace

bool IoReport::feasible() const {
  return std::all_of(parts.begin(), parts.end(),
                     [](const IoPart& part) { return part.answer.feasible; });
}

Document io(const IoReport& report) {
  Document document{fmt::format("{} on {} x {}", report.operation, report.nodes, report.instance),
                    report.storage,
                    {}};
  for (const IoPart& part : report.parts)
    add_part_sections(part, document);
  if (report.month || report.requests) document.sections.push_back(money(report));
  if (!report.networks.empty()) {
    for (std::size_t i = 0; i < report.networks.front().parts.size(); ++i)
      document.sections.push_back(network_section(report, i));
  }
  if (report.target) document.sections.push_back(sizing_section(report));
  Section remarks;
  for (const std::string& condition : report.conditions)
    remarks.remarks.push_back(condition);
  for (const IoPart& part : report.parts) {
    for (const Warning& warning : part.answer.warnings) {
      if (std::find(remarks.remarks.begin(), remarks.remarks.end(), warning.message) ==
          remarks.remarks.end())
        remarks.remarks.push_back(warning.message);
    }
  }
  if (!remarks.remarks.empty()) {
    remarks.title = "Remarks";
    document.sections.push_back(std::move(remarks));
  }
  return document;
}

}  // namespace flowplan::report
