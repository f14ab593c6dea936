#include "flowplan/planner/plan.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "base_job.hpp"
#include "clusters.hpp"
#include "flowplan/topology/cluster.hpp"
#include "judge.hpp"
#include "misses.hpp"

namespace flowplan::planner {

namespace {

using scenario::Objective;

constexpr const char* default_region = "us-east-1";
constexpr int default_top = 10;
constexpr double default_headroom = 0.05;
constexpr std::size_t rechecked_rows = 3;
constexpr double pessimistic_oversubscription = 2.0;

/// One plan in the making.
class Planner {
 public:
  Planner(const catalog::Catalog& catalog, const scenario::Scenario& scenario,
          const SearchProgress& progress)
      : catalog_(catalog), scenario_(scenario), progress_(progress), base_(base_job(scenario)) {}

  Result<Plan> plan() {
    auto choices = cluster_choices(catalog_, scenario_);
    if (!choices) return fail(place(std::move(choices.error()), "/search"));
    begin(*choices);
    if (Diagnostics faults = contradictions(); !faults.empty()) return fail(std::move(faults));
    if (Diagnostics faults = not_modelled(choices->front()); !faults.empty()) {
      return fail(place(std::move(faults), "/workload"));
    }

    plan_.clusters.resize(choices->size());
    std::vector<Diagnostics> failed(choices->size());
    std::atomic<std::size_t> done{0};
    each_cluster(*choices, [&](std::size_t i) {
      auto searched = search((*choices)[i], i, per_cluster_);
      if (searched) {
        plan_.clusters[i] = std::move(*searched);
      } else {
        failed[i] = std::move(searched.error());
      }
      if (progress_) progress_(++done, choices->size());
    });
    for (Diagnostics& faults : failed) {
      if (!faults.empty()) return fail(place(std::move(faults), "/search"));
    }
    rank(plan_, *plan_.limits.top);
    if (Diagnostics faults = no_prices(); !faults.empty()) return fail(std::move(faults));
    if (plan_.ranked.empty()) {
      plan_.nearest_misses = nearest_misses(
          plan_,
          [this](const catalog::Instance& instance, int count) -> std::optional<PlanCluster> {
            auto larger = search({&instance, count}, 0, 1);
            return larger ? std::optional<PlanCluster>(std::move(*larger)) : std::nullopt;
          });
    }
    if (auto faults = recheck()) return fail(place(std::move(*faults), "/search"));
    return std::move(plan_);
  }

 private:
  /// Calls `body` for every cluster, the largest first. Of many each stays on one thread, so that
  /// what was learnt of its collectives is learnt once.
  template <class Body>
  static void each_cluster(const std::vector<ClusterChoice>& choices, const Body& body) {
    std::vector<std::size_t> order(choices.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto gpus = [&](std::size_t i) {
      return std::int64_t{choices[i].count} * choices[i].instance->gpus;
    };
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return gpus(a) > gpus(b); });
    const bool many =
        choices.size() >= 4 * static_cast<std::size_t>(tbb::this_task_arena::max_concurrency());
    tbb::parallel_for(std::size_t{0}, order.size(), [&](std::size_t i) {
      if (!many) return body(order[i]);
      tbb::task_arena alone(1);
      alone.execute([&] { body(order[i]); });
    });
  }

  void begin(const std::vector<ClusterChoice>& choices) {
    const scenario::PretrainingSection& work = scenario_.workload;
    plan_.about = scenario_.about;
    plan_.model = work.model;
    plan_.parameters = model::count_parameters(work.model).total;
    plan_.seq_len = base_.job.seq_len;
    plan_.tokens = work.tokens;
    plan_.limits = scenario_.search;
    plan_.limits.space = base_.space;
    plan_.defaulted = base_.defaulted;
    plan_.region = scenario_.cluster.region.value_or(default_region);
    note(!scenario_.cluster.region, "cluster.region", plan_.region, "where prices are listed");
    plan_.purchase = scenario_.cluster.purchase;
    note(!plan_.purchase, "cluster.purchase", "the cheapest",
         "of on_demand and capacity_block, what can be bought before what cannot");
    plan_.objective = objective();
    const bool grid = scenario_.search.counts.empty() && scenario_.cluster.count == 0;
    if (grid && !scenario_.search.max_gpus) plan_.limits.max_gpus = default_max_gpus;
    note(grid && !scenario_.search.max_gpus, "search.max_gpus", fmt::format("{}", default_max_gpus),
         "more with `max_gpus`");
    plan_.limits.memory_headroom = scenario_.search.memory_headroom.value_or(default_headroom);
    note(!scenario_.search.memory_headroom, "search.memory_headroom",
         fmt::format("{}", default_headroom), "room for what is not modelled, as `run` leaves it");
    plan_.limits.top = scenario_.search.top.value_or(default_top);
    per_cluster_ =
        scenario_.search.per_cluster.value_or(choices.size() == 1 ? *plan_.limits.top : 1);
    plan_.limits.per_cluster = per_cluster_;
    plan_.name =
        scenario_.name.empty() ? fmt::format("plan for {}", plan_.model.name) : scenario_.name;
  }

  void note(bool open, std::string key, std::string value, std::string reason) {
    if (open) plan_.defaulted.push_back({std::move(key), std::move(value), std::move(reason)});
  }

  Objective objective() {
    const scenario::SearchSection& search = scenario_.search;
    if (search.objective) return *search.objective;
    Objective chosen = Objective::throughput;
    std::string reason = "no token budget is given";
    if (plan_.tokens && search.deadline && !search.budget) {
      chosen = Objective::cost;
      reason = "the cheapest that meets the deadline";
    } else if (plan_.tokens) {
      chosen = Objective::time;
      reason = search.budget ? "the fastest within the budget" : "the fastest of all searched";
    }
    note(true, "search.objective", std::string(name(chosen)), reason);
    return chosen;
  }

  Diagnostics place(Diagnostics faults, std::string_view otherwise) const {
    for (Diagnostic& d : faults) {
      if (!d.place.file.empty()) continue;
      d.place = scenario_.document.place(d.place.pointer.empty() ? std::string(otherwise)
                                                                 : d.place.pointer);
    }
    return faults;
  }

  [[nodiscard]] Diagnostics contradictions() const {
    Diagnostics faults;
    const auto needs_tokens = [&](bool given, std::string_view pointer, std::string_view what) {
      if (!given || plan_.tokens) return;
      faults.push_back(error(Code::missing_key, scenario_.document.place(pointer),
                             fmt::format("{} needs `workload.tokens`", what),
                             "how many tokens are to be trained on: \"15T\""));
    };
    const scenario::SearchSection& search = scenario_.search;
    needs_tokens(search.budget.has_value(), "/search/budget_usd", "a budget");
    needs_tokens(search.deadline.has_value(), "/search/deadline", "a deadline");
    needs_tokens(search.objective == Objective::time, "/search/objective", "the objective `time`");
    return faults;
  }

  /// Faults of a job that no layout mends.
  Diagnostics not_modelled(const ClusterChoice& choice) const {
    auto cluster = build(choice, 1.0);
    if (!cluster) return std::move(cluster.error());
    training::Job job = base_.job;
    job.gpus = gpus_of(*cluster);
    job.layout.dp = static_cast<int>(job.gpus);
    job.precision = model::Precision::bf16;
    Diagnostics faults = training::check(catalog_, *cluster, job);
    std::erase_if(faults, [](const Diagnostic& d) {
      return d.code != Code::unsupported_feature && d.code != Code::unknown_name &&
             d.code != Code::bad_placement;
    });
    return faults;
  }

  /// A budget, or money as the objective, and no price at all.
  [[nodiscard]] Diagnostics no_prices() const {
    const bool needed = plan_.limits.budget || plan_.objective == Objective::cost;
    bool any_row = false, any_price = false;
    for (const PlanCluster& cluster : plan_.clusters) {
      any_row = any_row || !cluster.rows.empty();
      any_price = any_price || (!cluster.rows.empty() && cluster.rows.front().priced);
    }
    if (!needed || !any_row || any_price) return {};
    const std::string which = plan_.purchase ? *plan_.purchase + " " : "";
    return {error(
        Code::no_price,
        scenario_.document.place(plan_.limits.budget ? "/search/budget_usd" : "/search/objective"),
        fmt::format("no {}price of any instance searched is known in {}", which, plan_.region),
        "`flowplan catalog show INSTANCE` lists the prices and their regions")};
  }

  Result<topology::Cluster> build(const ClusterChoice& choice, double oversubscription) const {
    topology::ClusterSpec spec;
    spec.instance = choice.instance;
    spec.count = choice.count;
    spec.fabric = scenario_.cluster.fabric;
    if (oversubscription > 1.0) spec.fabric.leaf_oversubscription = oversubscription;
    return topology::Cluster::build(catalog_, spec);
  }

  [[nodiscard]] std::uint32_t gpus_of(const topology::Cluster& cluster) const {
    const scenario::PretrainingSection& work = scenario_.workload;
    if (work.gpus) return static_cast<std::uint32_t>(*work.gpus);
    const std::uint32_t of_each = work.placement.gpus_per_domain;
    return of_each > 0 ? of_each * cluster.domains() : cluster.gpus();
  }

  /// The space with the precisions that the GPU has.
  [[nodiscard]] scenario::LayoutSpace space_on(const catalog::Instance& instance) const {
    scenario::LayoutSpace space = base_.space;
    const catalog::Gpu& gpu = catalog_.gpu_of(instance);
    std::erase_if(space.precision, [&](model::Precision p) { return !gpu.peak(p); });
    if (space.precision.empty()) space.precision = base_.space.precision;  // all are refused
    return space;
  }

  Result<PlanCluster> search(const ClusterChoice& choice, std::size_t index, int keep) const {
    auto cluster = build(choice, 1.0);
    if (!cluster) return fail(std::move(cluster.error()));
    PlanCluster result;
    result.instance = choice.instance;
    result.count = choice.count;
    training::Job like = base_.job;
    like.gpus = gpus_of(*cluster);
    result.gpus = like.gpus;
    LayoutGoal goal{keep, *plan_.limits.memory_headroom, plan_.tokens};
    auto found = search_layouts(catalog_, *cluster, like, space_on(*choice.instance), goal);
    if (!found) return fail(std::move(found.error()));
    result.counts = found->counts;
    result.leanest = std::move(found->leanest);
    if (found->best.empty()) return result;

    auto evaluator = training::Evaluator::on(catalog_, *cluster, like);
    if (!evaluator) return fail(std::move(evaluator.error()));
    for (FoundLayout& one : found->best) {
      const auto whole = evaluator->explain(one.job);
      if (!whole) return fail(whole.error());
      PlanRow row;
      row.cluster = index;
      row.job = std::move(one.job);
      row.step = one.result.step;
      row.tokens_per_second = one.result.tokens_per_second;
      row.mfu = whole->mfu;
      row.memory = one.result.memory;
      row.hbm = whole->hbm;
      judge(catalog_, plan_, result, row);
      result.rows.push_back(std::move(row));
    }
    return result;
  }

  /// The best few once more, each by itself.
  std::optional<Diagnostics> recheck() {
    for (std::size_t i = 0; i < std::min(rechecked_rows, plan_.ranked.size()); ++i) {
      const PlanRow& row = plan_.ranked[i];
      const PlanCluster& of = plan_.clusters[row.cluster];
      auto cluster = build({of.instance, of.count}, 1.0);
      if (!cluster) return std::move(cluster.error());
      auto iteration = training::estimate(catalog_, *cluster, row.job);
      if (!iteration) return std::move(iteration.error());
      Recheck one;
      one.iteration = std::move(*iteration);
      auto evaluator = training::Evaluator::on(catalog_, *cluster, row.job);
      if (!evaluator) return std::move(evaluator.error());
      const auto simulated = evaluator->simulate(row.job);
      if (!simulated) return simulated.error();
      one.simulated = *simulated;
      one.difference = one.simulated / row.step - 1.0;
      if (auto narrow = build({of.instance, of.count}, pessimistic_oversubscription)) {
        if (auto slower = training::estimate(catalog_, *narrow, row.job)) {
          one.step_at_two_to_one = slower->step;
        }
      }
      plan_.rechecked.push_back(std::move(one));
    }
    return std::nullopt;
  }

  const catalog::Catalog& catalog_;
  const scenario::Scenario& scenario_;
  const SearchProgress& progress_;
  BaseJob base_;
  Plan plan_;
  int per_cluster_ = 1;
};

}  // namespace

Result<Plan> plan(const catalog::Catalog& catalog, const scenario::Scenario& scenario, int threads,
                  const SearchProgress& progress) {
  Planner planner(catalog, scenario, progress);
  const int all = tbb::info::default_concurrency();
  tbb::task_arena arena(threads > 0 ? std::min(threads, all) : all);
  return arena.execute([&] { return planner.plan(); });
}

}  // namespace flowplan::planner
