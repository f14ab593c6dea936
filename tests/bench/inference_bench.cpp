// Speed of the serving simulation, in requests a second of processor time: one instance like a 70B
// model on 8 GPUs, and 16 of them under a long trace with prefix caching.
#include <algorithm>
#include <cstdint>
#include <string>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <sys/resource.h>

#include "../inference/handmade.hpp"
#include "flowplan/inference/load.hpp"
#include "flowplan/inference/metrics.hpp"
#include "flowplan/inference/trace.hpp"

namespace {

using namespace flowplan::inference;

/// 986 tokens in and 128 out on average, as the public open-loop runs have them.
Workload chat(double per_s, std::uint32_t requests) {
  Load load;
  load.tasks = requests;
  load.input = {TokenCount::Kind::uniform, 986, 0.5};
  load.output = {TokenCount::Kind::uniform, 128, 0.5};
  load.arrivals.rate = {{0.0, per_s}};
  return *generate(load);
}

/// Argument: requests per second; the instance saturates at about 20.
void one_instance(benchmark::State& state) {
  const Workload workload = chat(static_cast<double>(state.range(0)), 1000000);
  const Fleet fleet{handmade::like_a_70b(), 1, {}};
  ServeRun run;
  for (auto _ : state)
    run = *serve(fleet, workload);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(run.requests.size()));
  const Summary summary = summarize(run, workload);
  state.counters["ttft_mean_s"] = summary.ttft_s.mean;
  state.counters["passes"] = static_cast<double>(run.pools[0].passes);
  state.counters["events"] = static_cast<double>(run.pools[0].events);
}
BENCHMARK(one_instance)->Arg(5)->Arg(15)->Arg(19)->Arg(30)->Unit(benchmark::kMillisecond);

/// A trace of sessions in Mooncake's columns: 12,000 tokens a prompt in blocks of 512, about a
/// third of them seen before, 340 tokens out.
std::string trace_text(std::uint32_t requests) {
  Load load;
  load.tasks = requests / 2;
  load.input = {TokenCount::Kind::lognormal, 9000, 1.0};
  load.output = {TokenCount::Kind::lognormal, 340, 0.7};
  load.shape = Sessions{
      {TokenCount::Kind::uniform, 2, 0.5}, {TokenCount::Kind::lognormal, 5000, 1.0}, 30.0, true};
  load.shared_tokens = 1024;
  load.shared_texts = 4;
  load.block_tokens = 512;
  load.arrivals.rate = {{0.0, 1.0}};
  const Workload sessions = *generate(load);
  std::string text = "arrival_s,input_tokens,output_tokens,prefix_block_ids\n";
  double at_s = 0.0;
  const std::size_t count = std::min<std::size_t>(requests, sessions.requests.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Request& r = sessions.requests[i];
    at_s += 0.02;
    text += fmt::format("{:.3f},{},{},", at_s, r.input_tokens, r.output_tokens);
    std::uint32_t left = r.input_tokens / 512;
    for (std::uint16_t n = 0; n < r.run_count; ++n) {
      const BlockRun run = sessions.runs[r.first_run + n];
      for (std::uint32_t k = 0; k < run.count && left > 0; ++k, --left)
        text += fmt::format_int(run.first + k).c_str() + std::string(" ");
    }
    text += '\n';
  }
  return text;
}

/// Reading included. Argument: routing.
void trace_over_16(benchmark::State& state) {
  const std::string text = trace_text(1000000);
  Fleet fleet{handmade::like_a_70b(), 16, {static_cast<Routing>(state.range(0)), 4000.0}};
  fleet.instance.engine.prefix_caching = true;
  ServeRun run;
  Workload workload;
  for (auto _ : state) {
    workload = *parse_trace(text, "generated");
    run = *serve(fleet, workload);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(run.requests.size()));
  state.SetLabel(std::string(name(fleet.router.routing)));
  state.counters["cached_share"] = summarize(run, workload).cached_share;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  state.counters["peak_mib"] = static_cast<double>(usage.ru_maxrss) / 1024.0;
}
BENCHMARK(trace_over_16)->Arg(0)->Arg(1)->Arg(2)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
