#include "serving.hpp"

#include <cmath>

#include <fmt/format.h>

#include "answer_charts.hpp"
#include "flowplan/report/format.hpp"
#include "storage.hpp"

namespace flowplan::report {

namespace {

using scenario::Answer;
using scenario::ServingAnswer;

std::string degrees(const inference::Layout& layout) {
  std::string text = fmt::format("TP {}", layout.tp);
  if (layout.pp > 1) text += fmt::format(" x PP {}", layout.pp);
  if (layout.attention_dp > 1) text += fmt::format(" x attention DP {}", layout.attention_dp);
  if (layout.ep > 1) text += fmt::format(", EP {}", layout.ep);
  if (layout.redundant_experts > 0)
    text += fmt::format(" with {} redundant experts", layout.redundant_experts);
  return text;
}

std::string deployment(const ServingAnswer& serving) {
  if (serving.prefill) {
    return fmt::format("{} x prefill ({}), {} x decode ({})", serving.prefill->workers,
                       degrees(serving.prefill->layout), serving.replicas, degrees(serving.layout));
  }
  return fmt::format("{} x ({})", serving.replicas, degrees(serving.layout));
}

std::string number_formats(const inference::NumberFormats& formats) {
  const auto attention = inference::name(formats.attention), ffn = inference::name(formats.ffn),
             experts = inference::name(formats.experts);
  const std::string cache = formats.narrow_kv ? "KV cache fp8" : "KV cache bf16";
  if (attention == ffn && ffn == experts) return fmt::format("{}, {}", attention, cache);
  return fmt::format("attention {}, FFN {}, experts {}, {}", attention, ffn, experts, cache);
}

std::string tokens_text(const inference::TokenCount& count) {
  return count.kind == inference::TokenCount::Kind::fixed ? fmt::format("{:.0f}", count.mean)
                                                          : fmt::format("about {:.0f}", count.mean);
}

std::string load_text(const ServingAnswer& serving) {
  const inference::Load& load = serving.load;
  const std::string requests = grouped(static_cast<std::int64_t>(serving.requests));
  if (!serving.trace.empty()) return fmt::format("{} requests of {}", requests, serving.trace);
  std::string text =
      load.arrivals.kind == inference::Arrivals::Kind::closed_loop
          ? fmt::format("{} at a time", load.arrivals.concurrency)
          : fmt::format("{} a second{}", significant(load.arrivals.rate.front().per_s),
                        load.arrivals.kind == inference::Arrivals::Kind::gamma
                            ? fmt::format(" (gamma, CV {:g})", load.arrivals.cv)
                        : load.arrivals.kind == inference::Arrivals::Kind::constant ? " (even)"
                                                                                    : " (Poisson)");
  text += fmt::format(", {} tokens in, {} out, {} requests simulated", tokens_text(load.input),
                      tokens_text(load.output), requests);
  if (load.shared_tokens > 0) text += fmt::format(", {} of each prompt shared", load.shared_tokens);
  return text;
}

/// " (10 ms to 12 ms)", as the band has it.
std::string with_band(double seconds, const Band& band) {
  return fmt::format("{} ({} to {})", duration(Seconds(seconds)),
                     duration(Seconds(seconds * band.low)), duration(Seconds(seconds * band.high)));
}

std::string limit_text(double seconds) {
  return std::isfinite(seconds) ? duration(Seconds(seconds)) : "none";
}

std::string slo_text(const ServingAnswer& serving) {
  const inference::Slo& slo = *serving.slo;
  return fmt::format("{}: {} of requests within TTFT {}, TPOT {}, E2E {} ({} asked)",
                     serving.summary.meets ? "kept" : "MISSED", percent(serving.summary.good_share),
                     limit_text(slo.ttft_s), limit_text(slo.tpot_s), limit_text(slo.e2e_s),
                     percent(slo.share));
}

std::string serving_bottleneck(const Estimate& estimate) {
  const auto shares = limits(estimate.time);
  const double whole = estimate.time.time().value();
  if (shares.empty() || whole <= 0.0) return "none";
  std::string text = fmt::format("{}: {} of a decode pass", shares[0].limit,
                                 percent(shares[0].time.value() / whole));
  if (shares.size() > 1)
    text += fmt::format("; next {}: {}", shares[1].limit, percent(shares[1].time.value() / whole));
  return text;
}

std::string nodes_text(int nodes) {
  return fmt::format("{} node{}", nodes, nodes == 1 ? "" : "s");
}

std::string start_text(const scenario::ServingStart& start) {
  return fmt::format("{} for {}, {} for {} more: {} of them the engine; weights from {}, by {}",
                     duration(start.all.time), nodes_text(start.nodes),
                     duration(start.one_more.time), nodes_text(start.nodes_of_one),
                     duration(start.engine), start.mount, start.all.limit);
}

Section start_section(const scenario::ServingStart& start) {
  Section section{
      "Cold start: weights from " + start.mount, {}, storage_links(start.all.limits), {}};
  section.facts = {
      {"weights", binary_bytes(start.all.bytes) + " on all GPUs"},
      {"all of it", fmt::format("{} on {}", duration(start.all.time), nodes_text(start.nodes))},
      {"scale-out",
       fmt::format("{} on {} more", duration(start.one_more.time), nodes_text(start.nodes_of_one))},
      {"start of the engine", duration(start.engine)},
      {"limit", start.all.limit + (start.all.next.empty() ? "" : "; then " + start.all.next)}};
  for (const Warning& warning : start.all.warnings)
    section.remarks.push_back(warning.message);
  return section;
}

Section latencies(const inference::Summary& summary) {
  Section section{"Latencies, ms",
                  {},
                  Table{{{"", false}, {"mean"}, {"p50"}, {"p90"}, {"p99"}, {"most"}, {"of"}}, {}},
                  {}};
  const auto row = [&](const char* name, const inference::Spread& spread) {
    const auto ms = [](double seconds) { return significant(seconds * 1e3); };
    section.table->rows.push_back({name, ms(spread.mean), ms(spread.p50), ms(spread.p90),
                                   ms(spread.p99), ms(spread.most),
                                   grouped(static_cast<std::int64_t>(spread.count))});
  };
  row("time to first token (TTFT)", summary.ttft_s);
  row("time per output token (TPOT)", summary.tpot_s);
  row("gap between tokens (ITL)", summary.itl_s);
  row("end to end (E2E)", summary.e2e_s);
  if (summary.task_s.count > 0) row("whole task", summary.task_s);
  const auto counted = [](std::uint64_t n) { return grouped(static_cast<std::int64_t>(n)); };
  section.remarks.push_back(fmt::format(
      "{} sent in the measured window, {} finished, {} unfinished, {} refused, {} preemptions",
      counted(summary.sent), counted(summary.finished), counted(summary.unfinished),
      counted(summary.refused_context + summary.refused_memory), counted(summary.preemptions)));
  return section;
}

Section capacity(const ServingAnswer& serving) {
  Section section{"Load against latency",
                  {},
                  Table{{{"requests/s"},
                         {"of saturation"},
                         {"TTFT p50, ms"},
                         {"TTFT p99, ms"},
                         {"TPOT p50, ms"},
                         {"TPOT p99, ms"},
                         {"output tokens/s"},
                         {"within limits"}},
                        {}},
                  {}};
  for (const scenario::LoadPoint& point : serving.curve) {
    const inference::Summary& s = point.summary;
    section.table->rows.push_back(
        {significant(point.rate_per_s), percent(point.rate_per_s / *serving.saturation_per_s),
         significant(s.ttft_s.p50 * 1e3), significant(s.ttft_s.p99 * 1e3),
         significant(s.tpot_s.p50 * 1e3), significant(s.tpot_s.p99 * 1e3),
         significant(s.output_tokens_per_s), serving.slo ? percent(s.good_share) : "-"});
  }
  return section;
}

Section memory(const ServingAnswer& serving) {
  const inference::ServingMemory& m = serving.memory;
  Section section{"Memory of one GPU, GiB",
                  {},
                  Table{{{"part", false}, {"GiB"}, {"share"}, {"", false}}, {}},
                  {}};
  const auto row = [&](const char* name, Bytes bytes) {
    section.table->rows.push_back(
        {name, gib(bytes), percent(bytes / m.hbm), Cell::bar(bytes / m.hbm)});
  };
  row("attention weights", m.weights.attention);
  row("FFN weights", m.weights.ffn);
  if (m.weights.experts.value() > 0.0) row("expert weights", m.weights.experts);
  row("embedding and output", m.weights.embedding);
  row("activations, graphs, buffers", m.other);
  row("KV cache", m.kv_room);
  row("left by the engine", m.hbm - m.allowed);
  if (!m.fits)
    for (const inference::ServingRemedy& remedy : m.remedies)
      section.remarks.push_back(fmt::format("it would fit with {}", remedy.change));
  return section;
}

Json spread_json(const inference::Spread& spread) {
  return {{"mean_s", spread.mean}, {"p50_s", spread.p50},   {"p90_s", spread.p90},
          {"p99_s", spread.p99},   {"most_s", spread.most}, {"count", spread.count}};
}

Json layout_json(const inference::Layout& layout) {
  return {{"tp", layout.tp},
          {"pp", layout.pp},
          {"attention_dp", layout.attention_dp},
          {"ep", layout.ep},
          {"redundant_experts", layout.redundant_experts}};
}

Json limit_json(double seconds) {
  return std::isfinite(seconds) ? Json(seconds) : Json(nullptr);
}

}  // namespace

Section serving_summary(const Answer& answer) {
  const ServingAnswer& serving = *answer.serving;
  Section section;
  auto& facts = section.facts;
  facts.emplace_back("model", fmt::format("{}, {} parameters", serving.model.name,
                                          short_count(answer.parameters)));
  facts.emplace_back("cluster",
                     fmt::format("{} x {}, {} {} ({} work)", grouped(answer.count), answer.instance,
                                 grouped(answer.gpus), answer.gpu, grouped(serving.gpus)));
  facts.emplace_back("engine", serving.engine);
  facts.emplace_back("formats", number_formats(serving.formats));
  if (!answer.feasible()) {
    facts.emplace_back("fits", "NO: " + serving.does_not_fit);
    if (!answer.least_change.empty())
      facts.emplace_back("least change that fits", answer.least_change);
    return section;
  }
  const inference::Summary& s = serving.summary;
  const Band& band = answer.estimate.band;
  facts.emplace_back("deployment", deployment(serving));
  facts.emplace_back("load", load_text(serving));
  if (serving.slo) facts.emplace_back("limits", slo_text(serving));
  facts.emplace_back("TTFT", with_band(s.ttft_s.mean, band) + " mean, " +
                                 duration(Seconds(s.ttft_s.p99)) + " p99");
  facts.emplace_back("TPOT", with_band(s.tpot_s.mean, band) + " mean, " +
                                 duration(Seconds(s.tpot_s.p99)) + " p99");
  facts.emplace_back("throughput",
                     fmt::format("{} requests/s, {} output tokens/s, {} per GPU, {} per user",
                                 significant(s.requests_per_s), significant(s.output_tokens_per_s),
                                 significant(s.output_tokens_per_s_per_gpu),
                                 significant(s.output_tokens_per_s_per_user)));
  if (serving.saturation_per_s)
    facts.emplace_back("saturation", significant(*serving.saturation_per_s) + " requests/s");
  if (serving.per_million_output_tokens)
    facts.emplace_back("money", fmt::format("{} USD a million output tokens ({}, list price)",
                                            significant(serving.per_million_output_tokens->value()),
                                            answer.purchase));
  facts.emplace_back(
      "batch", fmt::format("{} sequences, {} of the KV cache (mean of an instance; at most {})",
                           significant(serving.pools.back().mean_batch),
                           percent(serving.pools.back().mean_kv_share),
                           percent(serving.pools.back().peak_kv_share)));
  if (serving.start) facts.emplace_back("cold start", start_text(*serving.start));
  facts.emplace_back("bottleneck", serving_bottleneck(answer.estimate));
  facts.emplace_back("ranges",
                     fmt::format("{:.0f} % confidence; {}", 100 * band.confidence, band.regime));
  return section;
}

std::vector<Section> serving_sections(const Answer& answer) {
  const ServingAnswer& serving = *answer.serving;
  std::vector<Section> sections;
  if (answer.feasible()) {
    sections.push_back(latencies(serving.summary));
    sections.back().charts.push_back(latency_chart(serving.summary));
    if (!serving.curve.empty()) {
      sections.push_back(capacity(serving));
      sections.back().charts = capacity_charts(serving, answer.estimate.band);
    }
  }
  if (serving.start) sections.push_back(start_section(*serving.start));
  if (serving.memory.hbm.value() > 0.0) {
    sections.push_back(memory(serving));
    sections.back().charts.push_back(serving_memory_chart(serving.memory));
  }
  return sections;
}

Json serving_workload_json(const Answer& answer) {
  const ServingAnswer& serving = *answer.serving;
  Json json{{"kind", answer.kind},
            {"model", serving.model.name},
            {"parameters", answer.parameters},
            {"engine", serving.engine},
            {"formats",
             {{"attention", inference::name(serving.formats.attention)},
              {"ffn", inference::name(serving.formats.ffn)},
              {"experts", inference::name(serving.formats.experts)},
              {"kv", serving.formats.narrow_kv ? "fp8" : "bf16"}}}};
  if (serving.prefill) {
    json["prefill"] = layout_json(serving.prefill->layout);
    json["prefill"]["workers"] = serving.prefill->workers;
  }
  json[serving.prefill ? "decode" : "parallelism"] = layout_json(serving.layout);
  json[serving.prefill ? "decode" : "parallelism"][serving.prefill ? "workers" : "replicas"] =
      serving.replicas;
  json["requests"] = serving.requests;
  if (!serving.trace.empty())
    json["trace"] = serving.trace;
  else if (serving.load.arrivals.kind == inference::Arrivals::Kind::closed_loop)
    json["concurrency"] = serving.load.arrivals.concurrency;
  else if (!serving.load.arrivals.rate.empty())
    json["rate_per_s"] = serving.load.arrivals.rate.front().per_s;
  if (serving.slo)
    json["slo"] = {{"ttft_s", limit_json(serving.slo->ttft_s)},
                   {"tpot_s", limit_json(serving.slo->tpot_s)},
                   {"e2e_s", limit_json(serving.slo->e2e_s)},
                   {"share", serving.slo->share}};
  return json;
}

Json serving_json(const Answer& answer) {
  if (!answer.feasible()) return nullptr;
  const ServingAnswer& serving = *answer.serving;
  const inference::Summary& s = serving.summary;
  Json json{{"ttft", spread_json(s.ttft_s)},
            {"tpot", spread_json(s.tpot_s)},
            {"itl", spread_json(s.itl_s)},
            {"e2e", spread_json(s.e2e_s)},
            {"ttft_floor_s", serving.ttft_floor.value()},
            {"tpot_floor_s", serving.tpot_floor.value()},
            {"requests_per_s", s.requests_per_s},
            {"output_tokens_per_s", s.output_tokens_per_s},
            {"output_tokens_per_s_per_gpu", s.output_tokens_per_s_per_gpu},
            {"sent", s.sent},
            {"finished", s.finished},
            {"unfinished", s.unfinished},
            {"refused_context", s.refused_context},
            {"refused_memory", s.refused_memory},
            {"preemptions", s.preemptions}};
  if (serving.slo)
    json["slo"] = {{"good_share", s.good_share},
                   {"good_requests_per_s", s.good_requests_per_s},
                   {"meets", s.meets}};
  json["saturation_per_s"] =
      serving.saturation_per_s ? Json(*serving.saturation_per_s) : Json(nullptr);
  Json curve = Json::array();
  for (const scenario::LoadPoint& point : serving.curve)
    curve.push_back({{"rate_per_s", point.rate_per_s},
                     {"ttft", spread_json(point.summary.ttft_s)},
                     {"tpot", spread_json(point.summary.tpot_s)},
                     {"output_tokens_per_s", point.summary.output_tokens_per_s},
                     {"good_share", point.summary.good_share}});
  json["curve"] = std::move(curve);
  Json pools = Json::array();
  for (const inference::PoolSummary& pool : serving.pools)
    pools.push_back({{"mean_batch", pool.mean_batch},
                     {"mean_kv_share", pool.mean_kv_share},
                     {"peak_kv_share", pool.peak_kv_share},
                     {"busy_share", pool.busy_share},
                     {"mean_pass_s", pool.mean_pass_s}});
  json["pools"] = std::move(pools);
  json["breakdown"] = breakdown_json(answer.estimate.time);
  if (serving.per_million_output_tokens)
    json["usd_per_million_output_tokens"] = serving.per_million_output_tokens->value();
  if (serving.start) {
    const scenario::ServingStart& start = *serving.start;
    json["start"] = {{"store", start.mount},
                     {"nodes", start.nodes},
                     {"cold_start_s", start.all.time.value()},
                     {"nodes_of_one", start.nodes_of_one},
                     {"scale_out_s", start.one_more.time.value()},
                     {"engine_s", start.engine.value()},
                     {"weights_bytes", start.all.bytes.value()},
                     {"limit", start.all.limit},
                     {"next", start.all.next}};
  }
  return json;
}

Json serving_memory_json(const ServingAnswer& serving) {
  const inference::ServingMemory& m = serving.memory;
  Json remedies = Json::array();
  for (const inference::ServingRemedy& remedy : m.remedies)
    remedies.push_back({{"change", remedy.change}, {"kv_room_bytes", remedy.kv_room.value()}});
  return {{"hbm_bytes", m.hbm.value()},
          {"allowed_bytes", m.allowed.value()},
          {"attention_bytes", m.weights.attention.value()},
          {"ffn_bytes", m.weights.ffn.value()},
          {"experts_bytes", m.weights.experts.value()},
          {"embedding_bytes", m.weights.embedding.value()},
          {"other_bytes", m.other.value()},
          {"kv_room_bytes", m.kv_room.value()},
          {"kv_needed_bytes", m.kv_needed.value()},
          {"fits", m.fits},
          {"remedies", std::move(remedies)}};
}

}  // namespace flowplan::report
