#include "flowplan/report/kernel_exchange.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/collective/operation.hpp"
#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {
namespace {

std::string in_us(Seconds time) {
  return fmt::format("{:.2f}", time.value() * 1e6);
}

std::string in_gbytes(double bytes_per_s) {
  return fmt::format("{:.2f}", bytes_per_s / 1e9);
}

double all_reduce_busbw(const CustomAllReduceSweep& sweep, const CustomAllReduceSweep::Line& line) {
  return line.size.value() / line.outcome.time.value() *
         collective::bus_factor(collective::Operation::all_reduce, sweep.ranks);
}

/// One stage of one line.
struct StageOf {
  std::string_view name;
  const collective::ExpertStage* stage;
  double element_bytes;
};

std::vector<StageOf> stages(const ExpertSweep& sweep, const ExpertSweep::Line& line) {
  std::vector<StageOf> list;
  if (sweep.dispatch)
    list.push_back({"ep_dispatch", &line.outcome.dispatch, line.traffic.dispatch_bytes});
  if (sweep.combine)
    list.push_back({"ep_combine", &line.outcome.combine, line.traffic.combine_bytes});
  return list;
}

std::string expert_title(const ExpertSweep& sweep) {
  const collective::ExpertTraffic& traffic = sweep.lines.front().traffic;
  std::string text = fmt::format(
      "Expert parallelism over {} x {} GPUs of {}: {}, {}, hidden {:.0f}, top-{}",
      sweep.group.nodes, sweep.group.gpus_per_node, sweep.instance, collective::name(sweep.backend),
      collective::name(sweep.mode), traffic.hidden, traffic.top_k);
  if (traffic.experts > 0) text += fmt::format(" of {}", traffic.experts);
  if (traffic.max_nodes > 0) text += fmt::format(" on at most {} nodes", traffic.max_nodes);
  return text;
}

}  // namespace

Document custom_all_reduce(const CustomAllReduceSweep& sweep) {
  Section section{"",
                  {},
                  Table{{{"size, B"},
                         {"time, us"},
                         {"algbw, GB/s"},
                         {"busbw, GB/s"},
                         {"kernel", false},
                         {"NCCL alone, us"}},
                        {}},
                  {}};
  double band = 0.0;
  for (const CustomAllReduceSweep::Line& line : sweep.lines) {
    band = line.outcome.band;
    section.table->rows.push_back(
        {fmt::format("{:.0f}", line.size.value()), in_us(line.outcome.time),
         in_gbytes(line.size.value() / line.outcome.time.value()),
         in_gbytes(all_reduce_busbw(sweep, line)),
         std::string(collective::name(line.outcome.stage)), in_us(line.outcome.nccl)});
  }
  section.remarks.push_back(
      fmt::format("the fastest of the engine's kernels and of NCCL inside the engine's CUDA graph; "
                  "time within {:+.0f} to {:+.0f} % (90 %)",
                  100.0 * (1.0 / (1.0 + band) - 1.0), 100.0 * (1.0 / (1.0 - band) - 1.0)));
  return {fmt::format("custom all-reduce on {} GPUs of {}", sweep.ranks, sweep.instance),
          "",
          {std::move(section)}};
}

std::string custom_all_reduce_json(const CustomAllReduceSweep& sweep) {
  Json lines = Json::array();
  for (const CustomAllReduceSweep::Line& line : sweep.lines) {
    lines.push_back({{"size_bytes", line.size.value()},
                     {"time_s", line.outcome.time.value()},
                     {"algbw_bytes_per_s", line.size.value() / line.outcome.time.value()},
                     {"busbw_bytes_per_s", all_reduce_busbw(sweep, line)},
                     {"kernel", collective::name(line.outcome.stage)},
                     {"nccl_time_s", line.outcome.nccl.value()},
                     {"band_fraction", line.outcome.band}});
  }
  const Json json{{"format_version", result_format_version},
                  {"kind", "custom_all_reduce"},
                  {"instance", sweep.instance},
                  {"ranks", sweep.ranks},
                  {"results", std::move(lines)}};
  return json.dump(2) + "\n";
}

Document expert_sweep(const ExpertSweep& sweep) {
  Section section{"",
                  {},
                  Table{{{"tokens a GPU"},
                         {"stage", false},
                         {"B an element"},
                         {"time, us"},
                         {"out of NICs, B"},
                         {"NICs, GB/s a GPU"},
                         {"over NVLink, B"},
                         {"NVLink, GB/s a GPU"},
                         {"limit", false}},
                        {}},
                  {}};
  for (const ExpertSweep::Line& line : sweep.lines) {
    for (const StageOf& of : stages(sweep, line)) {
      const double seconds = of.stage->time.value();
      section.table->rows.push_back(
          {fmt::format("{:.0f}", line.traffic.tokens), std::string(of.name),
           fmt::format("{:g}", of.element_bytes), in_us(of.stage->time),
           fmt::format("{:.0f}", of.stage->network.value()),
           in_gbytes(of.stage->network.value() / seconds),
           fmt::format("{:.0f}", of.stage->nvlink.value()),
           in_gbytes(of.stage->nvlink.value() / seconds), of.stage->bound});
    }
  }
  const collective::ExpertOutcome& first = sweep.lines.front().outcome;
  const collective::ExpertCopies copies =
      collective::expert_copies(sweep.group, sweep.lines.front().traffic);
  section.remarks.push_back(
      fmt::format("a token's experts are on {:.2f} nodes and {:.2f} GPUs, drawn at random",
                  copies.nodes, copies.ranks));
  section.remarks.push_back(fmt::format("constants {}, time within {:+.0f} to {:+.0f} % (90 %)",
                                        first.set, 100.0 * (1.0 / (1.0 + first.band) - 1.0),
                                        100.0 * (1.0 / (1.0 - first.band) - 1.0)));
  if (!first.note.empty()) section.remarks.push_back(first.note);
  return {expert_title(sweep), "", {std::move(section)}};
}

std::string expert_sweep_json(const ExpertSweep& sweep) {
  Json lines = Json::array();
  for (const ExpertSweep::Line& line : sweep.lines) {
    for (const StageOf& of : stages(sweep, line)) {
      lines.push_back({{"operation", of.name},
                       {"tokens", line.traffic.tokens},
                       {"element_bytes", of.element_bytes},
                       {"time_s", of.stage->time.value()},
                       {"network_bytes", of.stage->network.value()},
                       {"nvlink_bytes", of.stage->nvlink.value()},
                       {"limit", of.stage->bound},
                       {"calibrated", line.outcome.calibrated},
                       {"note", line.outcome.note},
                       {"band_fraction", line.outcome.band}});
    }
  }
  const collective::ExpertTraffic& traffic = sweep.lines.front().traffic;
  const Json json{{"format_version", result_format_version},
                  {"kind", "expert_parallel"},
                  {"instance", sweep.instance},
                  {"nodes", sweep.group.nodes},
                  {"gpus_per_node", sweep.group.gpus_per_node},
                  {"backend", collective::name(sweep.backend)},
                  {"mode", collective::name(sweep.mode)},
                  {"hidden", traffic.hidden},
                  {"top_k", traffic.top_k},
                  {"experts", traffic.experts},
                  {"max_nodes", traffic.max_nodes},
                  {"constants", sweep.lines.front().outcome.set},
                  {"results", std::move(lines)}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
