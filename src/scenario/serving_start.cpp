#include "serving_start.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "flowplan/storage/model_load.hpp"
#include "places.hpp"

namespace flowplan::scenario {

namespace {

/// Nodes that hold some GPUs.
std::uint32_t nodes_holding(int gpus, const storage::Clients& clients) {
  return static_cast<std::uint32_t>((gpus + clients.gpus_per_node - 1) / clients.gpus_per_node);
}

}  // namespace

Result<void> add_serving_start(const catalog::Catalog& catalog, const Scenario& scenario,
                               const topology::Cluster& cluster, Answer& answer) {
  if (!scenario.storage || !scenario.storage->weights) return {};
  const WeightsSection& section = *scenario.storage->weights;
  ServingAnswer& serving = *answer.serving;
  auto clients = storage::clients_of(catalog, cluster);
  if (!clients) return fail(std::move(clients.error()));

  storage::LoadPlan plan;
  // An instance may share a node with others, or a worker of another kind: what reads is the node.
  const int ranks = serving.layout.gpus();
  const bool whole_nodes =
      ranks % clients->gpus_per_node == 0 || clients->gpus_per_node % ranks == 0;
  plan.ranks = whole_nodes && !serving.prefill ? ranks : clients->gpus_per_node;
  plan.weights = serving.memory.weights.total() * static_cast<double>(plan.ranks);
  plan.presharded = section.presharded;
  plan.store = section.mount;
  plan.loader = section.loader;
  plan.engine_start =
      section.engine_start.value_or(Seconds(clients->defaults->at("load.engine_start_s")));

  const auto start_on = [&](std::uint32_t nodes) -> Result<storage::Answer> {
    storage::Clients some = *clients;
    some.nodes = nodes;
    auto loaded = storage::load_model(some, plan);
    if (!loaded)
      return fail(placed(std::move(loaded.error()), scenario.document, "/storage/weights/store"));
    return loaded;
  };
  const std::uint32_t one = nodes_holding(std::max(ranks, plan.ranks), *clients);
  auto more = start_on(one);
  if (!more) return fail(std::move(more.error()));
  // Whole units of the nodes that an instance takes.
  const std::uint32_t all = (nodes_holding(serving.gpus, *clients) + one - 1) / one * one;
  auto whole = start_on(all);
  if (!whole) return fail(std::move(whole.error()));
  ServingStart start;
  start.mount = storage::describe(section.mount);
  start.nodes = static_cast<int>(all);
  start.nodes_of_one = static_cast<int>(one);
  start.engine = plan.engine_start;
  start.all = std::move(*whole);
  start.one_more = std::move(*more);
  if (!section.engine_start) {
    answer.estimate.defaulted.push_back({"storage.weights.engine_start",
                                         std::to_string(plan.engine_start.value()) + " s",
                                         "the catalog's storage-defaults"});
  }
  serving.start = std::move(start);
  return {};
}

}  // namespace flowplan::scenario
