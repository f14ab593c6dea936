#include "flowplan/collective/stack.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string_view>

#include <fmt/format.h>

namespace flowplan::collective {
namespace {

constexpr std::string_view tuner_prefix = "tuner.";
constexpr double bytes_per_mib = 1024.0 * 1024.0;

/// Takes figures out of a set and remembers what was missing.
class Reader {
 public:
  explicit Reader(const catalog::Constants& constants) : constants_(constants) {}

  double number(std::string_view name, double least = 0.0) {
    const std::vector<double>& values = list(name);
    if (values.empty()) return least;
    if (values.size() != 1) fault(name, "is not one number");
    if (values.front() < least) fault(name, fmt::format("is below {}", least));
    return values.front();
  }

  double positive(std::string_view name) {
    return number(name, std::numeric_limits<double>::min());
  }

  std::array<double, 3> three(std::string_view name, bool above_zero = false) {
    const std::vector<double>& values = list(name);
    if (values.empty()) return {};
    if (values.size() != 3) {
      fault(name, "does not have three numbers");
      return {};
    }
    const double least = *std::min_element(values.begin(), values.end());
    if (least < 0.0) fault(name, "is negative");
    if (above_zero && least == 0.0) fault(name, "is not above 0");
    return {values[0], values[1], values[2]};
  }

  std::array<double, 3> three_positive(std::string_view name) { return three(name, true); }

  [[nodiscard]] bool has(std::string_view name) const { return constants_.find(name) != nullptr; }

  const std::vector<double>& list(std::string_view name) {
    static const std::vector<double> none;
    const catalog::Constants::Entry* entry = constants_.find(name);
    if (entry == nullptr || entry->values.empty()) {
      fault(name, "is missing");
      return none;
    }
    return entry->values;
  }

  void fault(std::string_view name, std::string_view what) {
    faults_.push_back(error(Code::catalog_invalid, fmt::format("collective stack `{}`: `{}` {}",
                                                               constants_.id(), name, what)));
  }

  [[nodiscard]] bool faulty() const { return !faults_.empty(); }
  [[nodiscard]] Diagnostics take() { return std::move(faults_); }

 private:
  const catalog::Constants& constants_;
  Diagnostics faults_;
};

NcclModel read_model(Reader& read) {
  NcclModel m{};
  m.tree_base_us = read.three("model.tree.base_us");
  m.ring_base_us = read.three("model.ring.base_us");
  m.tree_nvlink_us = read.three("model.tree.nvlink_step_us");
  m.ring_nvlink_us = read.three("model.ring.nvlink_step_us");
  m.tree_network_us = read.three("model.tree.network_step_us");
  m.ring_network_us = read.three("model.ring.network_step_us");
  m.nvls_us = read.number("model.nvls.nvlink_step_us");
  m.nvls_tree_network_us = read.number("model.nvls_tree.network_step_us");
  m.overhead_us = read.number("model.network_overhead_us");
  m.overhead_simple_factor = read.number("model.network_overhead_simple_factor");
  m.simple_latency_factor = read.number("model.ring_simple_latency_factor");
  m.simple_latency_from_bytes = read.number("model.ring_simple_latency_from_bytes");
  m.plugin_us = read.number("model.plugin_us");
  m.plugin_flush = read.number("model.plugin_flush") != 0.0;
  m.ll128_across_nodes = read.number("model.ll128_across_nodes") != 0.0;
  m.ring_ll_fraction = read.positive("model.ring.ll_fraction");
  m.ring_ll128_fraction = read.positive("model.ring.ll128_fraction");
  m.tree_fraction = read.positive("model.tree.fraction");
  m.tree_ll_divisor = read.positive("model.tree.ll_divisor");
  m.tree_ll128_fraction = read.three_positive("model.tree.ll128_fraction");
  m.tree_correction = {read.list("model.tree.correction_ll"),
                       read.list("model.tree.correction_ll128"),
                       read.list("model.tree.correction_simple")};
  m.tree_correction_from_bytes = read.positive("model.tree.correction_from_bytes");
  m.threads = read.three_positive("model.threads");
  m.bytes_per_thread = read.three_positive("model.bytes_per_thread");
  m.bus = read.three_positive("model.bus_gbytes_per_s");
  m.channels = read.three_positive("model.channels");
  m.ll_max = read.three_positive("model.ll_max_gbytes_per_s");
  m.ring_ll128_channel = read.three_positive("model.ring.ll128_channel_gbytes_per_s");
  m.tree_channel = read.three_positive("model.tree.channel_gbytes_per_s");
  m.tree_ll128_channel = read.three_positive("model.tree.ll128_channel_gbytes_per_s");
  m.nvls_tree_channel = read.three("model.nvls_tree.channel_gbytes_per_s");
  m.nvls_efficiency = read.number("model.nvls.efficiency");
  m.tree_bus = read.has("model.tree.bus_gbytes_per_s")
                   ? read.three_positive("model.tree.bus_gbytes_per_s")
                   : m.bus;
  m.pat_base_us = read.number("model.pat.base_us");
  m.pat_network_divisor = read.positive("model.pat.network_divisor");
  m.pat_rank_us = read.number("model.pat.rank_us");
  m.pat_fraction = read.number("model.pat.fraction");
  return m;
}

ChunkRule read_chunk_rule(Reader& read, const std::string& prefix) {
  ChunkRule rule{read.positive(prefix + ".chunk_bytes"), read.list(prefix + ".chunk_rule_loops"),
                 read.list(prefix + ".chunk_rule_bytes")};
  if (rule.loops.size() != rule.bytes.size()) {
    read.fault(prefix + ".chunk_rule_bytes", "and its loops differ in length");
  }
  return rule;
}

NodeLaw read_node(Reader& read) {
  NodeLaw n{};
  n.line = read.positive("nvlink.line_gbytes_per_s");
  n.launch_us = read.number("launch_us");
  n.host_us = read.number("host.launch_us");
  n.host_overlap = read.positive("host.overlap");
  n.growth_us = read.number("ring.growth_us");
  n.growth_from_bytes = read.positive("ring.growth_from_bytes");
  n.growth_to_bytes = read.positive("ring.growth_to_bytes");
  n.step_us = read.three("ring.step_us");
  n.rate = read.three_positive("ring.gbytes_per_s");
  n.port_rate = read.positive("ring.port_gbytes_per_s");
  n.own_shard = read.number("ring.own_shard_fraction");
  n.overlap = read.positive("ring.overlap");
  n.ll_hidden = read.number("ring.ll_hidden_fraction");
  n.p2p_extra_us = read.number("p2p.launch_extra_us");
  n.p2p_peer_us = read.number("p2p.peer_us");
  n.p2p_growth_us = read.number("p2p.growth_us");
  n.p2p_growth_from_bytes = read.positive("p2p.growth_from_bytes");
  n.p2p_growth_to_bytes = read.positive("p2p.growth_to_bytes");
  n.p2p_rate = read.positive("p2p.gbytes_per_s");
  n.exchange_extra_us = read.number("alltoall.launch_extra_us");
  n.exchange_peer_us = read.number("alltoall.peer_us");
  n.exchange_growth_us = read.number("alltoall.growth_us");
  n.exchange_rate = read.positive("alltoall.gbytes_per_s");
  n.exchange_own_shard = read.number("alltoall.own_shard_fraction");
  n.exchange_overlap = read.positive("alltoall.overlap");
  return n;
}

NvlsLaw read_nvls(Reader& read) {
  NvlsLaw v{};
  v.channels = static_cast<int>(read.number("nvls.channels"));
  v.min_ranks = static_cast<int>(read.number("nvls.min_ranks"));
  v.step_us = read.number("nvls.step_us");
  v.step_chunk_bytes = read.positive("nvls.step_chunk_bytes");
  v.step_full_ranks = read.positive("nvls.step_full_ranks");
  v.extra_loops = read.number("nvls.extra_loops");
  v.whole_loops_below = read.number("nvls.whole_loops_below");
  v.overlap = read.positive("nvls.overlap");
  v.rate_ranks = read.list("nvls.rate_ranks");
  v.rate = read.list("nvls.gbytes_per_s");
  v.gather_rate = read.number("nvls.gather_gbytes_per_s");
  v.chunk = read_chunk_rule(read, "nvls");
  if (v.rate.size() != v.rate_ranks.size()) {
    read.fault("nvls.gbytes_per_s", "and nvls.rate_ranks differ in length");
  }
  return v;
}

NetworkLaw read_network(Reader& read) {
  NetworkLaw n{};
  n.line = read.positive("net.line_gbytes_per_s");
  n.launch_us = read.number("net.launch_us");
  n.ring_inner_step_us = read.three("ring.net_inner_step_us");
  n.ring_step_us = read.three("ring.net_step_us");
  n.ring_rate = read.three_positive("ring.net_gbytes_per_s");
  n.gather_rate = read.three_positive("ring.net_gather_gbytes_per_s");
  n.ring_overlap = read.three_positive("ring.net_overlap");
  n.tree_step_us = read.number("tree.step_us");
  n.tree_network_step_us = read.number("tree.net_step_us");
  n.tree_rate = read.positive("tree.net_gbytes_per_s");
  n.tree_ll_fraction = read.positive("tree.ll_rate_fraction");
  n.tree_overlap = read.positive("tree.overlap");
  n.nvls_tree_channels = static_cast<int>(read.number("nvls_tree.channels"));
  n.nvls_tree_step_us = read.number("nvls_tree.net_step_us");
  n.nvls_tree_loop_us = read.number("nvls_tree.loop_us");
  n.nvls_tree_rate = read.positive("nvls_tree.gbytes_per_s");
  n.nvls_tree_overlap = read.positive("nvls_tree.overlap");
  n.nvls_tree_chunk = read_chunk_rule(read, "nvls_tree");
  n.all_to_all_us = read.number("alltoall.net_us");
  n.all_to_all_doubling_us = read.number("alltoall.net_doubling_us");
  n.p2p_us = read.number("p2p.net_us");
  n.p2p_rate = read.positive("p2p.net_gbytes_per_s");
  n.p2p_message_factor = read.number("p2p.net_message_factor");
  n.p2p_message_full_bytes = read.positive("p2p.message_full_bytes");
  n.p2p_message_reference_bytes = read.positive("p2p.message_reference_bytes");
  n.collnet_us = read.number("collnet.net_us");
  n.collnet_rate = read.number("collnet.gbytes_per_s");
  return n;
}

Bands read_bands(Reader& read) {
  return {read.three_positive("band.node_percent"),
          read.three_positive("band.node_exchange_percent"),
          read.three_positive("band.net_percent"), read.three_positive("band.net_exchange_percent"),
          read.three_positive("band.carried_percent")};
}

/// Takes "prefix<number>." off the front of `text`.
std::optional<int> take_count(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  text.remove_prefix(prefix.size());
  int value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const auto length = static_cast<std::size_t>(end - text.data());
  if (fault != std::errc{} || length >= text.size() || text[length] != '.') return std::nullopt;
  text.remove_prefix(length + 1);
  return value;
}

/// A name like "all_reduce.ranks8.nodes4.ring_ll128_mib": the sizes at which that choice starts.
struct SwitchName {
  Operation operation{};
  int per_node = 0, nodes = 0;
  Switch choice;
};

std::optional<SwitchName> parse_switch(std::string_view text) {
  SwitchName out;
  const std::size_t dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::optional<Operation> operation = find_operation(text.substr(0, dot));
  if (!operation) return std::nullopt;
  out.operation = *operation;
  text.remove_prefix(dot + 1);
  const std::optional<int> per_node = take_count(text, "ranks");
  const std::optional<int> nodes = take_count(text, "nodes");
  constexpr std::string_view unit = "_mib";
  if (!per_node || !nodes || !text.ends_with(unit)) return std::nullopt;
  out.per_node = *per_node;
  out.nodes = *nodes;
  text.remove_suffix(unit.size());
  out.choice.name = text;
  const std::size_t cut = text.rfind('_');
  if (cut == std::string_view::npos) return std::nullopt;
  const std::optional<Protocol> protocol = find_protocol(text.substr(cut + 1));
  if (!protocol) return std::nullopt;
  out.choice.protocol = *protocol;
  const std::optional<Algorithm> algorithm = find_algorithm(text.substr(0, cut));
  if (!algorithm) return std::nullopt;
  out.choice.algorithm = *algorithm;
  return out;
}

SwitchRow& row_of(Tuner& tuner, const SwitchName& name) {
  auto table = std::find_if(tuner.tables.begin(), tuner.tables.end(), [&](const SwitchTable& t) {
    return t.operation == name.operation && t.per_node == name.per_node;
  });
  if (table == tuner.tables.end()) {
    tuner.tables.push_back({name.operation, name.per_node, {}});
    table = tuner.tables.end() - 1;
  }
  const auto row = std::find_if(table->rows.begin(), table->rows.end(),
                                [&](const SwitchRow& r) { return r.nodes == name.nodes; });
  if (row != table->rows.end()) return *row;
  table->rows.push_back({name.nodes, {}});
  return table->rows.back();
}

Tuner read_tuner(const catalog::Constants& constants, Reader& read) {
  Tuner tuner;
  if (const catalog::Constants::Entry* entry = constants.find("tuner.min_nodes")) {
    tuner.min_nodes = static_cast<int>(entry->values.front());
  }
  for (const catalog::Constants::Entry& entry : constants.entries()) {
    const std::string_view name = entry.name;
    if (!name.starts_with(tuner_prefix) || name == "tuner.min_nodes") continue;
    const std::optional<SwitchName> parsed = parse_switch(name.substr(tuner_prefix.size()));
    if (!parsed) {
      read.fault(name, "is not OPERATION.ranksN.nodesN.ALGORITHM_PROTOCOL_mib");
      continue;
    }
    SwitchRow& row = row_of(tuner, *parsed);
    for (const double mib : entry.values) {
      row.switches.push_back(parsed->choice);
      row.switches.back().from_bytes = mib * bytes_per_mib;
    }
  }
  for (SwitchTable& table : tuner.tables) {
    std::sort(table.rows.begin(), table.rows.end(),
              [](const SwitchRow& a, const SwitchRow& b) { return a.nodes < b.nodes; });
    for (SwitchRow& row : table.rows) {
      std::sort(row.switches.begin(), row.switches.end(),
                [](const Switch& a, const Switch& b) { return a.from_bytes < b.from_bytes; });
    }
  }
  return tuner;
}

}  // namespace

const SwitchTable* Tuner::find(Operation operation, int per_node) const {
  for (const SwitchTable& table : tables) {
    if (table.operation == operation && table.per_node == per_node) return &table;
  }
  return nullptr;
}

Result<Stack> read_stack(const catalog::Constants& constants) {
  Reader read(constants);
  Stack stack;
  stack.id = constants.id();
  stack.model = read_model(read);
  stack.node = read_node(read);
  stack.nvls = read_nvls(read);
  stack.network = read_network(read);
  stack.tuner = read_tuner(constants, read);
  stack.bands = read_bands(read);
  stack.wire_factor = read.three_positive("protocol.wire_factor");
  const std::vector<double>& nodes = read.list("calibrated.nodes");
  if (nodes.size() == 2) {
    stack.calibrated_min_nodes = static_cast<int>(nodes[0]);
    stack.calibrated_max_nodes = static_cast<int>(nodes[1]);
  }
  for (const double ranks : read.list("calibrated.ranks_per_node")) {
    stack.calibrated_per_node.push_back(static_cast<int>(ranks));
  }
  stack.network.cross_rail_slowdown = constants.get("rdma.random_slowdown", 1.0);
  stack.all_to_all_measured = constants.get("calibrated.alltoall_rows", 0.0) > 0.0;
  if (read.faulty()) return fail(read.take());
  return stack;
}

}  // namespace flowplan::collective
