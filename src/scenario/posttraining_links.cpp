#include "posttraining_links.hpp"

#include <string>

#include "flowplan/topology/tier_name.hpp"

namespace flowplan::scenario {

namespace {

BytesPerSecond capacity_of(const topology::Summary& network, topology::Tier tier) {
  for (const topology::TierSummary& one : network.tiers)
    if (one.tier == tier) return one.capacity;
  return {};
}

void add_updates(const Answer& answer, double updates, const std::string& what, LinkLoads& loads) {
  const double share = answer.iteration.step * updates / answer.posttraining->step();
  for (const training::TierUse& use : answer.iteration.tiers)
    loads.known.push_back({std::string(topology::tier_name(use.tier, answer.nic_kind)), what,
                           use.utilisation * share, use.utilisation});
}

void add_sync(const Answer& answer, const posttraining::RlStep& rl, LinkLoads& loads) {
  if (answer.posttraining->job.sync == posttraining::SyncPath::storage) {
    loads.unknown.emplace_back(
        "Weights that go through storage: its time is known, what each tier of links carries is "
        "not.");
    return;
  }
  for (const auto& [tier, bytes] : rl.sync_carried) {
    const BytesPerSecond capacity = capacity_of(answer.network, tier);
    if (bytes.value() <= 0.0 || capacity.value() <= 0.0) continue;
    const Seconds full = bytes / capacity;
    loads.known.push_back({std::string(topology::tier_name(tier, answer.nic_kind)),
                           "weights to the engines", full / rl.step, full / rl.sync});
  }
}

}  // namespace

LinkLoads posttraining_links(const Answer& answer) {
  const PosttrainingAnswer& post = *answer.posttraining;
  LinkLoads loads;
  if (!post.rl) {
    add_updates(answer, 1.0, "the update", loads);
    if (post.tuning->reference.value() > 0.0 || post.tuning->teacher.value() > 0.0)
      loads.unknown.emplace_back(
          "Passes without gradients (reference, teacher): their time is known, what each tier of "
          "links carries is not.");
    return loads;
  }
  const posttraining::RlStep& rl = *post.rl;
  add_updates(answer, static_cast<double>(rl.updates), "updates of the policy", loads);
  add_sync(answer, rl, loads);
  std::string passes = "old log-probabilities and the like";
  if (post.job.algorithm == posttraining::Algorithm::ppo) passes += ", updates of the critic";
  loads.unknown.push_back("The trainer's other passes (" + passes +
                          "): their time is known, what each tier of links carries is not.");
  if (post.job.engine_layout.gpus() > 1)
    loads.unknown.emplace_back(
        "Collectives inside the engines while they generate: in the time of their passes, not "
        "counted by tier.");
  return loads;
}

}  // namespace flowplan::scenario
