#include "flowplan/collective/tuner.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flowplan::collective {
namespace {

std::string label(Algorithm algorithm, Protocol protocol) {
  return fmt::format("{}/{}", name(algorithm), name(protocol));
}

/// Fewer channels while a size would not keep all of their threads busy.
int channels_for(const Stack& stack, const Shape& shape, Bytes size, Algorithm algorithm,
                 Protocol protocol) {
  if (algorithm == Algorithm::nvls) return stack.nvls.channels;
  if (algorithm == Algorithm::nvls_tree) return stack.network.nvls_tree_channels;
  const std::size_t p = index(protocol);
  const double all = stack.model.channels[node_class(shape.nodes)];
  double share = stack.model.threads[p] * stack.model.bytes_per_thread[p];
  if (algorithm == Algorithm::ring && protocol == Protocol::ll) share *= shape.ranks;
  return static_cast<int>(std::clamp(std::floor(size.value() / share), 1.0, all));
}

/// The choice in force at a size; null where the table says nothing.
const Switch* at_size(const SwitchRow& row, Bytes size) {
  const Switch* found = nullptr;
  for (const Switch& next : row.switches) {
    if (next.from_bytes <= size.value()) found = &next;
  }
  return found;
}

struct Filter {
  const Stack& stack;
  Operation operation;
  const Shape& shape;
  bool nvls;
  std::optional<Algorithm> algorithm;
  std::optional<Protocol> protocol;

  bool allows(Algorithm a, Protocol p) const {
    if (algorithm && *algorithm != a) return false;
    if (protocol && *protocol != p) return false;
    if (!available(stack, operation, shape, nvls, a, p)) return false;
    // NCCL itself takes NVLS only from some count of ranks on; forcing it works below.
    return algorithm || a != Algorithm::nvls || shape.ranks >= stack.nvls.min_ranks;
  }
};

Diagnostic nothing_left(const Filter& filter) {
  std::string have;
  for (const Algorithm a : all_algorithms) {
    for (const Protocol p : all_protocols) {
      if (!available(filter.stack, filter.operation, filter.shape, filter.nvls, a, p)) continue;
      have += (have.empty() ? "" : ", ") + label(a, p);
    }
  }
  const std::string wanted =
      fmt::format("{}/{}", filter.algorithm ? name(*filter.algorithm) : "any",
                  filter.protocol ? name(*filter.protocol) : "any");
  return error(Code::bad_collective,
               fmt::format("{} of {} ranks on {} node{} cannot run as {}", name(filter.operation),
                           filter.shape.ranks, filter.shape.nodes,
                           filter.shape.nodes == 1 ? "" : "s", wanted),
               "available: " + have);
}

/// The least cost by NCCL's model among what the filter allows.
std::optional<Choice> cheapest(const Filter& filter, Bytes size) {
  std::optional<Choice> best;
  Seconds least{}, second{};
  std::string runner_up;
  for (const Algorithm a : all_algorithms) {
    for (const Protocol p : all_protocols) {
      if (!filter.allows(a, p)) continue;
      const Seconds cost = nccl_cost(filter.stack, filter.operation, filter.shape, size, a, p);
      if (!best || cost < least) {
        if (best) second = least, runner_up = label(best->algorithm, best->protocol);
        best = Choice{a, p, 0, {}};
        least = cost;
      } else if (runner_up.empty() || cost < second) {
        second = cost, runner_up = label(a, p);
      }
    }
  }
  if (!best) return best;
  best->reason = runner_up.empty()
                     ? "the only choice"
                     : fmt::format("NCCL's cost model: {:.4g} us, next {} {:.4g} us",
                                   least.value() * 1e6, runner_up, second.value() * 1e6);
  return best;
}

/// NCCL has no choice to make for all-to-all: PXN where it can.
std::optional<Choice> pairs(const Filter& filter) {
  if (filter.allows(Algorithm::pxn, Protocol::simple)) {
    return Choice{Algorithm::pxn, Protocol::simple, 0,
                  "pairwise, by the GPU at the receiver's place: rails only (PXN)"};
  }
  if (filter.allows(Algorithm::pairwise, Protocol::simple)) {
    return Choice{Algorithm::pairwise, Protocol::simple, 0, "pairwise, each rank by its own way"};
  }
  return std::nullopt;
}

/// What the tuner plugin's table says, if it has one for this shape and its choice is allowed.
std::optional<Choice> from_table(const Filter& filter, Bytes size, std::string& unmodelled) {
  const Tuner& tuner = filter.stack.tuner;
  if (filter.shape.nodes < std::max(tuner.min_nodes, 2)) return std::nullopt;
  const SwitchTable* table = tuner.find(filter.operation, filter.shape.per_node);
  if (table == nullptr || filter.shape.ranks != filter.shape.nodes * filter.shape.per_node) {
    return std::nullopt;
  }
  const SwitchRow row = row_at(*table, filter.shape.nodes);
  const Switch* found = at_size(row, size);
  if (found == nullptr) return std::nullopt;
  if (!found->algorithm) {
    unmodelled = found->name;
    return std::nullopt;
  }
  if (!filter.allows(*found->algorithm, found->protocol)) return std::nullopt;
  return Choice{*found->algorithm, found->protocol, 0,
                fmt::format("the plugin's tuner: {} from {:.4g} MiB on {} nodes",
                            label(*found->algorithm, found->protocol),
                            found->from_bytes / mebibytes(1.0).value(), filter.shape.nodes)};
}

}  // namespace

bool available(const Stack& stack, Operation operation, const Shape& shape, bool nvls,
               Algorithm algorithm, Protocol protocol) {
  if (operation == Operation::send_recv) {
    return algorithm == Algorithm::ring && protocol == Protocol::simple;
  }
  const bool across = shape.nodes > 1;
  if (operation == Operation::all_to_all) {
    if (protocol != Protocol::simple) return false;
    return algorithm == Algorithm::pairwise ||
           (algorithm == Algorithm::pxn && across && shape.per_node > 1);
  }
  const bool switches = nvls && stack.nvls.channels > 0;
  if (protocol == Protocol::ll128 && across && !stack.model.ll128_across_nodes) return false;
  switch (algorithm) {
    case Algorithm::ring:
      return true;
    case Algorithm::tree:
      return operation == Operation::all_reduce;
    case Algorithm::nvls:
      return switches && !across && operation == Operation::all_reduce &&
             protocol == Protocol::simple;
    case Algorithm::nvls_tree:
      return switches && across && shape.per_node > 1 && operation == Operation::all_reduce &&
             protocol == Protocol::simple;
    case Algorithm::pairwise:
    case Algorithm::pxn:
      return false;
  }
  return false;
}

Result<Choice> choose(const Stack& stack, Operation operation, const Shape& shape, Bytes size,
                      bool nvls, std::optional<Algorithm> algorithm,
                      std::optional<Protocol> protocol) {
  const Filter filter{stack, operation, shape, nvls, algorithm, protocol};
  std::string unmodelled;
  std::optional<Choice> choice =
      operation == Operation::all_to_all ? pairs(filter) : from_table(filter, size, unmodelled);
  if (!choice && operation != Operation::all_to_all) choice = cheapest(filter, size);
  if (!choice) return fail(nothing_left(filter));
  if (algorithm || protocol) choice->reason = "forced; " + choice->reason;
  if (!unmodelled.empty()) {
    choice->reason += fmt::format(" (the plugin would take {}, which is not modelled)", unmodelled);
  }
  choice->channels = channels_for(stack, shape, size, choice->algorithm, choice->protocol);
  return *choice;
}

}  // namespace flowplan::collective
