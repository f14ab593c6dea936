#include "flowplan/planner/posttraining_plan.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "clusters.hpp"

namespace flowplan::planner {

namespace {

using posttraining::Placement;

constexpr std::uint32_t parts_of_split = 8;
constexpr const char* no_version = "plan";

std::vector<Placement> open_placements(const scenario::PosttrainingSection& section) {
  if (section.placement_stated) return {section.placement};
  return {Placement::colocated, Placement::disaggregated, Placement::one_step_off,
          Placement::asynchronous};
}

/// GPUs that generate: eighths of all, whole engines.
std::vector<std::uint32_t> open_splits(const scenario::PosttrainingSection& section,
                                       Placement placement, std::uint32_t gpus, int engine_tp) {
  if (placement == Placement::colocated) return {0};
  if (section.rollout_gpus) return {*section.rollout_gpus};
  std::set<std::uint32_t> splits;
  const auto engine = static_cast<std::uint32_t>(engine_tp);
  for (std::uint32_t part = 1; part < parts_of_split; ++part) {
    const std::uint32_t rollout = gpus * part / parts_of_split / engine * engine;
    if (rollout > 0 && rollout < gpus) splits.insert(rollout);
  }
  return {splits.begin(), splits.end()};
}

std::vector<int> open_engines(const scenario::PosttrainingSection& section,
                              const model::Transformer& model, const catalog::Instance& instance) {
  if (section.engine_layout_stated) return {section.engine_layout.tp};
  std::vector<int> degrees;
  for (int tp = 1; tp <= std::max(1, instance.nvlink_domain_gpus); tp *= 2) {
    inference::Layout layout;
    layout.tp = tp;
    constexpr int widest = 16;
    if (tp <= widest && inference::check_layout(layout, model)) degrees.push_back(tp);
  }
  return degrees;
}

class PosttrainingPlanner {
 public:
  PosttrainingPlanner(const catalog::Catalog& catalog, const scenario::Scenario& scenario)
      : catalog_(catalog), scenario_(scenario), section_(*scenario.posttraining) {}

  Result<PosttrainingPlan> plan(int threads) {
    if (!section_.has_rollouts())
      return fail(error(Code::unsupported_feature, scenario_.document.place("/workload/method"),
                        "plans of post-training split GPUs between training and rollouts",
                        "fine-tuning has none: `flowplan sweep` varies its layout"));
    auto choices = cluster_choices(catalog_, scenario_);
    if (!choices) return fail(std::move(choices.error()));
    result_.model = scenario_.workload.model.name;
    result_.method = posttraining::name(std::get<posttraining::Algorithm>(section_.method));
    result_.objective = scenario_.search.objective.value_or(scenario::Objective::time);
    std::vector<PosttrainingCandidate> candidates = open(*choices);
    tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, candidates.size(),
                        [&](std::size_t i) { judge_split(candidates[i]); });
    });
    rank_splits(std::move(candidates));
    return std::move(result_);
  }

 private:
  std::vector<PosttrainingCandidate> open(const std::vector<ClusterChoice>& choices) const {
    std::vector<PosttrainingCandidate> candidates;
    for (const ClusterChoice& choice : choices) {
      const auto gpus = static_cast<std::uint32_t>(choice.instance->gpus * choice.count);
      for (const int tp : open_engines(section_, scenario_.workload.model, *choice.instance)) {
        for (const Placement placement : open_placements(section_)) {
          for (const std::uint32_t rollout : open_splits(section_, placement, gpus, tp)) {
            PosttrainingCandidate one;
            one.instance = choice.instance;
            one.count = choice.count;
            one.gpus = gpus;
            one.placement = placement;
            one.rollout_gpus = rollout;
            one.engine_tp = tp;
            candidates.push_back(one);
          }
        }
      }
    }
    return candidates;
  }

  void judge_split(PosttrainingCandidate& one) const {
    scenario::Scenario tried = scenario_;
    tried.cluster.instance = one.instance;
    tried.cluster.count = one.count;
    scenario::PosttrainingSection& section = *tried.posttraining;
    section.placement = one.placement;
    section.rollout_gpus = one.rollout_gpus;
    section.engine_layout.tp = one.engine_tp;
    section.engine_layout_stated = true;
    const auto answer = scenario::run(catalog_, tried, no_version);
    if (!answer) {
      one.lost = answer.error().front().message;
      return;
    }
    if (!answer->feasible()) {
      one.lost = answer->reason();
      return;
    }
    const posttraining::RlStep& step = *answer->posttraining->rl;
    one.step_s = step.step.value();
    one.samples_per_s = step.samples / one.step_s;
    one.trainer_idle = step.pools.front().idle_share;
    one.rollout_idle = step.pools.back().idle_share;
    one.staleness = step.mean_staleness;
    one.limit = step.limit;
    for (const operations::PurchaseCost& cost : answer->costs)
      if (cost.purchase == answer->purchase) {
        constexpr double hour = 3600.0;
        one.usd_per_step = cost.per_hour.value() * one.step_s / hour;
        if (cost.total) one.usd = cost.total->value();
      }
    if (answer->budget) one.days = answer->budget->time.value() / operations::seconds_per_day;
    one.lost = broken_limit(one);
  }

  [[nodiscard]] std::string broken_limit(const PosttrainingCandidate& one) const {
    const scenario::SearchSection& search = scenario_.search;
    if (search.deadline && one.days &&
        *one.days * operations::seconds_per_day > search.deadline->value())
      return "later than the deadline";
    if (search.budget && one.usd && *one.usd > search.budget->value())
      return "dearer than the budget";
    return {};
  }

  void rank_splits(std::vector<PosttrainingCandidate> candidates) {
    for (PosttrainingCandidate& one : candidates)
      (one.lost.empty() ? result_.ranked : result_.refused).push_back(std::move(one));
    const auto key = [&](const PosttrainingCandidate& one) {
      const double money = one.usd_per_step.value_or(1e300);
      switch (result_.objective) {
        case scenario::Objective::cost:
          return std::tuple(money, one.step_s);
        case scenario::Objective::smallest:
          return std::tuple(static_cast<double>(one.gpus), one.step_s);
        default:
          return std::tuple(one.step_s, money);
      }
    };
    std::stable_sort(result_.ranked.begin(), result_.ranked.end(),
                     [&](const auto& a, const auto& b) { return key(a) < key(b); });
  }

  const catalog::Catalog& catalog_;
  const scenario::Scenario& scenario_;
  const scenario::PosttrainingSection& section_;
  PosttrainingPlan result_;
};

}  // namespace

Result<PosttrainingPlan> plan_posttraining(const catalog::Catalog& catalog,
                                           const scenario::Scenario& scenario, int threads) {
  return PosttrainingPlanner(catalog, scenario).plan(threads);
}

}  // namespace flowplan::planner
