#include "run_operations.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "flowplan/model/memory.hpp"
#include "flowplan/operations/interval.hpp"
#include "flowplan/operations/simulate.hpp"
#include "flowplan/operations/stragglers.hpp"
#include "flowplan/storage/checkpoint.hpp"
#include "flowplan/storage/cost.hpp"
#include "operations_answer.hpp"
#include "places.hpp"

namespace flowplan::scenario {

namespace {

using operations::Remedy;
using operations::RunModel;

constexpr double days_without_tokens = 30.0;  // of a simulated run without a token budget
constexpr double days_per_month = 365.25 / 12.0;
/// A run that keeps less is not simulated: it hardly gets anywhere.
constexpr double hopeless_ettr = 1e-3;
/// Failures that are simulated at most, which takes some seconds; then fewer runs.
constexpr double most_failures = 5e7;
constexpr double given_up_after = 10.0;  // times the expected length

/// Works out `operations` for one answer, step by step.
class OperationsRun {
 public:
  OperationsRun(const catalog::Catalog& catalog, const Scenario& scenario,
                const InterruptedWork& work, Answer& answer)
      : catalog_(catalog),
        stated_(*scenario.operations),
        document_(scenario.document),
        instance_(*scenario.cluster.instance),
        work_(work),
        answer_(answer) {
    if (scenario.storage && scenario.storage->checkpoint)
      section_of_saves_ = &*scenario.storage->checkpoint;
  }

  Diagnostics run(const std::optional<KnownCheckpoint>& known) {
    count_nodes();
    if (find_failures() && find_recovery() && find_checkpoint(known) && choose_interval()) {
      choose_spares();
      find_goodput();
      simulate();
      if (find_money() && find_energy()) {
        add_operations_metrics(out_, headline_cost(), answer_.estimate);
        answer_.operations = std::move(out_);
      }
    }
    return std::move(faults_);
  }

 private:
  bool refuse(Code code, std::string_view pointer, std::string message, std::string hint = {}) {
    faults_.push_back(error(code, document_.place(pointer), std::move(message), std::move(hint)));
    return false;
  }
  bool refuse(Diagnostics faults) {
    faults_ = placed(std::move(faults), document_, "/operations");
    return false;
  }
  void defaulted(const char* key, std::string value, std::string reason) {
    answer_.estimate.defaulted.push_back(
        {fmt::format("operations.{}", key), std::move(value), std::move(reason)});
  }
  void warn(std::string id, std::string message) {
    answer_.estimate.warnings.push_back({std::move(id), std::move(message)});
  }

  [[nodiscard]] double gpus_per_node() const {
    return static_cast<double>(instance_.gpus) / instance_.instances;
  }

  void count_nodes() {
    out_.nodes = std::ceil(work_.gpus / gpus_per_node());
    out_.idle = static_cast<int>((answer_.gpus - work_.gpus) / gpus_per_node());
  }

  bool find_failures() {
    const auto facts = operations::failure_facts(catalog_);
    if (!facts) return refuse(facts.error());
    const FailuresSection& s = stated_.failures;
    operations::Failures& f = out_.failures;
    f.nodes = out_.nodes;
    band_ = facts->of(catalog_.gpu_of(instance_).generation).of_node(gpus_per_node());
    f.per_node_day = rate_of(s, *facts);
    f.job_per_hour = s.job_per_hour.value_or(
        work_.gpus < facts->job_below_accelerators ? facts->job_per_hour : 0.0);
    f.lemon_share = s.lemon_share;
    if (s.lemon_share > 0.0)
      f.lemon_multiplier = s.lemon_multiplier.value_or(facts->lemon_multiplier);
    run_.mttf = s.job_mtbf ? s.job_mtbf : f.mttf();
    run_.node_loss = (s.job_mtbf ? 1.0 : f.node_share()) * s.node_loss;
    return true;
  }

  double rate_of(const FailuresSection& s, const operations::FailureFacts& facts) {
    if (s.job_mtbf || s.per_node_day) {
      out_.failures_from =
          s.job_mtbf ? "the stated time between failures of the job" : "the stated rate";
      return s.per_node_day.value_or(0.0);
    }
    const operations::FailureRate chosen =
        s.fleet == Fleet::fresh ? facts.new_fleet.of_node(gpus_per_node()) : band_;
    const double rate = s.fleet == Fleet::low    ? chosen.low
                        : s.fleet == Fleet::high ? chosen.high
                                                 : chosen.centre;
    const double published_for = facts.hopper.accelerators;
    out_.failures_from =
        fmt::format("{} rate of the GPU's generation, {:.3g} a node and day", name(s.fleet), rate);
    if (gpus_per_node() != published_for) {
      out_.failures_from +=
          fmt::format(", scaled from nodes of {:g} GPUs to {:g}", published_for, gpus_per_node());
    }
    out_.figures.push_back({"failures a node and day", rate, "", chosen.source});
    if (band_.source.confidence == "assumed")
      warn("failure_rate_assumed", "failure rate: " + band_.source.note);
    return rate;
  }

  bool find_recovery() {
    const RecoverySection& s = stated_.recovery;
    const std::string profile = s.profile.value_or("slurm-requeue");
    if (!s.profile) defaulted("recovery.profile", profile, "the scheduler that EC2 clusters use");
    const auto found = operations::recovery(catalog_, profile);
    if (!found) return refuse(found.error());
    recovery_ = *found;
    for (const auto& [own, range] :
         {std::pair{s.detect, &recovery_.detect}, std::pair{s.reboot, &recovery_.reboot},
          std::pair{s.spare_swap, &recovery_.spare_swap}, std::pair{s.replace, &recovery_.replace},
          std::pair{s.scheduler, &recovery_.scheduler},
          std::pair{s.process_start, &recovery_.process_start},
          std::pair{s.communicator_init, &recovery_.communicator_init},
          std::pair{s.warm_up, &recovery_.warm_up}}) {
      if (own) *range = {*own, *own, *own};
    }
    out_.recovery = profile;
    run_.restart_swap = restart(Remedy::spare_swap);
    // Failures that leave the node: of nodes, which then reboot, and of the job itself.
    const double rebooted = node_share() * (1.0 - stated_.failures.node_loss);
    const double in_place = rebooted + 1.0 - node_share();
    const double share = in_place > 0.0 ? rebooted / in_place : 0.0;
    run_.restart_in_place = share * restart(Remedy::reboot) + (1.0 - share) * restart(Remedy::none);
    const TimeRange& replace = recovery_.replace;
    const Seconds window = s.pace == operations::Pace::low    ? replace.low
                           : s.pace == operations::Pace::high ? replace.high
                                                              : replace.typical;
    run_.repair = stated_.repair.value_or(window);
    if (!stated_.repair)
      defaulted("repair_window", fmt::format("{:g} s", window.value()), "the recovery's `replace`");
    return true;
  }

  using TimeRange = operations::TimeRange;
  [[nodiscard]] double node_share() const {
    return stated_.failures.job_mtbf ? 1.0 : out_.failures.node_share();
  }
  [[nodiscard]] Seconds restart(Remedy remedy) const {
    return restart_time(recovery_, remedy, Seconds(), stated_.recovery.pace);
  }

  bool find_checkpoint(const std::optional<KnownCheckpoint>& known) {
    const CheckpointSection& s = stated_.checkpoint;
    const bool own_times = s.save_time || s.write;
    if (!own_times && known) {
      out_.checkpoint_bytes = known->bytes;
      out_.checkpoint_from = known->from;
      run_.stall = known->stall;
      run_.persist = known->persist;
      run_.read = s.restore_time.value_or(known->restore);
    } else if (!own_times) {
      return refuse(Code::missing_key, "/operations", "nothing says what a save takes",
                    "give `checkpoint.save_time` or `checkpoint.write_bandwidth`, or `storage`");
    } else if (!own_checkpoint(s)) {
      return false;
    }
    run_.memory = s.memory;
    return true;
  }

  bool own_checkpoint(const CheckpointSection& s) {
    if (s.async && !s.stall) {
      return refuse(Code::missing_key, "/operations/checkpoint",
                    "an asynchronous save needs its `stall`",
                    "the copy into host memory, for which training waits");
    }
    if (!checkpoint_bytes(s)) return false;
    const Seconds save = s.save_time ? *s.save_time : out_.checkpoint_bytes / *s.write;
    run_.stall = s.async ? *s.stall : save;
    run_.persist = std::max(Seconds(), save - run_.stall);
    if (s.restore_time) {
      run_.read = *s.restore_time;
    } else if (s.read || s.write) {
      run_.read = out_.checkpoint_bytes / (s.read ? *s.read : *s.write);
    } else {
      run_.read = save;
    }
    out_.checkpoint_from = s.save_time ? "stated" : "bytes over the stated bandwidth";
    return true;
  }

  bool checkpoint_bytes(const CheckpointSection& s) {
    if (s.bytes) {
      out_.checkpoint_bytes = *s.bytes;
      return true;
    }
    if (answer_.job.adapters && s.write) {
      return refuse(Code::missing_key, "/operations/checkpoint",
                    "adapters alone are saved: state `bytes`");
    }
    const model::StateFormat format = training::saved_states(answer_.job);
    const double each = storage::checkpoint_bytes_per_parameter(format);
    out_.checkpoint_bytes = Bytes(each * work_.parameters);
    defaulted("checkpoint.bytes", fmt::format("{:.4g} TB", out_.checkpoint_bytes.value() / 1e12),
              fmt::format("{:g} bytes a parameter: weights, master copy, moments", each));
    return true;
  }

  [[nodiscard]] Seconds step() const { return work_.step * out_.straggler_factor; }

  bool choose_interval() {
    out_.straggler_factor = operations::straggler_factor(stated_.straggler_share,
                                                         stated_.straggler_slowdown, out_.nodes);
    const CheckpointSection& s = stated_.checkpoint;
    const Seconds disk_save = run_.stall + run_.persist;
    out_.interval_chosen = !s.interval && !s.interval_steps;
    double steps = 0.0;
    if (out_.interval_chosen) {
      run_ = operations::with_best_interval(run_, run_.memory && !s.memory_saves_open);
      steps = std::max(1.0, std::round(run_.interval / step()));
    } else {
      steps = s.interval_steps ? static_cast<double>(*s.interval_steps)
                               : std::max(1.0, std::round(*s.interval / step()));
      run_.interval = step() * steps;
      const Seconds save = run_.memory ? run_.memory->stall : disk_save;
      const Seconds asked = s.interval ? *s.interval : run_.interval;
      if (asked < save) {
        return refuse(Code::bad_operations, "/operations/checkpoint_interval",
                      fmt::format("{:.3g} s of computing between saves that take {:.3g} s",
                                  asked.value(), save.value()),
                      "an interval is at least as long as the save");
      }
      if (run_.memory && s.memory_saves_open) choose_saves();
    }
    run_.interval = step() * steps;
    while (run_.saves_overlap())
      run_.interval = step() * ++steps;
    out_.interval_steps = static_cast<std::int64_t>(steps);
    return true;
  }

  /// The best number of saves to memory a save to disk at a stated interval.
  void choose_saves() {
    RunModel best = run_;
    double most = -1.0;
    for (int saves = 1; saves <= 4096; saves = std::max(saves + 1, saves * 9 / 8)) {
      RunModel one = run_;
      one.memory->saves_per_disk_save = saves;
      if (one.saves_overlap()) continue;
      const double ettr = operations::expected_goodput(one).ettr();
      if (ettr > most) {
        most = ettr;
        best = one;
      }
    }
    run_ = best;
  }

  void choose_spares() {
    out_.spare_options = operations::spare_options(run_, out_.nodes);
    out_.best_spares = operations::cheapest(out_.spare_options).spares;
    out_.spares = stated_.best_spares ? out_.best_spares : stated_.spares.value_or(out_.idle);
    if (!stated_.best_spares && !stated_.spares) {
      defaulted("spares", fmt::format("{}", out_.spares), "nodes that the workload leaves idle");
    }
    run_.spares = out_.spares;
    out_.extra_units = static_cast<int>(
        std::ceil(std::max(0, out_.spares - out_.idle) / static_cast<double>(instance_.instances)));
  }

  void find_goodput() {
    out_.model = run_;
    out_.goodput = operations::expected_goodput(run_);
    out_.at_low = at_rate(band_.low);
    out_.at_high = at_rate(band_.high);
    out_.restart = restart_terms(recovery_, Remedy::spare_swap, run_.read, stated_.recovery.pace);
    for (const operations::RestartTerm& term : out_.restart)
      out_.restart_time += term.time;
    out_.young = operations::young_interval(run_.stall, *run_.mttf);
    out_.daly = operations::daly_interval(run_.stall, *run_.mttf);
    out_.daly_higher = operations::daly_higher_order_interval(run_.stall, *run_.mttf);
    if (!run_.memory)
      out_.small_loss =
          operations::small_loss_ettr(run_.interval, run_.stall, out_.restart_time, *run_.mttf);
    const double ettr = out_.goodput.ettr();
    const double kept = ettr / out_.straggler_factor;
    if (work_.mfu) out_.effective_mfu = *work_.mfu * kept;
    out_.effective_tokens_per_second = work_.tokens_per_second * kept;
    if (answer_.budget && ettr > 0.0)
      out_.wall = answer_.budget->time * out_.straggler_factor / ettr;
    out_.time = wall_time_apart(out_, out_.wall.value_or(days(1.0)));
    if (ettr < 0.5) {
      warn("low_goodput",
           fmt::format("only {:.3g} % of the time is kept: the job fails every {:.3g} h, a restart "
                       "takes {:.3g} min",
                       100.0 * ettr, *run_.mttf / hours(1.0), out_.restart_time.value() / 60.0));
    }
  }

  /// The same run at another rate of the band, where the rate is the catalog's.
  [[nodiscard]] operations::Goodput at_rate(double per_node_day) const {
    const FailuresSection& s = stated_.failures;
    if (s.job_mtbf || s.per_node_day || s.fleet != Fleet::typical) return out_.goodput;
    operations::Failures failures = out_.failures;
    failures.per_node_day = per_node_day;
    RunModel other = run_;
    other.mttf = failures.mttf();
    other.node_loss = failures.node_share() * s.node_loss;
    return operations::expected_goodput(other);
  }

  void simulate() {
    const double ettr = out_.goodput.ettr();
    if (ettr < hopeless_ettr) return;
    const bool until_done = answer_.budget && !stated_.days;
    const Seconds expected =
        until_done ? *out_.wall : days(stated_.days.value_or(days_without_tokens));
    const double failures = std::max(1.0, expected / *run_.mttf);
    const int runs =
        std::max(1, std::min(stated_.runs, static_cast<int>(most_failures / failures)));
    if (runs < stated_.runs) {
      warn("fewer_runs_simulated",
           fmt::format("{} runs simulated instead of {}: each has some {:.2g} failures", runs,
                       stated_.runs, failures));
    }
    const operations::SimulationSetting setting{stated_.seed, runs};
    const operations::Simulation s =
        until_done
            ? operations::simulate_work(run_, *out_.wall * ettr, setting, given_up_after / ettr)
            : operations::simulate_days(run_, expected, setting);
    out_.simulated_runs = runs;
    out_.seed = stated_.seed;
    out_.simulated_days = expected / days(1.0);
    out_.ettr = {s.ettr_percentile(5), s.ettr_percentile(50), s.ettr_percentile(95)};
    out_.failures_seen = {s.failures_percentile(5), s.failures_percentile(50),
                          s.failures_percentile(95)};
    if (until_done) {
      const auto at = [&](double percent) { return s.wall_percentile(percent) / days(1.0); };
      out_.days = Percentiles{at(5), at(50), at(95)};
    }
  }

  bool find_money() {
    if (!out_.wall) return true;
    operations::RunBill bill;
    bill.units = answer_.count + out_.extra_units;
    bill.region = answer_.region;
    bill.wall = *out_.wall;
    bill.tokens = answer_.budget->tokens;
    bill.storage = storage_a_month() * (*out_.wall / days(days_per_month));
    bill.requests = requests();
    bill.policy = stated_.beyond_limits;
    bill.starts_in_days = stated_.starts_in_days;
    out_.costs = operations::run_costs(catalog_, instance_, bill);
    if (const operations::RunCost* cost = headline_cost(); cost != nullptr && cost->refused) {
      std::string reasons;
      for (const std::string& limit : cost->limits)
        reasons += (reasons.empty() ? "" : "; ") + limit;
      return refuse(Code::cannot_be_bought, "/operations/purchase_limits", reasons,
                    "`split` buys several blocks where that is possible, `flag` prices it anyway");
    }
    return true;
  }

  /// As stated, else what the checkpoints' store costs, as far as its price is known.
  Usd storage_a_month() {
    if (stated_.storage_per_month) return *stated_.storage_per_month;
    if (!answer_.storage || !answer_.storage->month) return {};
    const storage::Cost& month = *answer_.storage->month;
    if (!month.usd) {
      warn("storage_price_unknown", "storage is not in the cost of the run: " + month.why_not);
      return {};
    }
    defaulted("storage_usd_per_month", fmt::format("{:.4g}", month.usd->value()),
              fmt::format("list price of `storage`, {}", month.as_of));
    return *month.usd;
  }

  /// As stated, else those of all saves into an object store.
  Usd requests() {
    if (stated_.requests) return *stated_.requests;
    if (!section_of_saves_) return {};
    const auto a_save = storage::request_cost(catalog_, section_of_saves_->mount, true,
                                              out_.checkpoint_bytes, answer_.region);
    if (!a_save.usd || a_save.usd->value() <= 0.0) return {};
    const double saves = *out_.wall * out_.goodput.uptime() / run_.period();
    defaulted("requests_usd", fmt::format("{:.4g}", a_save.usd->value() * saves),
              fmt::format("{:.3g} saves at list price, {}", saves, a_save.as_of));
    return *a_save.usd * saves;
  }

  [[nodiscard]] const operations::RunCost* headline_cost() const {
    for (const operations::RunCost& cost : out_.costs) {
      if (cost.purchase == answer_.purchase) return &cost;
    }
    return nullptr;
  }

  bool find_energy() {
    const catalog::Gpu& gpu = catalog_.gpu_of(instance_);
    if (!out_.wall || !gpu.tdp_w) return true;
    const double gpus = answer_.gpus + static_cast<double>(out_.extra_units) * instance_.gpus;
    auto found = operations::energy(catalog_, gpu, gpus, *out_.wall, stated_.energy);
    if (!found) return refuse(found.error());
    for (const UsedFigure& figure : found->figures)
      out_.figures.push_back(figure);
    out_.energy = std::move(*found);
    return true;
  }

  const catalog::Catalog& catalog_;
  const OperationsSection& stated_;
  const JsonDocument& document_;
  const catalog::Instance& instance_;
  const InterruptedWork& work_;
  Answer& answer_;
  const SavesSection* section_of_saves_ = nullptr;

  operations::FailureRate band_;
  operations::Recovery recovery_;
  RunModel run_;
  OperationsAnswer out_;
  Diagnostics faults_;
};

}  // namespace

InterruptedWork interrupted_work(const Answer& answer) {
  const training::Iteration& iteration = answer.iteration;
  return {static_cast<double>(answer.job.gpus), iteration.step, iteration.tokens_per_second,
          iteration.mfu, answer.parameters};
}

Diagnostics add_operations(const catalog::Catalog& catalog, const Scenario& scenario,
                           const InterruptedWork& work, const std::optional<KnownCheckpoint>& known,
                           Answer& answer) {
  return OperationsRun(catalog, scenario, work, answer).run(known);
}

}  // namespace flowplan::scenario
