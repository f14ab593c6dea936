#include "flowplan/planner/layouts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include <tbb/blocked_range.h>
#include <tbb/enumerable_thread_specific.h>
#include <tbb/parallel_for.h>

#include "columns.hpp"

namespace flowplan::planner {

namespace {

using training::Evaluator;
using training::Job;

/// A bound and a time are sums of the same terms in another order: room for their rounding.
constexpr double bound_slack = 1.0 - 1e-9;
/// Columns that are searched at once, before those found are compared; never depends on threads.
constexpr std::size_t first_wave = 16, wave = 64;
constexpr double forever = std::numeric_limits<double>::infinity();

/// Where a layout stands in the order of the space.
using Position = std::tuple<std::size_t, std::int64_t, std::size_t>;

struct Candidate {
  FoundLayout found;
  Position position;
};

bool before(const Candidate& a, const Candidate& b) {
  return std::tie(a.found.key, a.found.result.memory, a.position) <
         std::tie(b.found.key, b.found.result.memory, b.position);
}
bool leaner(const Candidate& a, const Candidate& b) {
  return std::tie(a.found.result.memory, a.position) < std::tie(b.found.result.memory, b.position);
}

/// The best few, in order.
class Best {
 public:
  explicit Best(int keep) : keep_(static_cast<std::size_t>(keep)) {}

  /// Returns whether one is lost: the new one, or that which it replaces.
  bool add(Candidate candidate) {
    const auto place = std::upper_bound(list_.begin(), list_.end(), candidate, before);
    list_.insert(place, std::move(candidate));
    if (list_.size() <= keep_) return false;
    list_.pop_back();
    return true;
  }
  /// What is slower than this is lost.
  [[nodiscard]] double threshold() const {
    return list_.size() < keep_ ? forever : list_.back().found.key.value();
  }
  [[nodiscard]] std::vector<Candidate>& list() { return list_; }

 private:
  std::size_t keep_;
  std::vector<Candidate> list_;
};

/// What came of one column, or of several.
struct Harvest {
  explicit Harvest(int keep) : best(keep) {}
  Best best;
  LayoutCounts counts;
  std::optional<Candidate> leanest;
  Diagnostics errors;

  void offer_lean(const Candidate& candidate) {
    if (!leanest || leaner(candidate, *leanest)) leanest = candidate;
  }
  void add(Harvest other) {
    counts += other.counts;
    for (Candidate& candidate : other.best.list()) {
      ++counts.kept;
      --counts.slower;
      if (best.add(std::move(candidate))) {
        --counts.kept;
        ++counts.slower;
      }
    }
    if (other.leanest) offer_lean(*other.leanest);
    if (errors.empty()) errors = std::move(other.errors);
  }
};

class Search {
 public:
  Search(const catalog::Catalog& catalog, const topology::Cluster& cluster, const Job& like,
         const Columns& columns, const LayoutGoal& goal)
      : catalog_(catalog),
        cluster_(cluster),
        like_(like),
        columns_(columns),
        goal_(goal),
        limit_(cluster.spec().instance->hbm_per_gpu() * (1.0 - goal.memory_headroom)),
        evaluators_([this] { return std::make_unique<Evaluator>(*make()); }) {}

  [[nodiscard]] Result<Evaluator> make() const { return Evaluator::on(catalog_, cluster_, like_); }

  Result<LayoutSearch> run() {
    Harvest all(goal_.keep);
    const std::vector<Bound> order = bounds(all.counts);
    std::size_t from = 0;
    while (from < order.size() && all.errors.empty()) {
      const double threshold = all.best.threshold();
      if (order[from].key * bound_slack > threshold) break;
      const std::size_t size = std::min(from == 0 ? first_wave : wave, order.size() - from);
      std::vector<Harvest> harvests(size, Harvest(goal_.keep));
      each(size, 1, [&](std::size_t i) {
        search(order[from + i].column, threshold, evaluator(), harvests[i]);
      });
      for (Harvest& one : harvests)
        all.add(std::move(one));
      from += size;
    }
    for (; from < order.size(); ++from)
      all.counts.out_of_reach += order[from].valid;
    return answer(std::move(all));
  }

  Result<LayoutSearch> run_by_force() {
    Harvest all(goal_.keep);
    for (std::size_t column = 0; column < columns_.all().size(); ++column)
      force(column, all);
    return answer(std::move(all));
  }

 private:
  struct Bound {
    double key = forever;
    std::size_t column = 0;
    std::int64_t valid = 0;  ///< layouts
  };

  /// What members that differ in the kind of context parallelism only have in common.
  struct Shared {
    training::Evaluation memory;
    bool asked = false;
    double least = 0.0;  ///< no kind is faster
  };

  Evaluator& evaluator() { return *evaluators_.local(); }

  template <class Body>
  static void each(std::size_t count, std::size_t grain, const Body& body) {
    tbb::parallel_for(tbb::blocked_range<std::size_t>(0, count, grain),
                      [&](const tbb::blocked_range<std::size_t>& range) {
                        for (std::size_t i = range.begin(); i < range.end(); ++i)
                          body(i);
                      });
  }

  /// Columns that have a valid layout, by the least time that any of them could take.
  std::vector<Bound> bounds(LayoutCounts& counts) {
    constexpr std::size_t grain = 256;
    std::vector<Bound> all(columns_.all().size());
    each(all.size(), grain, [&](std::size_t i) { all[i] = bound(i, evaluator()); });
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int64_t raw = columns_.raw(columns_.all()[i]);
      counts.raw += raw;
      counts.invalid += raw - all[i].valid;
    }
    std::erase_if(all, [](const Bound& b) { return b.valid == 0; });
    std::sort(all.begin(), all.end(), [](const Bound& a, const Bound& b) {
      return std::tie(a.key, a.column) < std::tie(b.key, b.column);
    });
    return all;
  }

  Bound bound(std::size_t index, Evaluator& evaluator) const {
    const Column& column = columns_.all()[index];
    Job job = like_;
    put(column, job);
    Bound result;
    result.column = index;
    for (const std::int64_t micro_batch : columns_.micro_batches(column)) {
      job.micro_batch = micro_batch;
      const std::int64_t valid = valid_members(column, job, evaluator);
      result.valid += valid;
      if (valid == 0) continue;
      const Seconds least = ranked_time(job, evaluator.at_least(job), goal_.tokens);
      result.key = std::min(result.key, least.value());
    }
    return result;
  }

  /// Sharding decides about no division, so that one of each kind of context parallelism is asked.
  std::int64_t valid_members(const Column& column, Job& job, const Evaluator& evaluator) const {
    std::int64_t count = 0;
    bool valid = false;
    const Member* last = nullptr;
    for (const Member& member : columns_.members(column)) {
      if (last == nullptr || last->context_parallel != member.context_parallel) {
        job.context_parallel = member.context_parallel;
        valid = evaluator.valid(job);
      }
      last = &member;
      count += valid ? 1 : 0;
    }
    return count;
  }

  /// Every layout of a column that could be among the best.
  void search(std::size_t index, double threshold, Evaluator& evaluator, Harvest& harvest) const {
    const Column& column = columns_.all()[index];
    Job job = like_;
    put(column, job);
    bool too_large = false;  // all with a smaller micro-batch were
    for (const std::int64_t micro_batch : columns_.micro_batches(column)) {
      job.micro_batch = micro_batch;
      const std::int64_t valid = valid_members(column, job, evaluator);
      if (valid == 0) continue;
      if (too_large) {  // memory does not fall with the micro-batch
        harvest.counts.too_large += valid;
        continue;
      }
      const double least = ranked_time(job, evaluator.at_least(job), goal_.tokens).value();
      if (least * bound_slack > std::min(threshold, harvest.best.threshold())) {
        harvest.counts.out_of_reach += valid;
        continue;
      }
      too_large = !try_members(index, job, threshold, evaluator, harvest);
    }
  }

  /// Returns whether one of them fits.
  bool try_members(std::size_t index, Job& job, double threshold, Evaluator& evaluator,
                   Harvest& harvest) const {
    bool any = false;
    const auto& members = columns_.members(columns_.all()[index]);
    std::vector<std::pair<training::Sharding, Shared>> memory;
    for (std::size_t m = 0; m < members.size(); ++m) {
      job.sharding = members[m].sharding;
      job.context_parallel = members[m].context_parallel;
      if (!evaluator.valid(job)) continue;  // counted with the bounds
      // How keys and values travel takes no memory.
      auto known = std::find_if(memory.begin(), memory.end(),
                                [&](const auto& one) { return one.first == job.sharding; });
      if (known == memory.end()) {
        known = memory.insert(known, {job.sharding, {evaluator.memory(job)}});
      }
      const Position position{index, job.micro_batch, m};
      const training::Evaluation& needs = known->second.memory;
      if (needs.memory > limit_) {
        ++harvest.counts.too_large;
        harvest.offer_lean({{job, needs, {}}, position});
        continue;
      }
      any = true;
      // Before asking how long each kind of context parallelism takes: could any of them do?
      if (job.layout.cp > 1 && !known->second.asked) {
        known->second.asked = true;
        known->second.least =
            ranked_time(job, evaluator.at_least_by_any_context(job), goal_.tokens).value();
      }
      if (known->second.least * bound_slack > std::min(threshold, harvest.best.threshold())) {
        ++harvest.counts.out_of_reach;
        continue;
      }
      evaluate(job, position, threshold, evaluator, harvest);
    }
    return any;
  }

  /// A layout that fits. It counts as slower; `Harvest::add` counts those that stay.
  void evaluate(const Job& job, const Position& position, double threshold, Evaluator& evaluator,
                Harvest& harvest) const {
    ++harvest.counts.slower;
    const auto result = evaluator.evaluate(job);
    if (!result) {
      if (harvest.errors.empty()) harvest.errors = result.error();
      return;
    }
    const Seconds key = ranked_time(job, result->step, goal_.tokens);
    if (key.value() > threshold) return;
    harvest.best.add({{job, *result, key}, position});
  }

  void force(std::size_t index, Harvest& all) {
    const Column& column = columns_.all()[index];
    Job job = like_;
    put(column, job);
    all.counts.raw += columns_.raw(column);
    for (const std::int64_t micro_batch : columns_.micro_batches(column)) {
      job.micro_batch = micro_batch;
      const auto& members = columns_.members(column);
      for (std::size_t m = 0; m < members.size(); ++m) {
        job.sharding = members[m].sharding;
        job.context_parallel = members[m].context_parallel;
        if (!evaluator().valid(job)) {
          ++all.counts.invalid;
          continue;
        }
        Harvest one(goal_.keep);
        const Position position{index, micro_batch, m};
        const training::Evaluation memory = evaluator().memory(job);
        if (memory.memory > limit_) {
          ++one.counts.too_large;
          one.offer_lean({{job, memory, {}}, position});
        } else {
          evaluate(job, position, forever, evaluator(), one);
        }
        all.add(std::move(one));
      }
    }
  }

  Result<LayoutSearch> answer(Harvest all) const {
    if (!all.errors.empty()) return fail(std::move(all.errors));
    LayoutSearch result;
    result.counts = all.counts;
    for (Candidate& candidate : all.best.list())
      result.best.push_back(std::move(candidate.found));
    if (result.best.empty() && all.leanest) result.leanest = std::move(all.leanest->found);
    return result;
  }

  const catalog::Catalog& catalog_;
  const topology::Cluster& cluster_;
  const Job& like_;
  const Columns& columns_;
  const LayoutGoal& goal_;
  Bytes limit_;
  tbb::enumerable_thread_specific<std::unique_ptr<Evaluator>> evaluators_;
};

template <class Run>
Result<LayoutSearch> search_with(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                                 const Job& like, const scenario::LayoutSpace& space,
                                 const LayoutGoal& goal, const Run& run) {
  const Columns columns(like, space, like.gpus == 0 ? cluster.gpus() : like.gpus);
  Search search(catalog, cluster, like, columns, goal);
  if (const auto evaluator = search.make(); !evaluator) return fail(evaluator.error());
  return run(search);
}

}  // namespace

LayoutCounts& LayoutCounts::operator+=(const LayoutCounts& other) {
  raw += other.raw;
  invalid += other.invalid;
  too_large += other.too_large;
  out_of_reach += other.out_of_reach;
  slower += other.slower;
  kept += other.kept;
  return *this;
}

Seconds ranked_time(const Job& job, Seconds step, const std::optional<double>& tokens) {
  const double of_step = static_cast<double>(job.global_batch) * static_cast<double>(job.seq_len);
  return tokens ? step * std::ceil(*tokens / of_step) : step / of_step;
}

Result<LayoutSearch> search_layouts(const catalog::Catalog& catalog,
                                    const topology::Cluster& cluster, const Job& like,
                                    const scenario::LayoutSpace& space, const LayoutGoal& goal) {
  return search_with(catalog, cluster, like, space, goal, [](Search& s) { return s.run(); });
}

Result<LayoutSearch> search_layouts_by_force(const catalog::Catalog& catalog,
                                             const topology::Cluster& cluster, const Job& like,
                                             const scenario::LayoutSpace& space,
                                             const LayoutGoal& goal) {
  return search_with(catalog, cluster, like, space, goal,
                     [](Search& s) { return s.run_by_force(); });
}

}  // namespace flowplan::planner
