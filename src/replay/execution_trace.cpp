#include "flowplan/replay/execution_trace.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/text_file.hpp"
#include "readers.hpp"

namespace flowplan::replay {

namespace {

using TraceJson = nlohmann::ordered_json;

constexpr std::string_view gzip_magic = "\x1f\x8b";
constexpr double largest_rank = 1e9;

// et_def.proto's NodeType.
enum : std::uint64_t {
  metadata_node = 1,
  load_node = 2,
  store_node = 3,
  compute_node = 4,
  send_node = 5,
  receive_node = 6,
  collective_node = 7,
  storage_node = 8,
  batch_node = 9,
  checkpoint_node = 10,
};

std::optional<collective::Operation> operation_of(std::uint64_t comm_type) {
  using collective::Operation;
  switch (comm_type) {
    case 0:
    case 9:  // a barrier is an all-reduce of next to nothing
      return Operation::all_reduce;
    case 1:
      return Operation::reduce;
    case 2:
      return Operation::all_gather;
    case 5:
      return Operation::broadcast;
    case 6:
      return Operation::all_to_all;
    case 7:
    case 8:
      return Operation::reduce_scatter;
    default:
      return std::nullopt;
  }
}

bool is_count(double value, double most) {
  return std::isfinite(value) && value >= 0.0 && value <= most;
}

Result<void> describe_collective(const ChakraNode& chakra, const std::string& file,
                                 const std::string& where, Node& node) {
  constexpr std::uint64_t gather = 3, scatter = 4, barrier = 9;
  constexpr double barrier_bytes = 4.0;
  if (chakra.comm_type == gather || chakra.comm_type == scatter)
    return fail(error(Code::unsupported_feature, in_file(file),
                      fmt::format("{}: node `{}` is a {}, which is not modelled", where, node.name,
                                  chakra.comm_type == gather ? "gather" : "scatter"),
                      "all_reduce, reduce, all_gather, broadcast, all_to_all, reduce_scatter and "
                      "barriers are"));
  const auto operation = operation_of(chakra.comm_type);
  if (!operation)
    return fail(malformed(file, where, fmt::format("there is no comm_type {}", chakra.comm_type)));
  node.work = Work::collective;
  node.operation = *operation;
  node.group = chakra.communicator();
  node.size = Bytes(chakra.comm_type == barrier ? barrier_bytes : chakra.comm_bytes);
  return {};
}

/// A graph's layout in JSON: `workload_graph`.
bool is_graph(const TraceJson& root) {
  return root.is_object() && root.contains("workload_graph");
}

char first_letter(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? '\0' : text[at];
}

bool is_workload(std::string_view text) {
  for (const std::string_view word : {"DATA", "MODEL", "HYBRID_", "MICRO"})
    if (text.starts_with(word)) return true;
  return false;
}

}  // namespace

std::string_view name(TraceFormat format) {
  switch (format) {
    case TraceFormat::chakra:
      return "Chakra";
    case TraceFormat::chakra_json:
      return "Chakra (JSON)";
    case TraceFormat::workload_text:
      break;
  }
  return "ASTRA-sim text workload";
}

std::string ChakraNode::communicator() const {
  if (!group.empty() || dimensions.find('0') == std::string::npos) return group;
  return "dims" + dimensions;
}

Diagnostic malformed(const std::string& file, const std::string& where, const std::string& what,
                     std::string hint) {
  return error(Code::bad_measurement, in_file(file), fmt::format("{}: {}", where, what),
               std::move(hint));
}

Result<void> describe(const ChakraNode& chakra, const std::string& file, const std::string& where,
                      Node& node) {
  constexpr double most = 1e18;
  if (!is_count(chakra.operations, std::numeric_limits<double>::max()) ||
      !is_count(chakra.tensor_bytes, most) || !is_count(chakra.comm_bytes, most) ||
      !is_count(chakra.source, largest_rank) || !is_count(chakra.target, largest_rank) ||
      !is_count(chakra.tag, std::numeric_limits<std::uint32_t>::max()))
    return fail(malformed(
        file, where, fmt::format("node `{}` has a size, rank or count that cannot be", node.name)));
  node.operations = chakra.operations;
  node.touched = Bytes(chakra.tensor_bytes);
  node.size = Bytes(chakra.comm_bytes);
  node.tag = static_cast<std::uint32_t>(chakra.tag);
  switch (chakra.type) {
    case metadata_node:
      return {};
    case load_node:
    case store_node:
      node.work = Work::memory;
      return {};
    case compute_node:
      node.work = chakra.on_cpu ? Work::host : Work::compute;
      return {};
    case storage_node:
    case batch_node:
    case checkpoint_node:
      node.work = Work::host;
      return {};
    case send_node:
      node.work = Work::send;
      node.peer = static_cast<std::uint32_t>(chakra.target);
      return {};
    case receive_node:
      node.work = Work::receive;
      node.peer = static_cast<std::uint32_t>(chakra.source);
      return {};
    case collective_node:
      return describe_collective(chakra, file, where, node);
    default:
      return fail(malformed(file, where,
                            fmt::format("node `{}` is of type {}", node.name, chakra.type),
                            "metadata, memory, compute, send, receive and collectives are read"));
  }
}

Result<std::vector<Node>> linked(std::vector<NamedNode> nodes, const std::string& file) {
  std::unordered_map<std::uint64_t, std::uint32_t> index;  // looked up only
  Diagnostics faults;
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (!index.emplace(nodes[i].id, i).second)
      faults.push_back(
          malformed(file, nodes[i].where, fmt::format("a second node of id {}", nodes[i].id)));
  for (NamedNode& named : nodes) {
    for (const std::uint64_t id : named.after) {
      const auto found = index.find(id);
      if (found != index.end()) {
        named.node.after.push_back(found->second);
        continue;
      }
      faults.push_back(error(Code::dangling_dependency, in_file(file),
                             fmt::format("{}: node `{}` depends on node {}, which is not there",
                                         named.where, named.node.name, id)));
    }
    std::sort(named.node.after.begin(), named.node.after.end());
    named.node.after.erase(std::unique(named.node.after.begin(), named.node.after.end()),
                           named.node.after.end());
  }
  if (!faults.empty()) return fail(std::move(faults));
  std::vector<Node> out;
  out.reserve(nodes.size());
  for (NamedNode& named : nodes)
    out.push_back(std::move(named.node));
  return out;
}

bool holds_profiler_events(std::string_view text) {
  constexpr std::size_t enough = 1 << 16;
  return first_letter(text) == '{' && text.find("\"traceEvents\"") != std::string_view::npos &&
         text.substr(0, enough).find("\"workload_graph\"") == std::string_view::npos;
}

std::optional<std::uint32_t> rank_of(const std::string& file) {
  // "name.12.et", "name.12.et.gz", "name.12.json"
  std::size_t end = file.size();
  for (const std::string_view suffix : {".gz", ".et", ".json", ".txt"})
    if (std::string_view(file.data(), end).ends_with(suffix)) end -= suffix.size();
  const std::size_t dot = file.rfind('.', end == 0 ? 0 : end - 1);
  if (dot == std::string::npos || dot + 1 >= end) return std::nullopt;
  std::uint32_t rank = 0;
  const auto [stop, code] = std::from_chars(file.data() + dot + 1, file.data() + end, rank);
  if (code != std::errc{} || stop != file.data() + end) return std::nullopt;
  return rank;
}

Result<ExecutionTrace> parse_trace(std::string text, const std::string& file) {
  if (text.empty()) return fail(malformed(file, "byte 0 of 0", "the file is empty"));
  if (std::string_view(text).starts_with(gzip_magic)) {
    auto plain = inflated(text, file);
    if (!plain) return fail(std::move(plain.error()));
    return parse_trace(std::move(*plain), file);
  }
  if (first_letter(text) == '{') {
    const auto document =
        JsonDocument::parse(std::move(text), file, JsonLimits{largest_trace_bytes, 64});
    if (!document) return fail(document.error());
    if (is_graph(document->root())) return parse_chakra_json(*document, file);
    return fail(error(Code::wrong_kind_of_file, document->place(""), "this is no execution trace",
                      "Chakra's JSON has `workload_graph`, a PyTorch profile has `traceEvents`"));
  }
  if (is_workload(text)) return parse_workload(text, file);
  return parse_chakra(text, file);
}

Result<ExecutionTrace> read_trace(const std::vector<std::string>& paths) {
  ExecutionTrace all;
  for (const std::string& path : paths) {
    auto text = read_text(path, largest_trace_bytes);
    if (!text) return fail(std::move(text.error()));
    auto one = parse_trace(std::move(*text), path == "-" ? "<stdin>" : path);
    if (!one) return fail(std::move(one.error()));
    one->ranks.front().rank = rank_of(path);
    if (all.ranks.empty()) {
      all = std::move(*one);
      continue;
    }
    if (one->format != all.format || one->format == TraceFormat::workload_text)
      return fail(error(Code::bad_measurement, in_file(path),
                        "several files have to be the ranks of one Chakra trace",
                        "a text workload is what every rank runs: give one"));
    all.ranks.push_back(std::move(one->ranks.front()));
  }
  if (all.ranks.size() == 1) return all;
  const bool named = std::all_of(all.ranks.begin(), all.ranks.end(),
                                 [](const RankTrace& one) { return one.rank.has_value(); });
  if (!named) {
    all.notes.push_back("the files' names say no ranks: rank 0 is the first one given, and so on");
    for (std::uint32_t i = 0; i < all.ranks.size(); ++i)
      all.ranks[i].rank = i;
  }
  std::stable_sort(all.ranks.begin(), all.ranks.end(),
                   [](const RankTrace& a, const RankTrace& b) { return *a.rank < *b.rank; });
  for (std::uint32_t i = 0; i < all.ranks.size(); ++i) {
    if (*all.ranks[i].rank == i) continue;
    return fail(error(Code::bad_measurement, in_file(all.ranks[i].file),
                      fmt::format("this is rank {}, and rank {} is missing or given twice",
                                  *all.ranks[i].rank, i),
                      "give the files of all ranks, or one that every rank runs"));
  }
  return all;
}

}  // namespace flowplan::replay
