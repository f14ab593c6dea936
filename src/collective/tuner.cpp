#include "flowplan/collective/tuner.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flowplan::collective {
namespace {

std::string label(Algorithm algorithm, Protocol protocol) {
  return fmt::format("{}/{}", name(algorithm), name(protocol));
}

/// Channels that a large size takes.
int all_channels(const Stack& stack, const Shape& shape, Algorithm algorithm) {
  if (algorithm == Algorithm::nvls) return stack.nvls.channels;
  if (algorithm == Algorithm::nvls_tree) return stack.network.nvls_tree_channels;
  return static_cast<int>(stack.model.channels[node_class(shape.nodes)]);
}

/// Fewer channels while a size would not keep all of their threads busy.
int channels_for(const Stack& stack, const Shape& shape, Bytes size, Algorithm algorithm,
                 Protocol protocol) {
  const int all = all_channels(stack, shape, algorithm);
  if (algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree) return all;
  const std::size_t p = index(protocol);
  double share = stack.model.threads[p] * stack.model.bytes_per_thread[p];
  if (algorithm == Algorithm::ring && protocol == Protocol::ll) share *= shape.ranks;
  return static_cast<int>(std::clamp(std::floor(size.value() / share), 1.0, 1.0 * all));
}

bool gathering(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter;
}

/// What NCCL takes by itself. Reduction in the network's switches has to be asked for, NVLS gains
/// nothing for gathering, and starts at some count of ranks. Of all-to-alls it never runs a
/// hierarchical one: that is for programs which write it as two of NCCL's.
bool eligible(const Stack& stack, Operation operation, const Shape& shape, Algorithm algorithm) {
  if (algorithm == Algorithm::collnet || algorithm == Algorithm::hierarchical) return false;
  if (algorithm != Algorithm::nvls) return true;
  return !gathering(operation) && shape.ranks >= stack.nvls.min_ranks;
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
  const Forced& forced;

  bool allows(Algorithm a, Protocol p) const {
    if (!forced.algorithm.has(a) || !forced.protocol.has(p)) return false;
    if (!available(stack, operation, shape, nvls, a, p)) return false;
    return forced.algorithm.asks_for(a) || eligible(stack, operation, shape, a);
  }
};

/// "RING,TREE", or "any".
template <class T, class Values>
std::string listed(const Allowed<T>& allowed, const Values& values) {
  if (!allowed.stated()) return "any";
  std::string text;
  for (const T value : values) {
    if (allowed.has(value)) text += fmt::format("{}{}", text.empty() ? "" : ",", name(value));
  }
  return text.empty() ? "none" : text;
}

Diagnostic nothing_left(const Filter& filter) {
  std::string have;
  for (const Algorithm a : all_algorithms) {
    for (const Protocol p : all_protocols) {
      if (!available(filter.stack, filter.operation, filter.shape, filter.nvls, a, p)) continue;
      have += (have.empty() ? "" : ", ") + label(a, p);
    }
  }
  const std::string wanted = fmt::format("{}/{}", listed(filter.forced.algorithm, all_algorithms),
                                         listed(filter.forced.protocol, all_protocols));
  return error(Code::bad_collective,
               fmt::format("{} of {} ranks on {} node{} cannot run as {}", name(filter.operation),
                           filter.shape.ranks, filter.shape.nodes,
                           filter.shape.nodes == 1 ? "" : "s", wanted),
               "available: " + have);
}

std::optional<Diagnostic> check_channels(Operation operation, const Forced& forced,
                                         bool point_to_point) {
  if (!forced.channels) return std::nullopt;
  if (point_to_point) {
    return error(Code::bad_collective,
                 fmt::format("channels cannot be forced for {}", name(operation)),
                 "its messages have channels of their own");
  }
  if (*forced.channels >= 1 && *forced.channels <= most_channels) return std::nullopt;
  return error(Code::bad_collective, fmt::format("{} channels", *forced.channels),
               fmt::format("1 to {}", most_channels));
}

/// The least cost by NCCL's model among what the filter allows.
std::optional<Choice> cheapest(const Filter& filter, Bytes size) {
  std::optional<Choice> best;
  Seconds least{}, second{};
  std::string runner_up;
  for (const Algorithm a : all_algorithms) {
    for (const Protocol p : all_protocols) {
      if (a == Algorithm::collnet || !filter.allows(a, p)) continue;
      const Seconds cost = nccl_cost(filter.stack, filter.operation, filter.shape, size, a, p);
      if (!best || cost < least) {
        if (best) second = least, runner_up = label(best->algorithm, best->protocol);
        best = Choice{a, p, 0, 1.0, {}};
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
    return Choice{Algorithm::pxn, Protocol::simple, 0, 1.0,
                  "pairwise, by the GPU at the receiver's place: rails only (PXN)"};
  }
  if (filter.allows(Algorithm::pairwise, Protocol::simple)) {
    return Choice{Algorithm::pairwise, Protocol::simple, 0, 1.0,
                  "pairwise, each rank by its own way"};
  }
  if (filter.allows(Algorithm::hierarchical, Protocol::simple)) {
    return Choice{Algorithm::hierarchical, Protocol::simple, 0, 1.0,
                  "in the node by rails, then rail by rail between nodes"};
  }
  return std::nullopt;
}

/// The one that NCCL would only take when told to.
std::optional<Choice> asked_for(const Filter& filter) {
  if (!filter.allows(Algorithm::collnet, Protocol::simple)) return std::nullopt;
  return Choice{Algorithm::collnet, Protocol::simple, 0, 1.0, "the network's switches reduce"};
}

/// What the tuner plugin's table says, if it has one for this shape and its choice is allowed.
std::optional<Choice> from_table(const Filter& filter, Bytes size) {
  const Tuner& tuner = filter.stack.tuner;
  if (filter.shape.nodes < std::max(tuner.min_nodes, 1)) return std::nullopt;
  const SwitchTable* table = tuner.find(filter.operation, filter.shape.per_node);
  if (table == nullptr || filter.shape.ranks != filter.shape.nodes * filter.shape.per_node) {
    return std::nullopt;
  }
  const SwitchRow row = row_at(*table, filter.shape.nodes);
  const Switch* found = at_size(row, size);
  if (found == nullptr) return std::nullopt;
  if (!filter.allows(found->algorithm, found->protocol)) return std::nullopt;
  return Choice{found->algorithm, found->protocol, 0, 1.0,
                fmt::format("the tuner's table: {} from {:.4g} MiB on {} node{}",
                            label(found->algorithm, found->protocol),
                            found->from_bytes / mebibytes(1.0).value(), filter.shape.nodes,
                            filter.shape.nodes == 1 ? "" : "s")};
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
           ((algorithm == Algorithm::pxn || algorithm == Algorithm::hierarchical) && across &&
            shape.per_node > 1);
  }
  const bool switches = nvls && stack.nvls.channels > 0;
  if (protocol == Protocol::ll128 && across && !stack.model.ll128_across_nodes) return false;
  switch (algorithm) {
    case Algorithm::ring:
      return true;
    case Algorithm::tree:
      return operation == Operation::all_reduce;
    case Algorithm::nvls:
      if (gathering(operation) && stack.nvls.gather_rate <= 0.0) return false;
      return switches && !across && protocol == Protocol::simple &&
             (operation == Operation::all_reduce || gathering(operation));
    case Algorithm::nvls_tree:
      return switches && across && shape.per_node > 1 && operation == Operation::all_reduce &&
             protocol == Protocol::simple;
    case Algorithm::pat:
      return across && shape.per_node == 1 && gathering(operation) &&
             protocol == Protocol::simple && stack.model.pat_fraction > 0.0;
    case Algorithm::collnet:
      return across && operation == Operation::all_reduce && protocol == Protocol::simple &&
             stack.network.collnet_rate > 0.0;
    case Algorithm::pairwise:
    case Algorithm::pxn:
    case Algorithm::hierarchical:
      return false;
  }
  return false;
}

std::vector<Candidate> candidates(const Stack& stack, Operation operation, const Shape& shape,
                                  Bytes size, bool nvls) {
  std::vector<Candidate> out;
  for (const Algorithm a : all_algorithms) {
    for (const Protocol p : all_protocols) {
      if (!available(stack, operation, shape, nvls, a, p)) continue;
      Candidate candidate{a, p, std::nullopt, eligible(stack, operation, shape, a)};
      const bool modelled = operation != Operation::all_to_all && a != Algorithm::collnet &&
                            operation != Operation::send_recv;
      if (modelled) candidate.cost = nccl_cost(stack, operation, shape, size, a, p);
      out.push_back(candidate);
    }
  }
  return out;
}

Result<Choice> choose(const Stack& stack, Operation operation, const Shape& shape, Bytes size,
                      bool nvls, const Forced& forced) {
  const bool point_to_point =
      operation == Operation::all_to_all || operation == Operation::send_recv;
  if (auto fault = check_channels(operation, forced, point_to_point)) return fail(*fault);
  const Filter filter{stack, operation, shape, nvls, forced};
  std::optional<Choice> choice =
      operation == Operation::all_to_all ? pairs(filter) : from_table(filter, size);
  if (!choice && operation != Operation::all_to_all) choice = cheapest(filter, size);
  if (!choice) choice = asked_for(filter);
  if (!choice) return fail(nothing_left(filter));
  if (forced.any()) choice->reason = "forced; " + choice->reason;
  choice->channels = channels_for(stack, shape, size, choice->algorithm, choice->protocol);
  if (forced.channels) {
    const int all = all_channels(stack, shape, choice->algorithm);
    choice->channels = *forced.channels;
    choice->channel_share = std::min(1.0, *forced.channels / static_cast<double>(all));
  }
  return *choice;
}

}  // namespace flowplan::collective
