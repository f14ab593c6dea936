#include "expert_parallel_rows.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "flowplan/collective/expert_parallel.hpp"
#include "training_cells.hpp"

namespace flowplan::accuracy {
namespace {

using collective::ExpertBackend;
using collective::ExpertMode;

constexpr double us_per_second = 1e6;
constexpr double bytes_per_gbyte = 1e9;
// What the benchmarks of all sources run.
constexpr double benchmark_hidden = 7168.0;
constexpr int benchmark_top_k = 8;
constexpr int benchmark_experts = 256;
constexpr double bf16_bytes = 2.0;
constexpr double fp8_bytes = 1.03125;  // one FP32 scale for 128 elements
/// Batches up to this many tokens run the low-latency kernels, where the row does not say.
constexpr double most_low_latency_tokens = 512.0;

/// "4096 tokens", "8K tokens": 0 when there is none.
double tokens_of(std::string_view notes) {
  const std::size_t at = notes.find(" tokens");
  if (at == std::string_view::npos || at == 0) return 0.0;
  std::size_t end = at;
  double scale = 1.0;
  if (notes[end - 1] == 'K') {
    scale = 1024.0;
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && std::isdigit(static_cast<unsigned char>(notes[begin - 1])) != 0)
    --begin;
  return begin == end ? 0.0
                      : scale * std::atof(std::string(notes.substr(begin, end - begin)).c_str());
}

struct NamedBackend {
  std::string_view part;
  ExpertBackend backend;
};
// The first that the row's library contains.
constexpr std::array named_backends{NamedBackend{"pplx", ExpertBackend::nvshmem},
                                    NamedBackend{"UCCL", ExpertBackend::uccl},
                                    NamedBackend{"DeepEP V2", ExpertBackend::deepep_v2},
                                    NamedBackend{"DeepEP", ExpertBackend::deepep}};

std::optional<ExpertBackend> backend_of(std::string_view library) {
  for (const NamedBackend& known : named_backends) {
    if (mentions(library, known.part)) return known.backend;
  }
  return std::nullopt;
}

/// Catalog id of the nodes; empty: unknown.
std::string_view nodes_of(std::string_view system, std::string_view gpu) {
  for (const std::string_view id :
       {"p5.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge"}) {
    if (system.starts_with(id)) return id;
  }
  // Two NICs a GPU, H200: P5en.
  if (system.starts_with("AWS EFA")) return "p5en.48xlarge";
  if (gpu.starts_with("H800")) return "h800-node";
  if (system.starts_with("CX7 cluster") || gpu.starts_with("SM90")) return "dgx-h100";
  if (gpu.starts_with("SM100") || gpu.starts_with("B200")) return "dgx-b200";
  if (gpu.starts_with("GB200")) return "gb200-nvl72";
  return {};
}

/// Bytes of an element on the wire. DeepEP and UCCL dispatch FP8 and combine BF16 where the row
/// does not say; the ConnectX-7 table of pplx-garden compares with DeepEP in BF16: FP8 would need
/// half of the times that it prints.
double element_bytes(std::string_view notes, std::string_view library, bool dispatch) {
  const bool both = mentions(notes, "FP8") && mentions(notes, "BF16");
  if (mentions(notes, "bf16;") || (mentions(notes, "BF16") && !both)) return bf16_bytes;
  if (mentions(library, "DeepEP CX7") && tokens_of(notes) > most_low_latency_tokens) {
    return bf16_bytes;
  }
  return dispatch ? fp8_bytes : bf16_bytes;
}

struct ExpertRow {
  bool dispatch = true;
  ExpertMode mode{};
  ExpertBackend backend{};
  collective::ExpertGroup group;
  collective::ExpertTraffic traffic;
};

/// GB/s as the sources print it, the own node and rank counted: a copy for each node (across nodes)
/// or rank (inside one), for low latency one for each expert.
double printed_gbytes(const ExpertRow& row, Seconds time) {
  const auto copies = collective::expert_copies(row.group, row.traffic);
  const double bytes = row.traffic.tokens * row.traffic.hidden *
                       (row.dispatch ? row.traffic.dispatch_bytes : row.traffic.combine_bytes);
  const double sent = row.mode == ExpertMode::low_latency ? row.traffic.top_k
                      : row.group.nodes > 1               ? copies.nodes
                                                          : copies.ranks;
  return bytes * sent / time.value() / bytes_per_gbyte;
}

/// A half-width of predicted over measured times as a band of what was measured, a time or a rate.
Band band_of(double half_width, bool of_time) {
  Band band{1.0 / (1.0 + half_width), 1.0 / (1.0 - half_width), 0.9, "expert parallel"};
  if (!of_time) band.low = 1.0 - half_width, band.high = 1.0 + half_width;
  return band;
}

}  // namespace

bool is_expert_parallel(const CsvTable& table, std::size_t row) {
  const std::string& operation = table.text(row, "collective");
  return operation == "ep_dispatch" || operation == "ep_combine";
}

Row expert_parallel_row(const catalog::Catalog& catalog, const CsvTable& table, std::size_t at) {
  const std::string& library = table.text(at, "algo_proto_if_known");
  const std::string& notes = table.text(at, "notes");
  const auto time_us = table.number(at, "time_us");
  const auto printed = table.number(at, "busbw_GBps");
  Row row;
  row.id = table.text(at, "id").empty() ? std::to_string(at) : table.text(at, "id");
  row.metric = time_us ? "time_us" : "busbw_GBps";
  row.measured = time_us ? *time_us : printed.value_or(0.0);
  row.by = {{"source", table.text(at, "source")}, {"gpu", table.text(at, "gpu")}};
  const auto skip = [&](std::string reason) {
    row.skipped = std::move(reason);
    return row;
  };
  const auto backend = backend_of(library);
  if (!backend) return skip("library of expert parallelism unknown: " + library);
  const std::string_view nodes_id =
      nodes_of(table.text(at, "instance_or_system"), table.text(at, "gpu"));
  if (nodes_id.empty()) {
    return skip("system unknown: " + table.text(at, "instance_or_system"));
  }
  const auto instance = catalog.instance(nodes_id);
  if (!instance) return skip(instance.error().front().message);
  ExpertRow asked;
  asked.traffic.tokens = tokens_of(notes);
  asked.mode = mentions(library, "low-latency") || asked.traffic.tokens <= most_low_latency_tokens
                   ? ExpertMode::low_latency
                   : ExpertMode::normal;
  const bool ec2 = (*instance)->kind != catalog::InstanceKind::reference;
  row.by.emplace_back("origin", ec2 ? "ec2" : "reference");
  row.by.emplace_back("group",
                      fmt::format("expert parallel, {}, {}", name(*backend),
                                  asked.mode == ExpertMode::normal ? "normal" : "low latency"));
  const int nodes = static_cast<int>(table.number(at, "nodes").value_or(0.0));
  const int gpus = static_cast<int>(table.number(at, "gpus").value_or(0.0));
  if (asked.traffic.tokens <= 0.0) return skip("tokens, hidden size and top-k not stated");
  if (nodes < 1 || gpus < 2 || gpus % nodes != 0) return skip("GPUs do not divide among the nodes");
  if (!time_us && !printed) return skip("neither a time nor a bandwidth");

  asked.dispatch = table.text(at, "collective") == "ep_dispatch";
  asked.backend = *backend;
  asked.group = collective::expert_group(catalog, **instance, nodes, gpus / nodes);
  asked.traffic.hidden = benchmark_hidden;
  asked.traffic.top_k = benchmark_top_k;
  asked.traffic.experts = benchmark_experts;
  asked.traffic.max_nodes = mentions(notes, "top-4 groups") ? 4 : 0;
  asked.traffic.dispatch_bytes = element_bytes(notes, library, true);
  asked.traffic.combine_bytes = element_bytes(notes, library, false);
  const auto outcome =
      collective::expert_parallel(catalog, asked.backend, asked.mode, asked.group, asked.traffic);
  if (!outcome) return skip(outcome.error().front().message);
  const collective::ExpertStage& stage = asked.dispatch ? outcome->dispatch : outcome->combine;
  row.predicted = time_us ? stage.time.value() * us_per_second : printed_gbytes(asked, stage.time);
  const auto share = [&](Bytes bytes, BytesPerSecond line) {
    return bytes > Bytes(0.0) ? bytes / stage.time / line : 0.0;
  };
  row.link_share =
      std::max(share(stage.network, asked.group.nic), share(stage.nvlink, asked.group.nvlink));
  row.band = band_of(outcome->band, time_us.has_value());
  return row;
}

}  // namespace flowplan::accuracy
