#include "storage.hpp"

#include <fmt/format.h>

#include "flowplan/report/format.hpp"

namespace flowplan::report {

namespace {

using scenario::StorageAnswer;

std::string saves_text(const StorageAnswer& answer) {
  const storage::CheckpointTimes& t = *answer.checkpoint;
  std::string text = fmt::format("{} in {}: stalls {}", binary_bytes(t.bytes),
                                 answer.checkpoint_mount, duration(t.stall));
  if (t.persist > t.stall) text += fmt::format(", safe after {}", duration(t.persist));
  if (t.exported) text += fmt::format(", in S3 after {}", duration(*t.exported));
  text += fmt::format(", restored in {}", duration(t.restore));
  return text;
}

Section data_section(const StorageAnswer& answer) {
  Section section{"Dataset: " + answer.dataset_mount, {}, storage_links(answer.data->limits), {}};
  auto& facts = section.facts;
  facts.emplace_back("data of a step", duration(answer.data->time));
  facts.emplace_back("a step without it", duration(answer.step_computing));
  facts.emplace_back("limit",
                     answer.data->next.empty()
                         ? answer.data->limit
                         : fmt::format("{}; then {}", answer.data->limit, answer.data->next));
  if (answer.later_data) facts.emplace_back("in later epochs", duration(answer.later_data->time));
  facts.emplace_back("a step waits",
                     answer.data_stall.value() > 0.0
                         ? fmt::format("{} (mean over the run)", duration(answer.data_stall))
                         : std::string("no"));
  return section;
}

Section saves_section(const StorageAnswer& answer) {
  const storage::CheckpointTimes& t = *answer.checkpoint;
  Section section{"Checkpoints: " + answer.checkpoint_mount, {}, storage_links(t.save_limits), {}};
  auto& facts = section.facts;
  facts.emplace_back("size",
                     fmt::format("{}, {} a node", binary_bytes(t.bytes), binary_bytes(t.per_node)));
  if (t.room)
    facts.emplace_back("host memory", fmt::format("{} staged of {}", binary_bytes(t.staged),
                                                  binary_bytes(*t.room)));
  facts.emplace_back("training waits", duration(t.stall));
  facts.emplace_back("safe after", duration(t.persist));
  facts.emplace_back("save's limit", t.save_next.empty()
                                         ? t.save_limit
                                         : fmt::format("{}; then {}", t.save_limit, t.save_next));
  facts.emplace_back("restore", fmt::format("{}, by {}", duration(t.restore), t.restore_limit));
  if (t.restore_local) facts.emplace_back("restore inside the nodes", duration(*t.restore_local));
  if (t.exported) facts.emplace_back("in S3 after", duration(*t.exported));
  if (!answer.shares_devices) {
    facts.emplace_back("beside training", "its way meets no collectives");
  } else {
    facts.emplace_back(
        "beside training",
        fmt::format("on the devices of collectives: {} longer in all, {} a step",
                    duration(answer.background.longer), duration(answer.background.longer_step)));
  }
  facts.emplace_back("interval", answer.counted_by_operations
                                     ? std::string("that of operations, which count the stall")
                                     : fmt::format("{:.0f} steps", answer.interval_steps));
  if (answer.month)
    facts.emplace_back("storage, a month",
                       answer.month->usd
                           ? fmt::format("{} ({}, {})", usd(*answer.month->usd),
                                         answer.month->as_of, answer.month->confidence)
                           : "unknown: " + answer.month->why_not);
  return section;
}

Json storage_limits_json(const std::vector<storage::LimitUse>& limits) {
  Json list = Json::array();
  for (const storage::LimitUse& use : limits)
    list.push_back({{"id", use.limit.id},
                    {"name", use.limit.name},
                    {"ceiling_bytes_per_s", use.ceiling.value()},
                    {"utilisation", use.utilisation},
                    {"how", use.limit.how}});
  return list;
}

}  // namespace

Table storage_links(const std::vector<storage::LimitUse>& limits) {
  Table table{
      {{"link", false}, {"all nodes, GB/s"}, {"used"}, {"how", false}, {"confidence", false}}, {}};
  for (const storage::LimitUse& use : limits) {
    table.rows.push_back({use.limit.name, significant(use.ceiling.value() / 1e9),
                          percent(use.utilisation), use.limit.how, use.limit.confidence});
  }
  return table;
}

std::vector<std::pair<std::string, std::string>> storage_facts(const StorageAnswer& answer) {
  std::vector<std::pair<std::string, std::string>> facts;
  const double share =
      answer.step.value() > 0.0 ? (answer.step - answer.step_computing) / answer.step : 0.0;
  facts.emplace_back("storage",
                     fmt::format("{}: {} of the step waits for it",
                                 answer.io_bound ? "I/O BOUND" : "not I/O bound", percent(share)));
  if (answer.checkpoint && answer.checkpoint->fits)
    facts.emplace_back("checkpoints", saves_text(answer));
  return facts;
}

std::vector<Section> storage_sections(const StorageAnswer& answer) {
  std::vector<Section> sections;
  if (answer.data) sections.push_back(data_section(answer));
  if (answer.checkpoint && answer.checkpoint->fits) sections.push_back(saves_section(answer));
  return sections;
}

Json storage_json(const StorageAnswer& answer) {
  Json json{{"feasible", answer.fits}};
  if (!answer.fits) json["does_not_fit"] = answer.does_not_fit;
  if (answer.fits) {
    json["step_s"] = answer.step.value();
    json["step_without_io_s"] = answer.step_computing.value();
    json["io_bound"] = answer.io_bound;
  }
  if (answer.data) {
    Json data{{"store", answer.dataset_mount},
              {"time_s", answer.data->time.value()},
              {"stall_s", answer.data_stall.value()},
              {"limit", answer.data->limit},
              {"next", answer.data->next},
              {"limits", storage_limits_json(answer.data->limits)}};
    if (answer.later_data) {
      data["later_epochs_time_s"] = answer.later_data->time.value();
      data["first_epoch_steps"] = answer.first_epoch_steps;
    }
    json["dataset"] = std::move(data);
  }
  if (answer.checkpoint) {
    const storage::CheckpointTimes& t = *answer.checkpoint;
    Json saves{{"store", answer.checkpoint_mount},
               {"bytes", t.bytes.value()},
               {"bytes_per_node", t.per_node.value()},
               {"staged_bytes_per_node", t.staged.value()}};
    if (t.room) saves["staging_room_bytes"] = t.room->value();
    if (t.fits) {
      saves["stall_s"] = t.stall.value();
      saves["persist_s"] = t.persist.value();
      if (t.exported) saves["exported_s"] = t.exported->value();
      saves["restore_s"] = t.restore.value();
      if (t.restore_local) saves["restore_local_s"] = t.restore_local->value();
      saves["limit"] = t.save_limit;
      saves["next"] = t.save_next;
      saves["restore_limit"] = t.restore_limit;
      saves["interval_steps"] = answer.interval_steps;
      saves["counted_by_operations"] = answer.counted_by_operations;
      saves["shares_devices"] = answer.shares_devices;
      saves["background_longer_s"] = answer.background.longer.value();
      saves["limits"] = storage_limits_json(t.save_limits);
    }
    json["checkpoint"] = std::move(saves);
  }
  if (answer.month && answer.month->usd) json["month_usd"] = answer.month->usd->value();
  return json;
}

}  // namespace flowplan::report
