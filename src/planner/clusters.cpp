#include "clusters.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "flowplan/catalog/usable.hpp"

namespace flowplan::planner {

namespace {

using catalog::Instance;

catalog::Purpose purpose_of(int count) {
  return count > 1 ? catalog::Purpose::cluster : catalog::Purpose::one_unit;
}

bool sold_by_the_hour(const catalog::Catalog& catalog, const Instance& instance) {
  const catalog::PurchaseRules& rules = catalog.purchase_rules();
  return rules.sells("on_demand", instance.id) || rules.sells("capacity_block", instance.id);
}

std::vector<int> counts_of(const scenario::Scenario& scenario, const Instance& instance) {
  const scenario::SearchSection& search = scenario.search;
  const std::int64_t most = search.max_gpus.value_or(default_max_gpus);
  if (!search.counts.empty()) return search.counts;
  if (scenario.cluster.count > 0) return {scenario.cluster.count};
  std::vector<int> counts;
  for (int count = 1; std::int64_t{count} * instance.gpus <= most; count = next_count(count))
    counts.push_back(count);
  return counts;
}

bool within(const scenario::Scenario& scenario, const Instance& instance, int count) {
  const std::int64_t gpus = std::int64_t{count} * instance.gpus;
  const scenario::SearchSection& search = scenario.search;
  return gpus >= search.min_gpus.value_or(1) && (!search.max_gpus || gpus <= *search.max_gpus);
}

}  // namespace

int next_count(int count) {
  int power = 1;
  while (power * 2 <= count)
    power *= 2;
  const int between = power + power / 2;
  return power > 1 && count < between ? between : power * 2;
}

Result<std::vector<ClusterChoice>> cluster_choices(const catalog::Catalog& catalog,
                                                   const scenario::Scenario& scenario) {
  std::vector<const Instance*> instances = scenario.search.instances;
  if (instances.empty() && scenario.cluster.instance != nullptr) {
    instances.push_back(scenario.cluster.instance);
  }
  const bool stated = !instances.empty();
  if (!stated) {
    for (const Instance& instance : catalog.instances()) {
      if (sold_by_the_hour(catalog, instance)) instances.push_back(&instance);
    }
  }
  std::vector<ClusterChoice> choices;
  Diagnostics faults;
  for (const Instance* instance : instances) {
    for (const int count : counts_of(scenario, *instance)) {
      if (!within(scenario, *instance, count)) continue;
      Diagnostics reasons = catalog::usable_for(catalog, *instance, purpose_of(count));
      if (reasons.empty()) {
        choices.push_back({instance, count});
      } else if (stated) {
        std::move(reasons.begin(), reasons.end(), std::back_inserter(faults));
        break;
      }
    }
  }
  if (choices.empty() && faults.empty()) {
    faults.push_back(error(Code::layout_mismatch,
                           "nothing to search: no cluster is within the limits",
                           "see `min_gpus`, `max_gpus` and `counts`; a unit has 1 to 72 GPUs"));
  }
  // A stated machine that is good for one unit only is planned as that.
  if (choices.empty()) return fail(std::move(faults));
  return choices;
}

}  // namespace flowplan::planner
