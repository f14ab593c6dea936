#include "flowplan/operations/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include "flowplan/base/assert.hpp"
#include "flowplan/base/split_mix.hpp"

namespace flowplan::operations {

namespace {

/// The model's times in seconds, as the inner loop wants them.
struct Times {
  double interval, memory_stall, disk_stall, persist;
  double segment;  ///< interval and the stall of a save to memory
  double period;   ///< from one save to disk to the next
  std::int64_t saves;
  double mttf, node_loss, defeated;
  double swap, in_place, disk_read, memory_read, repair;

  explicit Times(const RunModel& run)
      : interval(run.interval.value()),
        memory_stall(run.memory ? run.memory->stall.value() : 0.0),
        disk_stall(run.stall.value()),
        persist(run.persist.value()),
        segment(interval + memory_stall),
        period(run.period().value()),
        saves(run.saves_per_disk_save()),
        mttf(run.mttf ? run.mttf->value() : std::numeric_limits<double>::max()),
        node_loss(run.node_loss),
        defeated(run.memory ? run.memory->defeated : 1.0),
        swap(run.restart_swap.value()),
        in_place(run.restart_in_place.value()),
        disk_read(run.read.value()),
        memory_read(run.memory ? run.memory->read.value() : 0.0),
        repair(run.repair.value()) {}
};

/// Nodes that are away, in the order in which they come back; never more than spares + 1.
class RepairQueue {
 public:
  explicit RepairQueue(int spares) : back_at_(static_cast<std::size_t>(spares) + 1) {}

  /// A node goes; returns for how long the job has to wait for another one.
  double lose(double now, double repair) {
    while (away_ > 0 && back_at_[first_] <= now)
      pop();
    back_at_[(first_ + away_) % back_at_.size()] = now + repair;
    if (++away_ < back_at_.size()) return 0.0;
    const double wait = back_at_[first_] - now;
    pop();
    return wait;
  }

 private:
  void pop() {
    first_ = (first_ + 1) % back_at_.size();
    --away_;
  }

  std::vector<double> back_at_;
  std::size_t first_ = 0, away_ = 0;
};

/// One run. Between two failures saves follow a fixed pattern, so that only failures cost time.
class Run {
 public:
  Run(const Times& times, int spares, std::uint64_t seed)
      : t_(times), repairs_(spares), random_(seed) {}

  RunOutcome until_wall(double wall) {
    end_ = wall;
    while (!over_) {
      const double fails_after = time_to_failure();
      const double left = end_ - now_;
      if (fails_after >= left) {
        const Position at = position(left);
        up_ += left;
        now_ = end_;
        finish(at.saved, at.partial);
        break;
      }
      fail_after(fails_after);
    }
    return outcome();
  }

  RunOutcome until_work(double work, double most_wall) {
    end_ = most_wall;
    while (!over_) {
      const double fails_after = time_to_failure();
      const double left = work - static_cast<double>(restored_) * t_.interval;
      const auto more = static_cast<std::int64_t>(std::ceil(left / t_.interval)) - 1;
      const std::int64_t saves = std::max<std::int64_t>(0, more);
      const double needs = left + save_time(restored_ + saves) - save_time(restored_);
      if (needs <= fails_after) {
        up_ += needs;
        now_ += needs;
        finish(restored_ + saves, left - static_cast<double>(saves) * t_.interval);
        break;
      }
      fail_after(fails_after);
      out_.finished = !over_;
    }
    return outcome();
  }

 private:
  struct Position {
    std::int64_t saved;  ///< saves that have been taken, of any kind
    double partial;      ///< computed since, without the stall of a save under way
  };

  double time_to_failure() { return -t_.mttf * std::log1p(-random_.unit()); }

  /// Stalls of that many saves.
  [[nodiscard]] double save_time(std::int64_t saves) const {
    const std::int64_t to_disk = saves / t_.saves;  // whole ones
    return static_cast<double>(saves) * t_.memory_stall +
           static_cast<double>(to_disk) * t_.disk_stall;
  }
  /// Time since the last save to disk before the one that was restored, had it gone without
  /// failures, `up` after the restart.
  [[nodiscard]] double since_disk_save(double up) const {
    return up + static_cast<double>(restored_ % t_.saves) * t_.segment;
  }
  [[nodiscard]] Position position(double up) const {
    const double since = since_disk_save(up);
    const double periods = std::floor(since / t_.period);
    const double rest = since - periods * t_.period;
    const auto in_period = std::min(t_.saves - 1, static_cast<std::int64_t>(rest / t_.segment));
    const std::int64_t start = restored_ - restored_ % t_.saves;
    return {start + static_cast<std::int64_t>(periods) * t_.saves + in_period,
            std::min(rest - static_cast<double>(in_period) * t_.segment, t_.interval)};
  }

  /// The job fails `up` after it started to compute again; leaves it ready to compute, or over.
  void fail_after(double up) {
    const double since = since_disk_save(up);
    const std::int64_t start = restored_ - restored_ % t_.saves;
    if (since - t_.persist >= t_.period) {
      const auto periods = static_cast<std::int64_t>((since - t_.persist) / t_.period);
      on_disk_ = std::max(on_disk_, start + periods * t_.saves);
    }
    if (t_.saves > 1 || t_.defeated < 1.0) restored_ = position(up).saved;
    up_ += up;
    now_ += up;
    bool from_disk = false;
    do {
      ++out_.failures;
      if (t_.defeated >= 1.0 || random_.unit() < t_.defeated) from_disk = true;
      if (from_disk) restored_ = on_disk_;
    } while (!restart(from_disk));
  }

  /// Whether it comes through (or the run is over).
  bool restart(bool from_disk) {
    const bool lost = t_.node_loss >= 1.0 || random_.unit() < t_.node_loss;
    if (lost) {
      ++out_.lost_nodes;
      if (spend(waiting_, repairs_.lose(now_, t_.repair))) return true;
    }
    const double takes =
        (lost ? t_.swap : t_.in_place) + (from_disk ? t_.disk_read : t_.memory_read);
    const double fails_after = time_to_failure();
    return spend(down_, std::min(takes, fails_after)) || fails_after >= takes;
  }

  /// Lets time pass; whether the run is over by then.
  bool spend(double& where, double time) {
    over_ = now_ + time >= end_;
    if (over_) time = std::max(0.0, end_ - now_);
    where += time;
    now_ += time;
    if (over_) finish(restored_, 0.0);
    return over_;
  }

  void finish(std::int64_t saved, double partial) {
    out_.productive = Seconds(static_cast<double>(saved) * t_.interval + partial);
    out_.saving = Seconds(save_time(saved));
  }

  RunOutcome outcome() {
    out_.wall = Seconds(now_);
    out_.down = Seconds(down_);
    out_.waiting = Seconds(waiting_);
    out_.recomputed = std::max(Seconds(), Seconds(up_) - out_.productive - out_.saving);
    return out_;
  }

  const Times& t_;
  RepairQueue repairs_;
  SplitMix64 random_;
  RunOutcome out_;
  std::int64_t restored_ = 0;  ///< saves up to the one that was restored, of any kind
  std::int64_t on_disk_ = 0;   ///< the same of the newest that reached the disk
  double now_ = 0.0, end_ = 0.0, up_ = 0.0, down_ = 0.0, waiting_ = 0.0;
  bool over_ = false;
};

template <class One>
Simulation simulate_all(const RunModel& run, const SimulationSetting& setting, const One& one) {
  FLOWPLAN_ASSERT(run.interval.value() > 0.0 && !run.saves_overlap() && setting.runs >= 1);
  const Times times(run);
  const auto count = static_cast<std::size_t>(setting.runs);
  SplitMix64 seeds(setting.seed);
  std::vector<std::uint64_t> seed(count);
  std::generate(seed.begin(), seed.end(), [&] { return seeds.next(); });

  Simulation simulation;
  simulation.runs.resize(count);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count), [&](const auto& range) {
    for (std::size_t i = range.begin(); i != range.end(); ++i)
      simulation.runs[i] = one(Run(times, run.spares, seed[i]));
  });
  return simulation;
}

Goodput shares_of(const RunOutcome& sum) {
  if (sum.wall.value() <= 0.0) return {};
  return {sum.productive / sum.wall, sum.saving / sum.wall, sum.recomputed / sum.wall,
          sum.down / sum.wall, sum.waiting / sum.wall};
}

/// What `percent` of the runs do not exceed, by nearest rank.
template <class Value>
double nearest_rank(const std::vector<RunOutcome>& runs, double percent, const Value& value) {
  FLOWPLAN_ASSERT(!runs.empty() && percent > 0.0 && percent <= 100.0);
  std::vector<double> values;
  values.reserve(runs.size());
  for (const RunOutcome& run : runs)
    values.push_back(value(run));
  const double rank = std::ceil(percent / 100.0 * static_cast<double>(values.size()));
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(std::max(1.0, rank)) - 1;
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

Goodput RunOutcome::shares() const {
  return shares_of(*this);
}

Goodput Simulation::shares() const {
  RunOutcome sum;
  for (const RunOutcome& run : runs) {
    sum.wall += run.wall;
    sum.productive += run.productive;
    sum.saving += run.saving;
    sum.recomputed += run.recomputed;
    sum.down += run.down;
    sum.waiting += run.waiting;
  }
  return shares_of(sum);
}

double Simulation::failures_per_day() const {
  double failures = 0.0;
  Seconds wall;
  for (const RunOutcome& run : runs) {
    failures += static_cast<double>(run.failures);
    wall += run.wall;
  }
  return wall.value() > 0.0 ? failures / (wall / days(1.0)) : 0.0;
}

double Simulation::ettr_percentile(double percent) const {
  return nearest_rank(runs, percent, [](const RunOutcome& run) { return run.shares().ettr(); });
}

Seconds Simulation::wall_percentile(double percent) const {
  return Seconds(
      nearest_rank(runs, percent, [](const RunOutcome& run) { return run.wall.value(); }));
}

double Simulation::failures_percentile(double percent) const {
  return nearest_rank(runs, percent,
                      [](const RunOutcome& run) { return static_cast<double>(run.failures); });
}

Simulation simulate_days(const RunModel& run, Seconds wall, const SimulationSetting& setting) {
  FLOWPLAN_ASSERT(wall.value() > 0.0);
  return simulate_all(run, setting, [&](Run one) { return one.until_wall(wall.value()); });
}

Simulation simulate_work(const RunModel& run, Seconds work, const SimulationSetting& setting,
                         double most_times) {
  FLOWPLAN_ASSERT(work.value() > 0.0);
  return simulate_all(run, setting, [&](Run one) {
    return one.until_work(work.value(), most_times * work.value());
  });
}

}  // namespace flowplan::operations
