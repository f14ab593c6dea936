#include "flowplan/scenario/operations.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/parse_quantity.hpp"
#include "operations_reader.hpp"

namespace flowplan::scenario {

namespace {

using OperationsJson = nlohmann::ordered_json;

constexpr double default_defeated_share = 0.1;
constexpr std::string_view chosen_by_us = "auto";
constexpr std::array fleets{Fleet::low, Fleet::typical, Fleet::high, Fleet::fresh};

/// Reads the section; the schema has been followed.
class OperationsReader {
 public:
  OperationsReader(const catalog::Catalog& catalog, PlacedFaults& faults)
      : catalog_(catalog), faults_(faults) {}

  OperationsSection read(const OperationsJson& json) {
    OperationsSection s;
    const std::string here = "/operations";
    if (json.contains("failures")) s.failures = failures(json["failures"], here + "/failures");
    if (json.contains("recovery")) s.recovery = recovery(json["recovery"], here + "/recovery");
    if (json.contains("checkpoint"))
      s.checkpoint = checkpoint(json["checkpoint"], here + "/checkpoint");
    if (json.contains("checkpoint_interval"))
      interval(json["checkpoint_interval"], here + "/checkpoint_interval", s.checkpoint);
    if (json.contains("spares")) {
      if (is_auto(json["spares"], here + "/spares")) {
        s.best_spares = true;
      } else if (json["spares"].is_number_integer()) {
        s.spares = json["spares"].get<int>();
      }
    }
    s.repair = time(json, here, "repair_window");
    if (const auto slow = json.find("stragglers"); slow != json.end()) {
      s.straggler_share = slow->value("share", 0.0);
      s.straggler_slowdown = slow->value("slowdown", 1.0);
    }
    if (const auto runs = json.find("simulation"); runs != json.end()) {
      s.runs = runs->value("runs", s.runs);
      s.seed = runs->value("seed", s.seed);
      if (runs->contains("days")) s.days = (*runs)["days"].get<double>();
    }
    money(json, s);
    return s;
  }

 private:
  FailuresSection failures(const OperationsJson& json, const std::string& here) {
    FailuresSection s;
    if (json.contains("per_node_day")) s.per_node_day = json["per_node_day"].get<double>();
    if (const auto mtbf = positive_time(json, here, "node_mtbf")) {
      if (s.per_node_day) {
        faults_.add(Code::bad_operations, here + "/node_mtbf",
                    "`node_mtbf` and `per_node_day` say the same: give one of them");
      }
      s.per_node_day = days(1.0) / *mtbf;
    }
    s.job_mtbf = positive_time(json, here, "job_mtbf");
    if (s.job_mtbf && (s.per_node_day || json.contains("job_per_hour") || json.contains("fleet"))) {
      faults_.add(Code::bad_operations, here + "/job_mtbf",
                  "`job_mtbf` stands instead of all rates, and others are given");
    }
    if (json.contains("job_per_hour")) s.job_per_hour = json["job_per_hour"].get<double>();
    const std::string fleet = json.value("fleet", std::string(name(s.fleet)));
    for (const Fleet one : fleets) {
      if (name(one) == fleet) s.fleet = one;
    }
    s.lemon_share = json.value("lemon_share", 0.0);
    if (json.contains("lemon_multiplier"))
      s.lemon_multiplier = json["lemon_multiplier"].get<double>();
    s.node_loss = json.value("node_loss_share", 1.0);
    return s;
  }

  RecoverySection recovery(const OperationsJson& json, const std::string& here) {
    RecoverySection s;
    if (json.contains("profile")) {
      const auto found = faults_.take(
          operations::recovery(catalog_, json["profile"].get<std::string>()), here + "/profile");
      if (found) s.profile = found->id;
    }
    const std::string pace = json.value("pace", "typical");
    if (pace == "low") s.pace = operations::Pace::low;
    if (pace == "high") s.pace = operations::Pace::high;
    for (const auto& [key, term] :
         std::initializer_list<std::pair<const char*, std::optional<Seconds> RecoverySection::*>>{
             {"detect", &RecoverySection::detect},
             {"reboot", &RecoverySection::reboot},
             {"spare_swap", &RecoverySection::spare_swap},
             {"replace", &RecoverySection::replace},
             {"scheduler", &RecoverySection::scheduler},
             {"process_start", &RecoverySection::process_start},
             {"communicator_init", &RecoverySection::communicator_init},
             {"warm_up", &RecoverySection::warm_up}})
      s.*term = time(json, here, key);
    return s;
  }

  CheckpointSection checkpoint(const OperationsJson& json, const std::string& here) {
    CheckpointSection s;
    s.bytes = quantity(json, here, "bytes", parse_bytes);
    s.write = quantity(json, here, "write_bandwidth", parse_bandwidth);
    s.read = quantity(json, here, "read_bandwidth", parse_bandwidth);
    s.save_time = positive_time(json, here, "save_time");
    s.restore_time = time(json, here, "restore_time");
    s.stall = time(json, here, "stall");
    s.async = json.value("async", false);
    const auto clash = [&](const char* key, const char* message) {
      faults_.add(Code::bad_operations, child_pointer(here, key), message);
    };
    if (s.save_time && s.write)
      clash("save_time", "`save_time` and `write_bandwidth` say the same: give one of them");
    if (s.restore_time && s.read)
      clash("restore_time", "`restore_time` and `read_bandwidth` say the same: give one of them");
    if (s.stall && !s.async) clash("stall", "a blocking save blocks for its whole time");
    if (json.contains("memory")) memory(json["memory"], here + "/memory", s);
    return s;
  }

  void memory(const OperationsJson& json, const std::string& here, CheckpointSection& s) {
    operations::MemoryTier tier;
    tier.stall = time(json, here, "stall").value_or(Seconds());
    tier.read = time(json, here, "restore_time").value_or(Seconds());
    tier.defeated = json.value("defeated_share", default_defeated_share);
    s.memory_saves_open = true;
    if (json.contains("saves") && !is_auto(json["saves"], here + "/saves") &&
        json["saves"].is_number_integer()) {
      tier.saves_per_disk_save = json["saves"].get<int>();
      s.memory_saves_open = false;
    }
    s.memory = tier;
  }

  void interval(const OperationsJson& json, const std::string& pointer, CheckpointSection& s) {
    if (json.is_number_integer()) {
      s.interval_steps = json.get<std::int64_t>();
    } else if (json.get<std::string>() != chosen_by_us) {
      s.interval =
          positive(faults_.take(parse_duration(json.get<std::string>()), pointer), pointer);
    }
  }

  void money(const OperationsJson& json, OperationsSection& s) {
    const std::string policy = json.value("purchase_limits", "flag");
    s.beyond_limits = operations::find_beyond_limits(policy).value_or(s.beyond_limits);
    if (const auto ahead = time(json, "/operations", "starts_in"))
      s.starts_in_days = *ahead / days(1.0);
    if (json.contains("storage_usd_per_month"))
      s.storage_per_month = Usd(json["storage_usd_per_month"].get<double>());
    if (json.contains("requests_usd")) s.requests = Usd(json["requests_usd"].get<double>());
    const auto energy = json.find("energy");
    if (energy == json.end()) return;
    const auto set = [&](const char* key, std::optional<double>& target) {
      if (energy->contains(key)) target = (*energy)[key].get<double>();
    };
    set("pue", s.energy.pue);
    set("share_of_rating", s.energy.share_of_rating);
    set("node_over_gpu_tdp", s.energy.node_over_gpu_tdp);
  }

  /// Whether the value is "auto"; another text is a fault.
  bool is_auto(const OperationsJson& json, const std::string& pointer) {
    if (!json.is_string()) return false;
    if (json.get<std::string>() == chosen_by_us) return true;
    faults_.add(Code::value_not_allowed, pointer,
                fmt::format("`{}` is neither a number nor `auto`", json.get<std::string>()));
    return false;
  }

  template <class T>
  std::optional<T> quantity(const OperationsJson& json, const std::string& here, const char* key,
                            Result<T> (*parse)(std::string_view)) {
    if (!json.contains(key)) return std::nullopt;
    const std::string pointer = child_pointer(here, key);
    return positive(faults_.take(parse(json[key].get<std::string>()), pointer), pointer);
  }

  template <class T>
  std::optional<T> positive(std::optional<T> value, const std::string& pointer) {
    if (!value || value->value() > 0.0) return value;
    faults_.add(Code::value_out_of_range, pointer, "must be above 0");
    return std::nullopt;
  }

  std::optional<Seconds> time(const OperationsJson& json, const std::string& here,
                              const char* key) {
    if (!json.contains(key)) return std::nullopt;
    return faults_.take(parse_duration(json[key].get<std::string>()), child_pointer(here, key));
  }

  std::optional<Seconds> positive_time(const OperationsJson& json, const std::string& here,
                                       const char* key) {
    return positive(time(json, here, key), child_pointer(here, key));
  }

  const catalog::Catalog& catalog_;
  PlacedFaults& faults_;
};

}  // namespace

std::string_view name(Fleet fleet) {
  switch (fleet) {
    case Fleet::low:
      return "low";
    case Fleet::high:
      return "high";
    case Fleet::fresh:
      return "new";
    case Fleet::typical:
      break;
  }
  return "typical";
}

OperationsSection read_operations(const catalog::Catalog& catalog, const JsonDocument& document,
                                  PlacedFaults& faults) {
  return OperationsReader(catalog, faults).read(document.root()["operations"]);
}

}  // namespace flowplan::scenario
