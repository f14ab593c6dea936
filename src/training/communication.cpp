#include "communication.hpp"

#include <algorithm>

namespace flowplan::training {

Result<Communication> Communication::on(const catalog::Catalog& catalog,
                                        const topology::Cluster& cluster, const Job& job) {
  auto placement = topology::place(cluster, ranks(cluster, job), job.placement);
  if (!placement) return fail(placement.error());
  return Communication(catalog, cluster, std::move(*placement), degrees(job.layout));
}

const collective::Outcome& Communication::predict(topology::Axis axis,
                                                  collective::Operation operation, Bytes size) {
  const Key key{axis, operation, size.value()};
  if (const auto known = outcomes_.find(key); known != outcomes_.end()) return known->second;
  const auto [entry, fresh] = requests_.try_emplace(axis);
  collective::Request& request = entry->second;
  if (fresh) request.groups = topology::groups(placement_, degrees_, axis);
  request.operation = operation;
  request.size = size;
  auto outcome = collective::predict(*catalog_, *cluster_, request);
  if (!outcome) {
    errors_.insert(errors_.end(), outcome.error().begin(), outcome.error().end());
    return outcomes_[key];
  }
  stack_ = outcome->stack;
  const bool is_new = std::find(notes_.begin(), notes_.end(), outcome->note) == notes_.end();
  if (!outcome->calibrated && is_new) notes_.push_back(outcome->note);
  return outcomes_[key] = std::move(*outcome);
}

void Communication::count(const collective::Outcome& outcome, double times) {
  for (const auto& [tier, bytes] : outcome.carried)
    carried_[tier] += bytes * times;
}

topology::Degrees degrees(const Layout& layout) {
  return {layout.tp, layout.cp, layout.dp, layout.pp};
}

std::uint32_t ranks(const topology::Cluster& cluster, const Job& job) {
  return job.gpus == 0 ? cluster.gpus() : job.gpus;
}

std::string resource(const std::string& limit) {
  return limit.substr(0, limit.find(' '));
}

}  // namespace flowplan::training
