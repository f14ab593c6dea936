#include "flowplan/collective/expert_parallel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include <fmt/format.h>

namespace flowplan::collective {
namespace {

using catalog::Constants;

constexpr std::string_view kind_of_sets = "expert_parallel";
constexpr double per_gbyte = 1e9;
/// Line rates that differ by less than this are the same fabric.
constexpr double same_line = 0.05;

/// How much of a GPU's traffic takes which link, and in how many messages.
struct StageLoad {
  double network = 0.0;   ///< bytes out of the NICs
  double own_node = 0.0;  ///< bytes that stay on the node and that some proxies move all the same
  double nvlink_wire = 0.0, nvlink_logical = 0.0;  ///< without and with the GPU's own share
  double messages = 0.0;
};

StageLoad load_of(const ExpertGroup& group, const ExpertTraffic& traffic, double element_bytes,
                  bool copy_an_expert) {
  const double nodes = group.nodes;
  const double ranks = nodes * group.gpus_per_node;
  const double away = (nodes - 1.0) / nodes;
  const double own_bytes = traffic.tokens * traffic.hidden * element_bytes;
  StageLoad load;
  if (copy_an_expert) {
    load.network = own_bytes * traffic.top_k * away;
    load.own_node = own_bytes * traffic.top_k / nodes;
    load.nvlink_wire = own_bytes * traffic.top_k * (group.gpus_per_node - 1.0) / ranks;
    load.nvlink_logical = load.nvlink_wire;
  } else {
    const ExpertCopies copies = expert_copies(group, traffic);
    load.network = own_bytes * copies.nodes * away;
    load.own_node = own_bytes * copies.nodes / nodes;
    load.nvlink_logical = own_bytes * copies.ranks;
    load.nvlink_wire = load.nvlink_logical * (group.gpus_per_node - 1.0) / group.gpus_per_node;
  }
  load.messages = traffic.tokens * traffic.top_k * away;
  return load;
}

/// A set's figures for one mode and one stage, carried over to the group's line rates.
class StageLaw {
 public:
  StageLaw(const Constants& set, ExpertMode mode, std::size_t stage, const ExpertGroup& group)
      : set_(set),
        prefix_(fmt::format("{}.", name(mode))),
        stage_(stage),
        nic_scale_(group.nic.value() / (set.at("net.line_gbytes_per_s") * per_gbyte)),
        nvlink_scale_(group.nvlink.value() / (set.at("nvlink.line_gbytes_per_s") * per_gbyte)),
        group_(group) {}

  [[nodiscard]] bool copy_an_expert() const { return set_.at(prefix_ + "copy_an_expert") > 0.0; }

  [[nodiscard]] ExpertStage time(const StageLoad& load) const {
    ExpertStage result;
    result.network = Bytes(load.network);
    result.nvlink = Bytes(load.nvlink_wire);
    double longest = 0.0;
    const auto bound = [&](double seconds, std::string_view what) {
      if (seconds <= longest) return;
      longest = seconds;
      result.bound = what;
    };
    bound(load.nvlink_logical / rate("nvlink_gbytes_per_s", nvlink_scale_), "nvlink");
    bound(load.nvlink_wire / (group_.nvlink.value() * set_.at("nvlink.usable_fraction")),
          "nvlink line rate");
    double start = figure("start_us");
    if (group_.nodes > 1) {
      const double moved = load.network + figure("own_node_fraction") * load.own_node;
      bound(moved / rate("net_gbytes_per_s", nic_scale_), "network");
      bound(load.network / (group_.nic.value() * set_.at("net.usable_fraction")),
            "network line rate");
      start += figure("net_start_us") + figure("net_doubling_us") * std::log2(group_.nodes);
      if (const double per_us = figure("messages_per_us"); per_us > 0.0) {
        const double crowd = std::pow(group_.nodes, set_.at(prefix_ + "message_node_exponent"));
        bound(microseconds(load.messages * crowd / per_us).value(), "messages");
      }
    }
    result.time = microseconds(start) + Seconds(longest);
    return result;
  }

 private:
  [[nodiscard]] double figure(std::string_view what) const {
    const auto values = set_.table(prefix_ + std::string(what));
    return values[std::min(stage_, values.size() - 1)];
  }
  [[nodiscard]] double rate(std::string_view what, double scale) const {
    return figure(what) * per_gbyte * scale;
  }

  const Constants& set_;
  std::string prefix_;
  std::size_t stage_;
  double nic_scale_, nvlink_scale_;
  const ExpertGroup& group_;
};

struct SetChoice {
  const Constants* set = nullptr;
  double distance = std::numeric_limits<double>::infinity();
};

double apart(BytesPerSecond rate, double line_gbytes) {
  return std::abs(std::log(rate.value() / (line_gbytes * per_gbyte)));
}

/// Inside a node the GPUs' ports decide which set is near; across nodes the transport first, then
/// the NICs' line rate, then the version of EFA and the ports.
double distance(const Constants& set, const ExpertGroup& group) {
  constexpr double other_transport = 100.0, other_version = 0.4, port_weight = 0.01;
  const double ports = apart(group.nvlink, set.at("nvlink.line_gbytes_per_s"));
  if (group.nodes == 1) return ports;
  const double version = set.at("net.efa_version");
  const bool same_transport = (version > 0.0) == (group.efa_version > 0);
  return (same_transport ? 0.0 : other_transport) +
         apart(group.nic, set.at("net.line_gbytes_per_s")) +
         other_version * std::abs(version - group.efa_version) + port_weight * ports;
}

Result<SetChoice> nearest_set(const catalog::Catalog& catalog, ExpertBackend backend,
                              const ExpertGroup& group) {
  SetChoice best;
  for (const std::string& id : catalog.constants_ids(kind_of_sets)) {
    const auto set = catalog.constants(id);
    if (!set) return fail(set.error());
    if ((*set)->at("backend") != static_cast<double>(backend)) continue;
    const double away = distance(**set, group);
    if (away < best.distance) best = {*set, away};
  }
  if (best.set != nullptr) return best;
  return fail(error(Code::bad_collective,
                    fmt::format("no constants for expert parallelism by {}", name(backend)),
                    "sets of kind expert_parallel in the catalog"));
}

/// What measurements of the set say nothing about; empty when they do.
std::string carried_over(const Constants& set, const ExpertGroup& group, ExpertMode mode) {
  const std::string measured = fmt::format("{}.measured", name(mode));
  const auto nodes = set.table(measured);  // of one node, of several
  const bool have = nodes[group.nodes > 1 ? 1 : 0] > 0.0;
  const double line =
      set.at(group.nodes > 1 ? "net.line_gbytes_per_s" : "nvlink.line_gbytes_per_s");
  const BytesPerSecond own = group.nodes > 1 ? group.nic : group.nvlink;
  const bool same_version =
      group.nodes == 1 || set.at("net.efa_version") == static_cast<double>(group.efa_version);
  if (have && same_version && apart(own, line) < same_line) return {};
  return fmt::format(
      "{} has no rows for {} at {:.4g} GB/s a GPU: rates of {} ({:.4g} GB/s) carried "
      "over as fractions of the line",
      name(mode), group.nodes > 1 ? "a network" : "NVLink", own.value() / per_gbyte, set.id(),
      line);
}

std::optional<std::string> fault_of(const ExpertGroup& group, const ExpertTraffic& traffic) {
  if (group.nodes < 1 || group.gpus_per_node < 1) return "the group needs nodes and GPUs";
  if (group.nodes * group.gpus_per_node < 2) return "a group of one GPU sends nothing";
  const auto positive = [](double value) { return std::isfinite(value) && value > 0.0; };
  if (!positive(traffic.tokens) || !positive(traffic.hidden))
    return "tokens and hidden size are > 0";
  if (!positive(traffic.dispatch_bytes) || !positive(traffic.combine_bytes)) {
    return "bytes of an element are > 0";
  }
  if (traffic.top_k < 1) return "top-k is at least 1";
  if (traffic.experts != 0 && traffic.experts < traffic.top_k) return "fewer experts than top-k";
  if (traffic.max_nodes < 0) return "the most nodes of a token are >= 0";
  if (group.gpus_per_node > 1 && !positive(group.nvlink.value()))
    return "the NVLink rate is not known";
  if (group.nodes > 1 && !positive(group.nic.value())) return "the NICs' rate is not known";
  return std::nullopt;
}

/// Probability that none of k experts is in a part of 1/`parts` of `experts`.
double none_in_a_part(double experts, double parts, int k) {
  if (experts <= 0.0) return std::pow(1.0 - 1.0 / parts, k);
  double probability = 1.0;
  for (int i = 0; i < k; ++i)
    probability *= std::max(0.0, (experts - experts / parts - i) / (experts - i));
  return probability;
}

}  // namespace

std::string_view name(ExpertBackend backend) {
  switch (backend) {
    case ExpertBackend::deepep:
      return "deepep";
    case ExpertBackend::deepep_v2:
      return "deepep-v2";
    case ExpertBackend::uccl:
      return "uccl";
    case ExpertBackend::nvshmem:
      return "nvshmem";
    case ExpertBackend::nccl:
      break;
  }
  return "nccl";
}

std::string_view name(ExpertMode mode) {
  return mode == ExpertMode::normal ? "normal" : "low_latency";
}

std::optional<ExpertBackend> find_expert_backend(std::string_view text) {
  for (const ExpertBackend backend : all_expert_backends) {
    if (name(backend) == text) return backend;
  }
  return std::nullopt;
}

ExpertGroup expert_group(const catalog::Catalog& catalog, const catalog::Instance& instance,
                         int nodes, int gpus_per_node) {
  ExpertGroup group;
  group.nodes = nodes;
  group.gpus_per_node = gpus_per_node;
  group.nic = instance.efa_per_gpu();
  const catalog::Figure& port = catalog.gpu_of(instance).nvlink_gbytes_per_s;
  if (port) group.nvlink = gigabytes_per_second(port.value);
  group.efa_version = instance.efa_version;
  return group;
}

ExpertCopies expert_copies(const ExpertGroup& group, const ExpertTraffic& traffic) {
  const double nodes = traffic.max_nodes > 0 ? std::min(group.nodes, traffic.max_nodes)
                                             : static_cast<double>(group.nodes);
  const double ranks = nodes * group.gpus_per_node;
  // Experts on the nodes that a token may use; never fewer than it takes.
  const double experts = traffic.experts == 0 ? 0.0
                                              : std::max(static_cast<double>(traffic.top_k),
                                                         traffic.experts * nodes / group.nodes);
  return {nodes * (1.0 - none_in_a_part(experts, nodes, traffic.top_k)),
          ranks * (1.0 - none_in_a_part(experts, ranks, traffic.top_k))};
}

Result<ExpertOutcome> expert_parallel(const catalog::Catalog& catalog, ExpertBackend backend,
                                      ExpertMode mode, const ExpertGroup& group,
                                      const ExpertTraffic& traffic) {
  if (const auto fault = fault_of(group, traffic)) {
    return fail(error(Code::bad_collective, fmt::format("expert parallelism: {}", *fault)));
  }
  ExpertGroup known = group;
  // A GPU alone on its node has nothing to send over NVLink: any rate does.
  if (known.nvlink.value() <= 0.0) known.nvlink = gigabytes_per_second(1.0);
  const auto choice = nearest_set(catalog, backend, known);
  if (!choice) return fail(choice.error());
  const Constants& set = *choice->set;
  ExpertOutcome outcome;
  outcome.set = set.id();
  const StageLaw out(set, mode, 0, known), back(set, mode, 1, known);
  outcome.dispatch =
      out.time(load_of(known, traffic, traffic.dispatch_bytes, out.copy_an_expert()));
  outcome.combine =
      back.time(load_of(known, traffic, traffic.combine_bytes, back.copy_an_expert()));
  outcome.note = carried_over(set, known, mode);
  outcome.calibrated = outcome.note.empty();
  outcome.band = outcome.calibrated ? set.at(fmt::format("{}.band_fraction", name(mode)))
                                    : set.at("carried.band_fraction");
  return outcome;
}

}  // namespace flowplan::collective
