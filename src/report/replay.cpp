#include "flowplan/report/replay.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

constexpr std::size_t most_ranks_shown = 16;

double ratio_of(Seconds part, Seconds whole) {
  return whole.value() > 0.0 ? part / whole : 0.0;
}

std::string communicator(const replay::CollectiveUse& use) {
  const std::string members =
      use.groups > 1 ? fmt::format("{} x {}", use.groups, use.ranks) : fmt::format("{}", use.ranks);
  return use.group.empty() ? members : fmt::format("{} ({})", members, use.group);
}

/// The rank that waits longest for communication.
const replay::RankTime& most_exposed(const replay::Replay& replay) {
  return *std::max_element(replay.rank.begin(), replay.rank.end(),
                           [](const auto& a, const auto& b) { return a.exposed < b.exposed; });
}

Section replay_totals(const ReplayView& view) {
  const replay::Replay& replay = view.replay;
  const replay::RankTime& worst = most_exposed(replay);
  Section section;
  section.facts = {
      {"trace",
       fmt::format("{}, {} nodes{}", view.format, grouped(static_cast<std::int64_t>(replay.nodes)),
                   replay.one_for_all ? ", the same on every rank"
                                      : fmt::format(" of {} ranks", replay.ranks))},
      {"cluster", fmt::format("{} x {}, {} ranks", view.count, view.instance, replay.ranks)},
      {"time", duration(replay.makespan)},
      {"compute", fmt::format("{}, {}", duration(worst.compute),
                              percent(ratio_of(worst.compute, replay.makespan)))},
      {"communication", fmt::format("{}, {}", duration(worst.communication),
                                    percent(ratio_of(worst.communication, replay.makespan)))},
      {"exposed", fmt::format("{}, {}: nothing is computed beside it", duration(worst.exposed),
                              percent(ratio_of(worst.exposed, replay.makespan)))},
      {"idle", fmt::format("{}, {}", duration(worst.idle),
                           percent(ratio_of(worst.idle, replay.makespan)))}};
  for (const std::string& condition : view.conditions)
    section.facts.emplace_back("with", condition);
  if (!replay.one_for_all) section.remarks.push_back("of the rank with the most that is exposed");
  return section;
}

Section replay_collectives(const replay::Replay& replay) {
  Section section{"Collectives",
                  {},
                  Table{{{"operation", false},
                         {"ranks", false},
                         {"size"},
                         {"count"},
                         {"alone, ms"},
                         {"as it ran, ms"},
                         {"in all, ms"},
                         {"busbw, GB/s"},
                         {"algorithm", false},
                         {"limited by", false}},
                        {}},
                  {}};
  for (const replay::CollectiveUse& use : replay.collectives) {
    const double each = use.total.value() / static_cast<double>(use.count);
    section.table->rows.push_back(
        {std::string(name(use.operation)), communicator(use), binary_bytes(use.size),
         grouped(static_cast<std::int64_t>(use.count)), significant(use.alone.time.value() * 1e3),
         significant(each * 1e3), significant(use.total.value() * 1e3),
         significant(use.alone.busbw.value() / 1e9),
         fmt::format("{} {}", name(use.alone.algorithm), name(use.alone.protocol)),
         use.alone.limit});
  }
  section.remarks = {
      "sizes as nccl-tests counts them; longer than alone: others use the same "
      "links at that time"};
  return section;
}

Section replay_ranks(const replay::Replay& replay) {
  Section section{"Ranks",
                  {},
                  Table{{{"rank"},
                         {"end, ms"},
                         {"compute, ms"},
                         {"communication, ms"},
                         {"exposed, ms"},
                         {"idle, ms"}},
                        {}},
                  {}};
  const std::size_t shown = std::min(most_ranks_shown, replay.rank.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const replay::RankTime& rank = replay.rank[i];
    const auto ms = [](Seconds time) { return significant(time.value() * 1e3); };
    section.table->rows.push_back({std::to_string(i), ms(rank.end), ms(rank.compute),
                                   ms(rank.communication), ms(rank.exposed), ms(rank.idle)});
  }
  if (shown < replay.rank.size())
    section.remarks = {fmt::format("{} of {}; JSON has them all", shown, replay.rank.size())};
  return section;
}

}  // namespace

Document replay(const ReplayView& view) {
  Document document{view.title, "", {replay_totals(view)}};
  if (!view.replay.collectives.empty())
    document.sections.push_back(replay_collectives(view.replay));
  if (!view.replay.one_for_all) document.sections.push_back(replay_ranks(view.replay));
  Section assumed{"Assumed", {}, {}, view.replay.notes};
  assumed.remarks.push_back(
      "compute times are those of the GPU that the trace was taken on, unless --compute or "
      "--compute-factor says otherwise");
  document.sections.push_back(std::move(assumed));
  return document;
}

std::string replay_json(const ReplayView& view) {
  const replay::Replay& replay = view.replay;
  Json json{
      {"format_version", result_format_version},
      {"kind", "replay"},
      {"name", view.title},
      {"trace", {{"format", view.format}, {"nodes", replay.nodes}}},
      {"cluster", {{"instance", view.instance}, {"count", view.count}, {"ranks", replay.ranks}}},
      {"conditions", view.conditions},
      {"same_on_every_rank", replay.one_for_all},
      {"makespan_s", replay.makespan.value()}};
  Json& ranks = json["ranks"] = Json::array();
  for (std::size_t i = 0; i < replay.rank.size(); ++i) {
    const replay::RankTime& rank = replay.rank[i];
    ranks.push_back({{"rank", i},
                     {"end_s", rank.end.value()},
                     {"compute_s", rank.compute.value()},
                     {"communication_s", rank.communication.value()},
                     {"exposed_s", rank.exposed.value()},
                     {"idle_s", rank.idle.value()}});
  }
  Json& collectives = json["collectives"] = Json::array();
  for (const replay::CollectiveUse& use : replay.collectives)
    collectives.push_back({{"operation", name(use.operation)},
                           {"size_bytes", use.size.value()},
                           {"communicator", use.group},
                           {"ranks", use.ranks},
                           {"groups", use.groups},
                           {"count", use.count},
                           {"alone_s", use.alone.time.value()},
                           {"total_alone_s", use.total_alone.value()},
                           {"total_s", use.total.value()},
                           {"busbw_bytes_per_s", use.alone.busbw.value()},
                           {"algorithm", name(use.alone.algorithm)},
                           {"protocol", name(use.alone.protocol)},
                           {"limit", use.alone.limit},
                           {"calibrated", use.alone.calibrated}});
  json["notes"] = replay.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Document profile(const EventView& view) {
  const replay::EventLog& log = view.log;
  Section totals;
  totals.facts = {{"cluster", fmt::format("{} x {}", view.count, view.instance)}};
  if (log.rank)
    totals.facts.emplace_back("rank", log.world ? fmt::format("{} of {}", *log.rank, *log.world)
                                                : fmt::format("{}", *log.rank));
  const auto share = [&](Seconds part) {
    return fmt::format("{}, {}", duration(part), percent(ratio_of(part, log.span)));
  };
  totals.facts.emplace_back("profile", duration(log.span));
  totals.facts.emplace_back("compute", share(log.compute));
  totals.facts.emplace_back("communication", share(log.communication));
  totals.facts.emplace_back("exposed", share(log.exposed) + ": no other kernel runs beside it");
  for (const std::string& condition : view.conditions)
    totals.facts.emplace_back("with", condition);
  Section rows{"Collectives",
               {},
               Table{{{"operation", false},
                      {"ranks", false},
                      {"size"},
                      {"count"},
                      {"fastest, ms"},
                      {"median, ms"},
                      {"predicted, ms"},
                      {"fastest / predicted"},
                      {"algorithm", false}},
                     {}},
               {}};
  for (const replay::EventComparison& row : view.rows)
    rows.table->rows.push_back(
        {std::string(name(row.operation)),
         row.group.empty() ? std::to_string(row.ranks)
                           : fmt::format("{} ({})", row.ranks, row.group),
         binary_bytes(row.size), grouped(static_cast<std::int64_t>(row.count)),
         significant(row.fastest.value() * 1e3), significant(row.median.value() * 1e3),
         significant(row.predicted.time.value() * 1e3),
         significant(ratio_of(row.fastest, row.predicted.time), 3),
         fmt::format("{} {}", name(row.predicted.algorithm), name(row.predicted.protocol))});
  rows.remarks = {
      "a kernel's time has its wait for the slowest rank in it: the fastest says most of the "
      "network; each is predicted alone, without what else runs"};
  for (const auto& [reason, count] : log.skipped)
    rows.remarks.push_back(fmt::format("{} left out: {}", count, reason));
  for (const std::string& note : log.notes)
    rows.remarks.push_back(note);
  return {view.title, "", {std::move(totals), std::move(rows)}};
}

std::string profile_json(const EventView& view) {
  const replay::EventLog& log = view.log;
  Json json{{"format_version", result_format_version},
            {"kind", "profile"},
            {"name", view.title},
            {"cluster", {{"instance", view.instance}, {"count", view.count}}},
            {"conditions", view.conditions},
            {"span_s", log.span.value()},
            {"compute_s", log.compute.value()},
            {"communication_s", log.communication.value()},
            {"exposed_s", log.exposed.value()}};
  Json& rows = json["collectives"] = Json::array();
  for (const replay::EventComparison& row : view.rows)
    rows.push_back({{"operation", name(row.operation)},
                    {"size_bytes", row.size.value()},
                    {"communicator", row.group},
                    {"ranks", row.ranks},
                    {"count", row.count},
                    {"fastest_s", row.fastest.value()},
                    {"median_s", row.median.value()},
                    {"total_s", row.total.value()},
                    {"predicted_s", row.predicted.time.value()},
                    {"algorithm", name(row.predicted.algorithm)},
                    {"protocol", name(row.predicted.protocol)},
                    {"limit", row.predicted.limit}});
  json["left_out"] = log.skipped;
  json["notes"] = log.notes;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace flowplan::report
