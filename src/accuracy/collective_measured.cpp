#include "collective_measured.hpp"

#include <array>
#include <charconv>
#include <utility>

namespace flowplan::accuracy {
namespace {

using collective::Transfer;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

constexpr std::array<std::pair<std::string_view, Transfer>, 14> transfers_by_name{{
    {"p2p_memcpy", Transfer::gpu_copy},
    {"p2p_app_level", Transfer::gpu_copy},
    {"p2p_memcpy_bidir", Transfer::gpu_copy_both_ways},
    {"host_to_device_memcpy", Transfer::host_copy},
    {"device_to_host_memcpy", Transfer::host_copy},
    {"rdma_write_bw", Transfer::rdma_write},
    {"rdma_bw_bidir", Transfer::rdma_write_both_ways},
    {"rdma_bw_bidir_total", Transfer::rdma_write_both_ways},
    {"sendrecv_roundtrip_bw", Transfer::send_receive},
    {"pingpong_bw", Transfer::ping_pong},
    {"pingpong_latency", Transfer::ping_pong},
    {"alltoall_rdma_rail_aligned", Transfer::rdma_exchange},
    {"alltoall_nvshmem_host", Transfer::nvshmem_exchange_host},
    {"alltoall_nvshmem_device", Transfer::nvshmem_exchange_device},
}};

}  // namespace

bool MeasuredCollective::notes_say(std::string_view text) const {
  return has(notes, text);
}

MeasuredCollective read_measured(const CsvTable& table, std::size_t row) {
  MeasuredCollective m;
  m.operation = table.text(row, "collective");
  m.gpu = table.text(row, "gpu");
  m.system = table.text(row, "instance_or_system");
  m.fabric = table.text(row, "fabric");
  m.nccl_version = table.text(row, "nccl_version");
  m.choice = table.text(row, "algo_proto_if_known");
  m.source = table.text(row, "source");
  m.notes = table.text(row, "notes");
  m.nodes = static_cast<int>(table.number(row, "nodes").value_or(0.0));
  m.gpus = static_cast<int>(table.number(row, "gpus").value_or(0.0));
  m.size = table.number(row, "size_bytes").value_or(0.0);
  m.time_us = table.number(row, "time_us");
  m.algbw = table.number(row, "algbw_GBps");
  m.busbw = table.number(row, "busbw_GBps");
  return m;
}

std::optional<collective::Algorithm> forced_algorithm(const MeasuredCollective& row) {
  if (has(row.choice, "forced")) {
    return collective::find_algorithm(row.choice.substr(0, row.choice.find(' ')));
  }
  // Reduction in the switches is never NCCL's own choice.
  if (row.choice.starts_with("CollNet")) return collective::Algorithm::collnet;
  if (row.operation == "all_gather" && row.choice == "NVLS") return collective::Algorithm::nvls;
  if (row.choice == "RING" || has(row.choice, "NVLS off") || row.notes_say("NVLS_ENABLE=0")) {
    return collective::Algorithm::ring;
  }
  return std::nullopt;
}

std::optional<int> forced_channels(const MeasuredCollective& row) {
  const std::size_t end = row.notes.find(" channels forced");
  if (end == std::string::npos) return std::nullopt;
  std::size_t begin = end;
  while (begin > 0 && row.notes[begin - 1] >= '0' && row.notes[begin - 1] <= '9')
    --begin;
  int channels = 0;
  const char* text = row.notes.data();
  if (std::from_chars(text + begin, text + end, channels).ec != std::errc{}) return std::nullopt;
  return channels;
}

std::optional<Transfer> measured_transfer(const MeasuredCollective& row) {
  if (row.operation == "alltoall_rdma_cross_rail") {
    return has(row.choice, "random") ? Transfer::rdma_exchange_random
                                     : Transfer::rdma_exchange_incast;
  }
  for (const auto& [operation, transfer] : transfers_by_name) {
    if (row.operation == operation) return transfer;
  }
  return std::nullopt;
}

std::string plugin_version(const MeasuredCollective& row) {
  constexpr std::string_view plugin = "aws-ofi-nccl ";
  const std::size_t at = row.notes.find(plugin);
  if (at == std::string::npos) return {};
  const std::string rest = row.notes.substr(at + plugin.size());
  return rest.substr(0, rest.find_first_not_of("0123456789."));
}

std::string harness_figure(const MeasuredCollective& row, const catalog::Constants& stack) {
  if (!row.notes_say("torch all_reduce_bench.py")) return {};
  constexpr std::string_view between_nodes = "harness.torch_net_offset_us";
  return std::string(row.nodes > 1 && stack.find(between_nodes) != nullptr
                         ? between_nodes
                         : "harness.torch_offset_us");
}

}  // namespace flowplan::accuracy
