#include "flowplan/planner/serving_plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "clusters.hpp"
#include "flowplan/inference/deployment.hpp"
#include "flowplan/operations/money.hpp"

namespace flowplan::planner {

namespace {

using inference::Layout;
using inference::WeightFormat;

constexpr const char* default_engine_name = "vllm";
constexpr const char* default_plan_region = "us-east-1";
/// Requests of one simulation: percentiles of the slow tail need some hundreds.
constexpr std::uint32_t requests_a_run = 600;
constexpr int widest_group = 64;

/// The formats that are tried when none is stated: those that checkpoints are published in.
constexpr std::array open_formats{WeightFormat::bf16, WeightFormat::fp8, WeightFormat::nvfp4};

/// Layouts that are tried when none is stated: tensor parallel groups inside the NVLink domain; of
/// a model with experts also attention DP with as many expert ranks.
std::vector<Layout> open_layouts(const model::Transformer& model,
                                 const catalog::Instance& instance) {
  std::vector<Layout> layouts;
  const int most = std::min(widest_group, std::max(1, instance.nvlink_domain_gpus));
  for (int ranks = 1; ranks <= most; ranks *= 2) {
    Layout tensor;
    tensor.tp = ranks;
    layouts.push_back(tensor);
    if (!model.experts || ranks == 1) continue;
    tensor.ep = ranks;
    layouts.push_back(tensor);
    Layout wide;
    wide.attention_dp = wide.ep = ranks;
    layouts.push_back(wide);
  }
  std::erase_if(layouts, [&](const Layout& layout) {
    return !inference::check_layout(layout, model).has_value();
  });
  return layouts;
}

double longest_of(const inference::Load& load) {
  double longest = 1.0;
  const auto requests = inference::generate(load);
  if (!requests) return longest;
  for (const inference::Request& request : requests->requests)
    longest = std::max(longest, 1.0 * request.input_tokens + request.output_tokens);
  return longest;
}

class ServingPlanner {
 public:
  ServingPlanner(const catalog::Catalog& catalog, const scenario::Scenario& scenario)
      : catalog_(catalog), scenario_(scenario), section_(*scenario.serving) {}

  Result<ServingPlan> plan(int threads, const SearchProgress& progress) {
    if (auto faults = what_is_missing(); !faults.empty()) return fail(std::move(faults));
    auto choices = cluster_choices(catalog_, scenario_);
    if (!choices) return fail(std::move(choices.error()));
    plan_.goal.rate_per_s = *section_.rate_per_s;
    plan_.goal.slo = *section_.slo;
    plan_.model = section_.model;
    plan_.engine = section_.engine.value_or(default_engine_name);
    load_ = section_.load;
    load_.tasks = section_.requests.value_or(requests_a_run);
    load_.arrivals.rate = {{0.0, 1.0}};
    longest_ = longest_of(load_);
    std::vector<ServingCandidate> candidates = open_candidates(*choices);
    std::atomic<std::size_t> done{0};
    tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t i) {
        judge_candidate(candidates[i]);
        if (progress) progress(++done, candidates.size());
      });
    });
    rank(std::move(candidates));
    return std::move(plan_);
  }

 private:
  Diagnostics what_is_missing() const {
    Diagnostics faults;
    const auto missing = [&](const char* pointer, const char* what, const char* hint) {
      Place place = scenario_.document.place(pointer);
      faults.push_back(error(Code::missing_key, std::move(place), what, hint));
    };
    if (!section_.rate_per_s)
      missing("/workload/load", "a fleet is planned for a rate", R"("rate_per_s": 50)");
    if (!section_.slo)
      missing("/workload", "a fleet is planned for limits",
              R"("slo": {"ttft": "1s", "tpot": "50ms"})");
    if (section_.trace || section_.disaggregated())
      faults.push_back(error(Code::unsupported_feature, scenario_.document.place("/workload"),
                             "fleets are planned for generated loads on aggregated instances only",
                             "`flowplan run` simulates traces and disaggregated deployments"));
    return faults;
  }

  std::vector<ServingCandidate> open_candidates(const std::vector<ClusterChoice>& choices) {
    std::vector<ServingCandidate> candidates;
    const catalog::Instance* last = nullptr;
    for (const ClusterChoice& choice : choices) {
      if (choice.instance == last) continue;  // counts follow from the rate
      last = choice.instance;
      const std::vector<Layout> layouts = section_.layout_stated
                                              ? std::vector<Layout>{section_.layout}
                                              : open_layouts(section_.model, *last);
      for (const WeightFormat format : open_formats) {
        if (section_.weights && format != open_formats.front()) continue;
        for (const Layout& layout : layouts) {
          ServingCandidate candidate;
          candidate.instance = last;
          candidate.weights = section_.weights.value_or(format);
          candidate.layout = layout;
          candidates.push_back(std::move(candidate));
        }
      }
    }
    return candidates;
  }

  Result<inference::Instance> deployed(const ServingCandidate& candidate) const {
    auto engine = inference::engine_profile(catalog_, plan_.engine,
                                            catalog_.gpu_of(*candidate.instance).generation);
    if (!engine) return fail(engine.error());
    if (section_.token_budget) engine->token_budget = *section_.token_budget;
    inference::StepSetup setup;
    setup.instance = candidate.instance;
    setup.model = &section_.model;
    setup.layout = candidate.layout;
    setup.formats = inference::usual_formats(section_.model, candidate.weights);
    if (section_.narrow_kv) setup.formats.narrow_kv = *section_.narrow_kv;
    setup.engine = std::move(*engine);
    setup.draft_tokens = section_.draft_tokens;
    inference::DeploymentLimits limits;
    limits.longest_tokens = longest_;
    if (section_.max_sequences)
      limits.most_sequences = static_cast<double>(*section_.max_sequences);
    if (section_.draft_tokens > 0)
      limits.accepted_a_pass =
          inference::tokens_per_pass(section_.acceptance, section_.draft_tokens);
    auto instance = inference::deploy(catalog_, setup, limits);
    if (instance)
      instance->engine.prefix_caching = section_.prefix_caching.value_or(load_.block_tokens > 0);
    return instance;
  }

  void judge_candidate(ServingCandidate& candidate) const {
    const auto instance = deployed(candidate);
    if (!instance) {
      candidate.lost = instance.error().front().message;
      return;
    }
    inference::Fleet fleet;
    fleet.instance = *instance;
    const auto best = inference::highest_rate(fleet, load_, plan_.goal.slo, 0.02);
    if (!best) {
      candidate.lost = best.error().front().message;
      return;
    }
    candidate.capacity_per_s = best->offered_per_s;
    candidate.at_capacity = best->summary;
    if (candidate.capacity_per_s <= 0.0) {
      candidate.lost = "cannot keep the limits at any rate";
      return;
    }
    const double usable = candidate.capacity_per_s * (1.0 - plan_.goal.headroom);
    candidate.replicas =
        static_cast<int>(std::ceil(plan_.goal.rate_per_s / usable)) + plan_.goal.spare_instances;
    const int gpus = candidate.layout.gpus();
    // An engine instance is not cut by the border of a machine unless it is larger than one.
    const int per_machine = candidate.instance->gpus / gpus;
    candidate.machines =
        per_machine > 0 ? (candidate.replicas + per_machine - 1) / per_machine
                        : candidate.replicas *
                              ((gpus + candidate.instance->gpus - 1) / candidate.instance->gpus);
    price(candidate);
  }

  void price(ServingCandidate& candidate) const {
    const std::string region = scenario_.cluster.region.value_or(default_plan_region);
    const operations::PurchaseCost* chosen = nullptr;
    const auto costs =
        operations::costs(catalog_, *candidate.instance, candidate.machines, region, std::nullopt);
    for (const operations::PurchaseCost& cost : costs) {
      const bool meant = scenario_.cluster.purchase
                             ? cost.purchase == *scenario_.cluster.purchase
                             : cost.purchase == "on_demand" || cost.purchase == "capacity_block";
      if (!meant) continue;
      const auto order = [](const operations::PurchaseCost& one) {
        return std::tuple(!one.limits.empty(), one.per_hour.value());
      };
      if (chosen == nullptr || order(cost) < order(*chosen)) chosen = &cost;
    }
    if (chosen == nullptr) {
      candidate.lost = fmt::format("no price is known in {}", region);
      return;
    }
    candidate.usd_per_hour = chosen->per_hour.value();
    candidate.purchase = chosen->purchase;
    candidate.limits = chosen->limits;
  }

  void rank(std::vector<ServingCandidate> candidates) {
    for (ServingCandidate& one : candidates)
      (one.lost.empty() ? plan_.ranked : plan_.refused).push_back(std::move(one));
    std::stable_sort(plan_.ranked.begin(), plan_.ranked.end(),
                     [](const ServingCandidate& a, const ServingCandidate& b) {
                       return std::tuple(!a.limits.empty(), *a.usd_per_hour) <
                              std::tuple(!b.limits.empty(), *b.usd_per_hour);
                     });
    double fastest = std::numeric_limits<double>::infinity();
    std::vector<ServingCandidate> by_money = plan_.ranked;
    std::stable_sort(by_money.begin(), by_money.end(),
                     [](const ServingCandidate& a, const ServingCandidate& b) {
                       return *a.usd_per_hour < *b.usd_per_hour;
                     });
    for (const ServingCandidate& one : by_money) {
      if (one.at_capacity.tpot_s.p50 >= fastest) continue;
      fastest = one.at_capacity.tpot_s.p50;
      plan_.pareto.push_back(one);
    }
  }

  const catalog::Catalog& catalog_;
  const scenario::Scenario& scenario_;
  const scenario::ServingSection& section_;
  ServingPlan plan_;
  inference::Load load_;
  double longest_ = 1.0;
};

}  // namespace

Result<ServingPlan> plan_serving(const catalog::Catalog& catalog,
                                 const scenario::Scenario& scenario, int threads,
                                 const SearchProgress& progress) {
  return ServingPlanner(catalog, scenario).plan(threads, progress);
}

}  // namespace flowplan::planner
