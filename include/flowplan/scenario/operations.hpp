#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/estimate/breakdown.hpp"
#include "flowplan/estimate/provenance.hpp"
#include "flowplan/operations/energy.hpp"
#include "flowplan/operations/failures.hpp"
#include "flowplan/operations/goodput.hpp"
#include "flowplan/operations/money.hpp"
#include "flowplan/operations/recovery.hpp"
#include "flowplan/operations/spares.hpp"

namespace flowplan::scenario {

/// Which of a generation's failure rates is taken. `fresh`: a fleet in its first months.
enum class Fleet { low, typical, high, fresh };
[[nodiscard]] std::string_view name(Fleet fleet);

/// `operations.failures`: what is stated; the rest comes from the catalog.
struct FailuresSection {
  std::optional<double> per_node_day;  ///< of a node of this cluster
  std::optional<Seconds> job_mtbf;     ///< of the whole job, instead of all rates
  std::optional<double> job_per_hour;
  Fleet fleet = Fleet::typical;
  double lemon_share = 0.0;
  std::optional<double> lemon_multiplier;
  double node_loss = 1.0;
};

/// `operations.checkpoint`.
struct CheckpointSection {
  std::optional<Bytes> bytes;
  std::optional<BytesPerSecond> write, read;  ///< of the whole store
  std::optional<Seconds> save_time, restore_time, stall;
  bool async = false;
  std::optional<operations::MemoryTier> memory;
  bool memory_saves_open = false;   ///< memory->saves_per_disk_save is to be chosen
  std::optional<Seconds> interval;  ///< neither: chosen
  std::optional<std::int64_t> interval_steps;
};

/// `operations.recovery`: a profile and the terms that replace its own.
struct RecoverySection {
  std::optional<std::string> profile;
  operations::Pace pace = operations::Pace::typical;
  std::optional<Seconds> detect, reboot, spare_swap, replace, scheduler, process_start,
      communicator_init, warm_up;
};

/// `operations`: how the run fares on machines that fail, and what it costs.
struct OperationsSection {
  FailuresSection failures;
  CheckpointSection checkpoint;
  RecoverySection recovery;
  std::optional<int> spares;  ///< stated
  bool best_spares = false;   ///< "auto"
  std::optional<Seconds> repair;
  double straggler_share = 0.0, straggler_slowdown = 1.0;
  int runs = 1000;
  std::uint64_t seed = 1;
  std::optional<double> days;  ///< over which percentiles of the ETTR are taken
  operations::BeyondLimits beyond_limits = operations::BeyondLimits::flag;
  std::optional<double> starts_in_days;
  std::optional<Usd> storage_per_month, requests;
  operations::EnergyAssumptions energy;
};

/// Percentiles over simulated runs.
struct Percentiles {
  double p5 = 0.0, p50 = 0.0, p95 = 0.0;
};

/// What failures make of a run. All shares are of wall time.
struct OperationsAnswer {
  double nodes = 0.0;  ///< EC2 instances, or nodes of a reference system, that work
  operations::Failures failures;
  std::string failures_from;                     ///< where the rate comes from
  std::string recovery;                          ///< profile
  std::vector<operations::RestartTerm> restart;  ///< term by term, with a spare at hand
  Seconds restart_time{};                        ///< their sum
  Bytes checkpoint_bytes{};
  std::string checkpoint_from;  ///< where its times come from
  operations::RunModel model;   ///< with the interval that is used
  std::int64_t interval_steps = 0;
  bool interval_chosen = false;
  Seconds young{}, daly{}, daly_higher{};  ///< what the formulas say about one blocking tier
  std::optional<double> small_loss;  ///< ETTR by Kokolis et al.; nothing where it does not hold

  operations::Goodput goodput;               ///< expected, in closed form
  operations::Goodput at_low, at_high;       ///< at the low and high failure rate of the band
  double straggler_factor = 1.0;             ///< a step takes so many times as long
  std::optional<double> effective_mfu;       ///< MFU x ETTR / stragglers, where steps have one
  double effective_tokens_per_second = 0.0;  ///< over wall time

  int simulated_runs = 0;
  std::uint64_t seed = 0;
  double simulated_days = 0.0;  ///< of one run; expected, where runs end with their work
  Percentiles ettr;
  Percentiles failures_seen;
  std::optional<Percentiles> days;  ///< until the token budget is done
  std::optional<Seconds> wall;      ///< expected for it
  Breakdown time;                   ///< of that, or of a day: where the wall time goes

  int spares = 0;       ///< nodes that stand ready
  int idle = 0;         ///< of these, nodes that the cluster has anyway
  int extra_units = 0;  ///< that are paid for beside the cluster's
  std::vector<operations::SpareOption> spare_options;
  int best_spares = 0;  ///< by money

  std::vector<operations::RunCost> costs;  ///< with goodput; empty without a token budget
  std::optional<operations::Energy> energy;
  std::vector<UsedFigure> figures;  ///< of failures, recovery and energy
};

}  // namespace flowplan::scenario
