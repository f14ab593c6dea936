#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"
#include "flowplan/collective/schedule.hpp"
#include "flowplan/collective/tuner.hpp"

namespace flowplan::collective {
namespace {

constexpr double bytes_per_us_per_gbytes_per_s = 1e3;

/// A modelled cost: latency and algorithm bandwidth (GB/s of the operation's size).
struct Cost {
  double latency_us = 0.0;
  double rate = 0.0;
};

double log2_floor(int value) {
  return std::floor(std::log2(static_cast<double>(value)));
}

/// Algorithm bandwidth of a rate at which each rank sends a ring's volume.
double from_bus(Operation operation, int ranks, double bus) {
  if (operation == Operation::broadcast || operation == Operation::reduce) return bus;
  return bus * ranks / ring_steps(operation, ranks);
}

/// What the plugin adds to a step between nodes.
double plugin_latency(const NcclModel& model, Protocol protocol) {
  const bool flushed = model.plugin_flush && protocol == Protocol::simple;
  return model.plugin_us * (flushed ? 2.0 : 1.0);
}

Cost ring(const NcclModel& model, Operation operation, const Shape& shape, Protocol protocol,
          double size) {
  const std::size_t p = index(protocol), nodes = node_class(shape.nodes);
  const bool across = shape.nodes > 1;
  const double overhead =
      across ? model.overhead_us * (protocol == Protocol::simple ? model.overhead_simple_factor : 1)
             : 0.0;
  const double inside = std::max(model.ring_nvlink_us[p], overhead);
  const double network = shape.per_node == 1 ? model.tree_network_us[p] : model.ring_network_us[p];
  const double crossings = ring_network_steps(operation, shape.nodes);
  Cost cost;
  cost.latency_us = model.ring_base_us[p] +
                    (ring_steps(operation, shape.ranks) - crossings) * inside +
                    crossings * (network + plugin_latency(model, protocol));
  if (across && protocol == Protocol::simple && operation == Operation::all_reduce &&
      size / (model.channels[nodes] * shape.ranks) >= model.simple_latency_from_bytes) {
    cost.latency_us *= model.simple_latency_factor;
  }
  double bus = model.bus[nodes];
  if (protocol == Protocol::ll) bus = std::min(model.ll_max[nodes], model.ring_ll_fraction * bus);
  if (protocol == Protocol::ll128) {
    bus = std::min(model.ring_ll128_fraction * bus,
                   model.channels[nodes] * model.ring_ll128_channel[nodes]);
  }
  cost.rate = from_bus(operation, shape.ranks, bus);
  return cost;
}

Cost tree(const NcclModel& model, const Shape& shape, Protocol protocol, double size) {
  const std::size_t p = index(protocol), nodes = node_class(shape.nodes);
  Cost cost;
  cost.latency_us = model.tree_base_us[p] +
                    2.0 * ((shape.per_node - 1) * model.tree_nvlink_us[p] +
                           log2_floor(shape.nodes) *
                               (model.tree_network_us[p] + plugin_latency(model, protocol)));
  double bus = std::min(model.tree_fraction * model.tree_bus[nodes],
                        model.channels[nodes] * model.tree_channel[nodes]);
  if (protocol == Protocol::ll) bus = std::min(bus / model.tree_ll_divisor, model.ll_max[nodes]);
  if (protocol == Protocol::ll128) {
    bus = std::min(bus * model.tree_ll128_fraction[nodes],
                   model.channels[nodes] * model.tree_ll128_channel[nodes]);
  }
  const std::vector<double>& correction = model.tree_correction[p];
  const double doubling = std::floor(std::log2(size / model.tree_correction_from_bytes));
  if (doubling >= 0.0 && doubling < static_cast<double>(correction.size())) {
    bus *= correction[static_cast<std::size_t>(doubling)];
  }
  constexpr double up_and_down = 0.5;
  cost.rate = bus * up_and_down;
  return cost;
}

Cost aggregated_trees(const NcclModel& model, const Shape& shape, Protocol protocol) {
  const double step =
      model.tree_network_us[index(protocol)] + plugin_latency(model, protocol);  // one rank a node
  return {model.pat_base_us +
              std::log2(static_cast<double>(shape.nodes)) * step / model.pat_network_divisor +
              shape.ranks * model.pat_rank_us,
          model.pat_fraction * model.bus[node_class(shape.nodes)]};
}

/// NVLS and NVLS tree: channels times what the slowest part of one carries.
Cost nvls(const Stack& stack, Operation operation, const Shape& shape, bool across) {
  const NcclModel& model = stack.model;
  const double channels = stack.nvls.channels;
  const double inside = model.bus[0] * model.nvls_efficiency * (channels - 1.0) / channels * 2.0;
  Cost cost{model.nvls_us, inside};
  if (across) {
    const std::size_t nodes = node_class(shape.nodes);
    const double fabric = model.bus[node_class(3)] * (shape.nodes <= 2 ? 2.0 : 1.0);
    cost.latency_us += 2.0 * log2_floor(shape.nodes) *
                       (model.nvls_tree_network_us + plugin_latency(model, Protocol::simple));
    cost.rate = std::min({inside, fabric, channels * model.nvls_tree_channel[nodes]});
  }
  cost.rate = from_bus(operation, shape.ranks, cost.rate);
  return cost;
}

}  // namespace

Seconds nccl_cost(const Stack& stack, Operation operation, const Shape& shape, Bytes size,
                  Algorithm algorithm, Protocol protocol) {
  Cost cost;
  switch (algorithm) {
    case Algorithm::ring:
      cost = ring(stack.model, operation, shape, protocol, size.value());
      break;
    case Algorithm::tree:
      cost = tree(stack.model, shape, protocol, size.value());
      break;
    case Algorithm::nvls:
      cost = nvls(stack, operation, shape, false);
      break;
    case Algorithm::nvls_tree:
      cost = nvls(stack, operation, shape, true);
      break;
    case Algorithm::pat:
      cost = aggregated_trees(stack.model, shape, protocol);
      break;
    case Algorithm::pairwise:
    case Algorithm::pxn:
    case Algorithm::hierarchical:
    case Algorithm::collnet:
      FLOWPLAN_ASSERT(false && "nothing that NCCL's model chooses");
      break;
  }
  FLOWPLAN_ASSERT(cost.rate > 0.0);
  return microseconds(cost.latency_us + size.value() / (bytes_per_us_per_gbytes_per_s * cost.rate));
}

}  // namespace flowplan::collective
