#include "flowplan/posttraining/asynchronous.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "busy.hpp"

namespace flowplan::posttraining {

namespace {

constexpr int measured_steps = 6;
constexpr int most_warm_up = 5;
constexpr double same_times = 1e-9;  // relative, of the versions' ends

/// Engines stand still while weights are updated: their clock leaves these pauses out.
class Pauses {
 public:
  void add(double at_s, double length_s) { list_.emplace_back(at_s, length_s); }
  [[nodiscard]] double engine_time(double wall_s) const {
    double engine = wall_s;
    for (const auto& [at, length] : list_)
      engine -= std::clamp(wall_s - at, 0.0, length);
    return engine;
  }
  /// What ends at the instant of a pause ends before it, what begins begins after it.
  [[nodiscard]] double end_time(double engine_s) const { return wall_time(engine_s, same_instant); }
  [[nodiscard]] double begin_time(double engine_s) const {
    return wall_time(engine_s, -same_instant);
  }

 private:
  static constexpr double same_instant = 1e-7;  // seconds; clocks differ by rounding

  [[nodiscard]] double wall_time(double engine_s, double margin) const {
    double wall = engine_s;
    for (const auto& [at, length] : list_)
      if (wall > at + margin) wall += length;
    return wall;
  }

  std::vector<std::pair<double, double>> list_;  // by time
};

/// How many samples are let in and not finished, over time.
class RunningCurve {
 public:
  explicit RunningCurve(const inference::RequestRecords& records) {
    std::vector<std::pair<double, int>> changes;
    for (std::size_t i = 0; i < records.size(); ++i) {
      if (records.sent_s[i] < 0.0) continue;
      changes.emplace_back(records.sent_s[i], 1);
      if (records.finish_s[i] >= 0.0) changes.emplace_back(records.finish_s[i], -1);
    }
    std::sort(changes.begin(), changes.end());
    int running = 0;
    for (const auto& [at, change] : changes) {
      running += change;
      if (!steps_.empty() && steps_.back().first == at)
        steps_.back().second = running;
      else
        steps_.emplace_back(at, running);
    }
  }

  /// The most at once in [from, to).
  [[nodiscard]] int peak(double from, double to) const {
    int most = 0;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].first < to && end_of(i) > from) most = std::max(most, steps_[i].second);
    return most;
  }
  /// The last instant of [from, to) up to which there are at least `count`; `from` where there are
  /// fewer.
  [[nodiscard]] double last_at_least(double count, double from, double to) const {
    double last = from;
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].first < to && steps_[i].second >= count)
        last = std::max(last, std::min(to, end_of(i)));
    return last;
  }

 private:
  [[nodiscard]] double end_of(std::size_t i) const {
    return i + 1 < steps_.size() ? steps_[i + 1].first : std::numeric_limits<double>::infinity();
  }

  std::vector<std::pair<double, int>> steps_;  // from when on how many, by time
};

/// When a version of the weights was made.
struct Version {
  double begun_s = 0.0;    ///< training on the first part
  double trained_s = 0.0;  ///< on the last part
  double paused_s = 0.0;   ///< engines stop
  double ready_s = 0.0;    ///< engines go on with it
  double waited_s = 0.0;   ///< for samples
};

class OverlapPlay {
 public:
  OverlapPlay(const inference::Fleet& fleet, const Overlap& overlap, const RolloutLoad& batch,
              int versions, inference::Workload workload)
      : fleet_(fleet),
        overlap_(overlap),
        batch_(batch.samples()),
        group_(batch.group),
        workload_(std::move(workload)),
        versions_(static_cast<std::size_t>(versions)),
        released_(workload_.tasks(), 0.0) {}

  /// Begins with those times instead of none, if they are of as many samples and versions.
  void begin_with(const OverlapTimes& near) {
    if (near.released_s.size() != released_.size() || near.ready_s.size() != versions_.size())
      return;
    released_ = near.released_s;
    for (std::size_t v = 0; v < versions_.size(); ++v) {
      versions_[v].paused_s = near.paused_s[v];
      versions_[v].ready_s = near.ready_s[v];
    }
  }

  /// Another round: samples are let in at the times that the last one found. Returns the largest
  /// relative change of a version's time.
  Result<double> round() {
    Pauses pauses;
    for (const Version& version : versions_)
      if (version.ready_s > 0.0) pauses.add(version.paused_s, overlap_.sync.value());
    for (std::size_t i = 0; i < released_.size(); ++i)
      request_of(i).arrival_s = pauses.engine_time(released_[i]);
    auto run = inference::serve(fleet_, workload_);
    if (!run) return fail(run.error());
    run_ = std::move(*run);
    auto ends = task_ends(workload_, run_);
    if (!ends) return fail(ends.error());
    for (double& end : *ends)
      end = pauses.end_time(end);
    for (double& at : run_.requests.sent_s)
      at = pauses.begin_time(at);
    for (double& at : run_.requests.finish_s)
      at = pauses.end_time(at);
    scored_ = scored(*ends, overlap_.verifier);
    return train(*ends);
  }

  [[nodiscard]] const std::vector<Version>& versions() const { return versions_; }

  [[nodiscard]] OverlapRun answer(std::size_t warm, std::size_t last) const {
    OverlapRun result;
    const double from = versions_[warm].ready_s, to = versions_[last].ready_s;
    const auto steps = static_cast<double>(last - warm);
    result.step = Seconds((to - from) / steps);
    double waited = 0.0;
    for (std::size_t v = warm + 1; v <= last; ++v)
      waited += versions_[v].waited_s;
    result.waiting = Seconds(waited / steps);
    const double used = (overlap_.training + overlap_.sync).value() * steps;
    result.trainer_idle = std::max(0.0, 1.0 - used / (to - from));
    const double busy = busy_time(run_.requests, fleet_.replicas, from, to);
    result.rollout_idle = std::max(0.0, 1.0 - busy / (fleet_.replicas * (to - from)));
    constexpr double rounding = 1e-9;  // of shares
    if (result.rollout_idle < rounding) result.rollout_idle = 0.0;
    if (result.trainer_idle < rounding) result.trainer_idle = 0.0;
    staleness(warm, last, result);
    result.staleness_grows =
        overlap_.staleness > static_cast<double>(last) &&
        mean_age(last) > mean_age(warm + 1) + 0.5;  // half a version over the steps measured
    // In order nothing is older than the bound.
    result.most_is_open = !overlap_.in_order && result.most_staleness >= static_cast<double>(last);
    const std::size_t shown = std::min<std::size_t>(3, last - warm);
    timeline(last - shown, last, result);
    result.times.released_s = released_;
    for (const Version& version : versions_) {
      result.times.paused_s.push_back(version.paused_s);
      result.times.ready_s.push_back(version.ready_s);
    }
    return result;
  }

 private:
  inference::Request& request_of(std::size_t task) {
    return workload_.requests[workload_.root(task)];
  }

  /// The samples that each version trains on, first finished first: those of its own batch, or of
  /// all that may have been started by then. Later ones are not looked at, so that a version
  /// depends on earlier ones only.
  [[nodiscard]] std::vector<std::size_t> order_of_training() const {
    std::vector<std::size_t> order;
    order.reserve(scored_.size());
    const auto later = [&](std::size_t a, std::size_t b) {
      return std::pair(scored_[a], a) > std::pair(scored_[b], b);
    };
    std::vector<std::size_t> there;  // a heap, the first finished on top
    std::size_t next = 0;
    for (std::size_t v = 0; v < versions_.size(); ++v) {
      const std::size_t bound = overlap_.in_order ? (v + 1) * batch_ : scored_.size();
      for (; next < bound && (overlap_.in_order || versions_before(next) <= v); ++next) {
        there.push_back(next);
        std::push_heap(there.begin(), there.end(), later);
      }
      for (std::size_t i = 0; i < batch_; ++i) {
        std::pop_heap(there.begin(), there.end(), later);
        order.push_back(there.back());
        there.pop_back();
      }
    }
    return order;
  }

  Result<double> train(const std::vector<double>& ends) {
    const std::vector<std::size_t> order = order_of_training();
    trained_in_.assign(order.size(), 0);
    double change = 0.0, before = 0.0;
    for (std::size_t v = 0; v < versions_.size(); ++v) {
      Version now;
      double at = before;
      const auto parts = static_cast<std::size_t>(std::max(1, overlap_.parts));
      for (std::size_t part = 0; part < parts; ++part) {
        const std::size_t needed = v * batch_ + (part + 1) * batch_ / parts;
        const double there = scored_[order[needed - 1]];
        now.waited_s += std::max(0.0, there - at);
        at = std::max(at, there);
        if (part == 0) now.begun_s = at;
        at += overlap_.training.value() / static_cast<double>(parts);
      }
      now.trained_s = now.paused_s = at;
      if (!overlap_.partial) {
        for (std::size_t i = 0; i < ends.size() && versions_before(i) <= v; ++i)
          now.paused_s = std::max(now.paused_s, ends[i]);
        now.waited_s += now.paused_s - at;
      }
      now.ready_s = before = now.paused_s + overlap_.sync.value();
      for (std::size_t i = v * batch_; i < (v + 1) * batch_; ++i)
        trained_in_[order[i]] = v;
      change = std::max(change, std::abs(now.ready_s - versions_[v].ready_s) / now.ready_s);
      versions_[v] = now;
    }
    release();
    return change;
  }

  /// Versions that are made before sample i is let in: batch (i + 1) / B is within `staleness` of
  /// them.
  [[nodiscard]] std::size_t versions_before(std::size_t sample) const {
    constexpr double rounding = 1e-9;
    const double ahead =
        static_cast<double>(sample + 1) / static_cast<double>(batch_) - 1.0 - overlap_.staleness;
    const double made = std::ceil(ahead - rounding);
    return made <= 0.0 ? 0 : std::min(versions_.size(), static_cast<std::size_t>(made));
  }

  void release() {
    for (std::size_t i = 0; i < released_.size(); ++i) {
      const std::size_t versions = versions_before(i);
      released_[i] = versions == 0 ? 0.0 : versions_[versions - 1].ready_s;
    }
    if (overlap_.in_flight > 0.0) hold_back();
  }

  /// A prompt waits until few enough of those before it are unfinished.
  void hold_back() {
    std::vector<double> done;
    for (std::size_t first = 0; first < scored_.size(); first += group_)
      done.push_back(
          *std::max_element(scored_.begin() + static_cast<std::ptrdiff_t>(first),
                            scored_.begin() + static_cast<std::ptrdiff_t>(first + group_)));
    std::sort(done.begin(), done.end());
    const std::size_t prompts_a_batch = batch_ / group_;
    const double prompts = static_cast<double>(prompts_a_batch) * overlap_.in_flight;
    const auto most = static_cast<std::size_t>(std::max(1.0, std::floor(prompts + 1e-9)));
    for (std::size_t i = most * group_; i < released_.size(); ++i)
      released_[i] = std::max(released_[i], done[i / group_ - most]);
  }

  /// Versions made between a sample's start and the one that trains on it.
  [[nodiscard]] double age_of(std::size_t sample) const {
    const double started = run_.requests.sent_s[workload_.root(sample)];
    std::size_t made = 0;
    // A sample that a version lets in is sent when it is ready, but for what clocks round.
    constexpr double rounding = 1e-9;
    while (made < versions_.size() && versions_[made].ready_s <= started * (1.0 + rounding))
      ++made;
    const std::size_t version = trained_in_[sample];
    return version > made ? static_cast<double>(version - made) : 0.0;
  }

  [[nodiscard]] double mean_age(std::size_t version) const {
    double sum = 0.0, count = 0.0;
    for (std::size_t i = 0; i < trained_in_.size(); ++i) {
      if (trained_in_[i] != version) continue;
      sum += age_of(i);
      count += 1.0;
    }
    return count > 0.0 ? sum / count : 0.0;
  }

  void staleness(std::size_t warm, std::size_t last, OverlapRun& result) const {
    double sum = 0.0, count = 0.0;
    for (std::size_t i = 0; i < trained_in_.size(); ++i) {
      const std::size_t version = trained_in_[i];
      if (version <= warm || version > last) continue;
      const double stale = age_of(i);
      sum += stale;
      count += 1.0;
      result.most_staleness = std::max(result.most_staleness, stale);
    }
    result.mean_staleness = count > 0.0 ? sum / count : 0.0;
  }

  void timeline(std::size_t first, std::size_t last, OverlapRun& result) const {
    const double origin = versions_[first].ready_s;
    const auto add = [&](const char* pool, const char* activity, double from, double to) {
      constexpr double visible = 1e-6;
      if (to - from > visible)
        result.timeline.push_back({pool, activity, from - origin, to - origin});
    };
    const RunningCurve curve(run_.requests);
    const double peak = curve.peak(origin, versions_[last].ready_s);
    for (std::size_t v = first + 1; v <= last; ++v) {
      const Version& now = versions_[v];
      const double begin = versions_[v - 1].ready_s;
      add("trainer", "wait", begin, now.begun_s);
      add("trainer", "train", now.begun_s, now.trained_s);
      add("trainer", "wait", now.trained_s, now.paused_s);
      add("trainer", "sync", now.paused_s, now.ready_s);
      double ended = begin;
      for (std::size_t i = 0; i < run_.requests.size(); ++i)
        if (run_.requests.sent_s[i] < now.paused_s)
          ended = std::max(ended, std::min(now.paused_s, run_.requests.finish_s[i]));
      const double thin = curve.last_at_least(peak / 2.0, begin, ended);
      add("rollout", "generate", begin, thin);
      add("rollout", "stragglers", thin, ended);
      add("rollout", "wait", ended, now.paused_s);
      add("rollout", "sync", now.paused_s, now.ready_s);
    }
  }

  const inference::Fleet& fleet_;
  const Overlap& overlap_;
  std::size_t batch_, group_;
  inference::Workload workload_;
  std::vector<Version> versions_;
  std::vector<double> released_;  // by sample, wall time
  std::vector<double> scored_;
  std::vector<std::size_t> trained_in_;  // version, by sample
  inference::ServeRun run_;
};

}  // namespace

Result<OverlapRun> run_overlapped(const inference::Fleet& fleet, const RolloutLoad& load,
                                  const Overlap& overlap, const OverlapTimes& near) {
  if (!(overlap.staleness >= 0.0) || overlap.parts < 1)
    return fail(
        error(Code::value_out_of_range,
              fmt::format("a staleness of {} with {} parts", overlap.staleness, overlap.parts),
              "a staleness of 0 or more, at least one part"));
  const double ahead =
      std::min(std::ceil(overlap.staleness), double{measured_steps + most_warm_up});
  const auto warm = static_cast<std::size_t>(std::min<double>(most_warm_up, ahead + 1.0));
  const std::size_t last = warm + measured_steps;
  RolloutLoad all = load;
  // Batches beyond the last one measured keep the engines as busy as they would be.
  const auto batches = static_cast<std::uint32_t>(last + 1) + static_cast<std::uint32_t>(ahead) + 1;
  all.prompts = load.prompts * batches;
  auto workload = rollout_requests(all);
  if (!workload) return fail(workload.error());
  workload->concurrency = 0;  // samples are let in when their version is there
  Overlap bounded = overlap;
  bounded.staleness = std::min(overlap.staleness, static_cast<double>(batches));
  OverlapPlay play(fleet, bounded, load, static_cast<int>(batches), std::move(*workload));
  play.begin_with(near);
  // Once the versions before it are right, a version takes some rounds: its samples, the pause of
  // its update, prompts that wait for others.
  constexpr std::size_t rounds_a_version = 5;
  for (std::size_t round = 0; round <= rounds_a_version * batches; ++round) {
    const auto change = play.round();
    if (!change) return fail(change.error());
    if (*change < same_times) break;
  }
  return play.answer(warm, last);
}

}  // namespace flowplan::posttraining
