#include "flowplan/estimate/estimate.hpp"

#include "flowplan/base/assert.hpp"

namespace flowplan {

void Estimate::add(std::string_view id, double value) {
  FLOWPLAN_ASSERT(find_metric(id).has_value());
  metrics.push_back({std::string(id), value});
}

const double* Estimate::value(std::string_view id) const {
  for (const Metric& metric : metrics) {
    if (metric.id == id) return &metric.value;
  }
  return nullptr;
}

}  // namespace flowplan
