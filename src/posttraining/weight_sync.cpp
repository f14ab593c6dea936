#include "flowplan/posttraining/weight_sync.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "flowplan/collective/collective.hpp"
#include "flowplan/flow/simulate.hpp"
#include "flowplan/storage/path.hpp"
#include "flowplan/storage/transfer.hpp"

namespace flowplan::posttraining {

namespace {

using topology::GpuId;

Breakdown sync_leaf(std::string id, std::string label, Seconds time, std::string limit,
                    std::string formula) {
  return {std::move(id), std::move(label), time, std::move(limit), "", std::move(formula), {}};
}

/// GPUs of the trainer among which one copy of the weights is divided.
std::uint32_t ranks_of_copy(const WeightSync& sync) {
  const auto gpus = static_cast<std::uint32_t>(sync.trainer_gpus.size());
  if (training::shards_weights(sync.sharding)) return gpus;
  const training::Layout& l = sync.trainer;
  const auto ranks = static_cast<std::uint32_t>(std::max(l.tp * l.pp, l.ep * l.etp * l.pp));
  return std::clamp<std::uint32_t>(ranks, 1, gpus);
}

using Carried = std::vector<std::pair<topology::Tier, Bytes>>;

void carry(topology::Tier tier, Bytes bytes, Carried& carried) {
  const auto found = std::find_if(carried.begin(), carried.end(),
                                  [&](const auto& one) { return one.first == tier; });
  if (found == carried.end())
    carried.emplace_back(tier, bytes);
  else
    found->second += bytes;
}

Result<Seconds> collective_time(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                                collective::Operation operation, std::vector<GpuId> gpus,
                                Bytes bytes, std::string& limit, Carried& carried) {
  if (gpus.size() < 2) return Seconds(0.0);
  collective::Request request;
  request.operation = operation;
  request.size = bytes;
  request.groups.push_back(std::move(gpus));
  const auto outcome = collective::predict(catalog, cluster, request);
  if (!outcome) return fail(outcome.error());
  limit = outcome->limit.substr(0, outcome->limit.find(' '));
  for (const auto& [tier, sent] : outcome->carried)
    carry(tier, sent, carried);
  return outcome->time;
}

Result<SyncTime> broadcast(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                           const WeightSync& sync, Bytes weights) {
  SyncTime result;
  const std::uint32_t copy = ranks_of_copy(sync);
  std::string limit = "none";
  const auto gathered =
      collective_time(catalog, cluster, collective::Operation::all_gather,
                      {sync.trainer_gpus.begin(), sync.trainer_gpus.begin() + copy}, weights, limit,
                      result.carried);
  if (!gathered) return fail(gathered.error());
  result.parts.children.push_back(
      sync_leaf("step.sync.gather", "Gathering the trainer's shards", *gathered, limit,
                fmt::format("{:.4g} GB over {} GPUs", weights.value() / 1e9, copy)));
  // Colocated engines take their part of what their GPU has gathered.
  if (sync.rollout_gpus.front() != sync.trainer_gpus.front()) {
    // One group of all GPUs, the trainer's first, so that the sender's whole node takes part: the
    // ranks of NeMo-RL's collective.
    std::vector<GpuId> gpus = sync.trainer_gpus;
    gpus.insert(gpus.end(), sync.rollout_gpus.begin(), sync.rollout_gpus.end());
    const auto sent = collective_time(catalog, cluster, collective::Operation::broadcast,
                                      std::move(gpus), weights, limit, result.carried);
    if (!sent) return fail(sent.error());
    result.parts.children.push_back(
        sync_leaf("step.sync.broadcast", "Broadcast to the rollout GPUs", *sent, limit,
                  fmt::format("{:.4g} GB in a group of {} GPUs", weights.value() / 1e9,
                              sync.trainer_gpus.size() + sync.rollout_gpus.size())));
  }
  result.moved = weights * static_cast<double>(sync.rollout_gpus.size());
  return result;
}

/// Every rollout GPU takes its shard from one GPU of the trainer, which are asked in turn.
SyncTime reshard(const topology::Cluster& cluster, const WeightSync& sync, Bytes weights) {
  SyncTime result;
  const Bytes shard = weights / static_cast<double>(sync.engine.gpus());
  const std::size_t sources = sync.trainer_gpus.size();
  flow::FlowSet flows;
  std::vector<flow::LinkId> links;
  for (std::size_t i = 0; i < sync.rollout_gpus.size(); ++i) {
    const GpuId from = sync.trainer_gpus[i % sources], to = sync.rollout_gpus[i];
    links.clear();
    cluster.route(from, to, links);
    if (links.empty()) continue;
    std::vector<flow::Use> uses;
    for (const flow::LinkId link : links) {
      uses.push_back({link, 1.0});
      carry(cluster.tier(link), shard, result.carried);
    }
    flow::FlowSpec spec;
    spec.bytes = shard.value();
    flows.add(uses, spec);
  }
  const flow::Completion done = flow::simulate(cluster.network(), flows);
  std::string limit = "memory";
  double longest = -1.0;
  for (std::size_t i = 0; i < done.end_s.size(); ++i) {
    if (done.end_s[i] <= longest || done.bottleneck[i] == flow::no_link) continue;
    longest = done.end_s[i];
    limit = std::string(topology::name(cluster.tier(done.bottleneck[i])));
  }
  result.moved = shard * static_cast<double>(sync.rollout_gpus.size());
  result.parts.children.push_back(sync_leaf(
      "step.sync.reshard", "Shards straight to their GPUs", Seconds(done.makespan_s), limit,
      fmt::format("{} GPUs x {:.4g} GB", sync.rollout_gpus.size(), shard.value() / 1e9)));
  return result;
}

Result<SyncTime> through_storage(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                                 const WeightSync& sync, Bytes weights) {
  if (sync.mount == nullptr)
    return fail(error(Code::bad_storage, "weights go through storage, but there is none",
                      "add a `storage` section, or sync by broadcast"));
  auto clients = storage::clients_of(catalog, cluster);
  if (!clients) return fail(clients.error());
  SyncTime result;
  const auto gpus_per_node = static_cast<std::uint32_t>(clients->gpus_per_node);
  const auto pass = [&](storage::Direction direction, std::size_t gpus, Bytes bytes, const char* id,
                        const char* label) -> std::optional<Diagnostics> {
    clients->nodes = std::max<std::uint32_t>(1, static_cast<std::uint32_t>(gpus) / gpus_per_node);
    storage::Pattern pattern;
    pattern.direction = direction;
    auto path = storage::path(*clients, *sync.mount, pattern);
    if (!path) return path.error();
    const storage::Movement movement{label, std::move(*path), clients->nodes,
                                     bytes / static_cast<double>(clients->nodes)};
    result.parts.children.push_back(storage::leaf(id, label, storage::run_alone(movement)));
    return std::nullopt;
  };
  const double replicas =
      std::max(1.0, static_cast<double>(sync.rollout_gpus.size()) / sync.engine.gpus());
  if (auto faults = pass(storage::Direction::write, sync.trainer_gpus.size(), weights,
                         "step.sync.write", "Weights written to storage"))
    return fail(std::move(*faults));
  if (auto faults = pass(storage::Direction::read, sync.rollout_gpus.size(), weights * replicas,
                         "step.sync.read", "Weights read by every replica"))
    return fail(std::move(*faults));
  result.moved = weights * replicas;
  return result;
}

}  // namespace

std::string_view name(SyncPath path) {
  switch (path) {
    case SyncPath::broadcast:
      return "broadcast";
    case SyncPath::reshard:
      return "reshard";
    case SyncPath::storage:
      break;
  }
  return "storage";
}

double tensor_count(const model::Transformer& model) {
  const auto layers = static_cast<double>(model.layers);
  const auto moe = static_cast<double>(model.moe_layers());
  const double mlp = model.gated_mlp ? 3.0 : 2.0;
  // Projections of queries, keys, values and the output, and two norms; latent ones have more.
  double attention = 4.0 + model.norms_per_layer + (model.qk_norm ? 2.0 : 0.0);
  if (model.latent_attention) attention += 3.0;
  double count = 3.0 + layers * attention + (layers - moe) * mlp;
  if (model.experts) {
    const double shared = model.experts->shared > 0 ? mlp : 0.0;
    count += moe * (static_cast<double>(model.experts->count) * mlp + shared + 1.0);
  }
  return count;
}

Result<SyncTime> sync_time(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                           const WeightSync& sync) {
  const Bytes weights(model::count_parameters(*sync.model).total * sync.weight_bytes);
  Result<SyncTime> result = [&]() -> Result<SyncTime> {
    switch (sync.path) {
      case SyncPath::broadcast:
        return broadcast(catalog, cluster, sync, weights);
      case SyncPath::reshard:
        return reshard(cluster, sync, weights);
      case SyncPath::storage:
        break;
    }
    return through_storage(catalog, cluster, sync, weights);
  }();
  if (!result) return result;
  const double tensors = tensor_count(*sync.model);
  result->parts.id = "step.sync";
  result->parts.label = "Weights to the engines";
  result->parts.children.push_back(sync_leaf(
      "step.sync.tensors", "Naming, slicing and loading tensors", sync.per_tensor * tensors, "host",
      fmt::format("{:.0f} tensors x {:.4g} ms", tensors, sync.per_tensor / milliseconds(1.0))));
  result->time = result->parts.time();
  result->least = result->time + (sync.per_tensor_least - sync.per_tensor) * tensors;
  result->most = result->time + (sync.per_tensor_most - sync.per_tensor) * tensors;
  return result;
}

}  // namespace flowplan::posttraining
