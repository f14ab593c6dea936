#include "flowplan/report/sizing.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "answer_charts.hpp"
#include "flowplan/model/precision.hpp"
#include "flowplan/report/format.hpp"
#include "flowplan/topology/tier_name.hpp"
#include "link_loads.hpp"
#include "operations.hpp"
#include "posttraining.hpp"
#include "serving.hpp"
#include "sizing_details.hpp"
#include "storage.hpp"

namespace flowplan::report {

namespace {

using scenario::Answer;

std::string machines(const Answer& answer) {
  std::string text = fmt::format("{} x {}", grouped(answer.count), answer.instance);
  if (answer.ec2_instances != answer.count) {
    text += fmt::format(" ({} instances)", grouped(answer.ec2_instances));
  }
  text += fmt::format(", {} {} {}", grouped(answer.gpus), answer.gpu,
                      answer.gpus == 1 ? "GPU" : "GPUs");
  if (answer.job.gpus < answer.gpus) {
    text += fmt::format(" ({} work, {} spare)", grouped(answer.job.gpus),
                        grouped(answer.gpus - answer.job.gpus));
  }
  return text;
}

std::string layout(const training::Job& job) {
  const training::Layout& degrees = job.layout;
  std::string text = fmt::format("TP {} x PP {}", degrees.tp, degrees.pp);
  if (degrees.vp > 1) text += fmt::format(" (interleaved x {})", degrees.vp);
  if (degrees.cp > 1)
    text += fmt::format(" x CP {} ({})", degrees.cp, training::name(job.context_parallel));
  text += fmt::format(" x DP {}", degrees.dp);
  if (job.model.experts) {
    text += fmt::format(", experts: EP {}", degrees.ep);
    if (degrees.etp > 1) text += fmt::format(" x ETP {}", degrees.etp);
  }
  if (degrees.tp > 1 && degrees.sequence_parallel) text += ", sequence parallel";
  return text;
}

std::string states(const training::Job& job) {
  std::string text(training::name(job.sharding));
  if (job.shard_group > 0) text += fmt::format(" over groups of {}", job.shard_group);
  if (job.layout.pp > 1) text += fmt::format(", schedule {}", training::name(job.schedule));
  if (job.adapters) text += fmt::format(", LoRA of rank {}", job.adapters->rank);
  return text;
}

const training::StageMemory& fullest(const training::Iteration& iteration) {
  return *std::max_element(iteration.memory.begin(), iteration.memory.end(),
                           [](const training::StageMemory& a, const training::StageMemory& b) {
                             return a.total() < b.total();
                           });
}

std::string fit(const training::Iteration& iteration) {
  const training::StageMemory& stage = fullest(iteration);
  return fmt::format("{} of {} on the fullest GPU (stage {}), {} left", binary_bytes(stage.total()),
                     binary_bytes(iteration.hbm), stage.stage,
                     binary_bytes(iteration.hbm - stage.total()));
}

std::string spoken(std::string_view purchase) {
  std::string text(purchase);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

/// " (15.52 s to 21.43 s)": a value within its band.
template <class Unit>
std::string range(Quantity<Unit> value, const Band& band, std::string (*show)(Quantity<Unit>)) {
  return fmt::format(" ({} to {})", show(value * band.low), show(value * band.high));
}

std::string money(const Answer& answer) {
  for (const operations::PurchaseCost& cost : answer.costs) {
    if (cost.purchase != answer.purchase) continue;
    const std::string assumed =
        fmt::format("{}, list price of {}, {}", spoken(cost.purchase), cost.as_of, cost.region);
    return cost.total ? fmt::format("{}{}; {}, 100 % goodput", usd(*cost.total),
                                    range(*cost.total, answer.estimate.band, usd), assumed)
                      : fmt::format("{} an hour; {}", usd(cost.per_hour), assumed);
  }
  return "no price known";
}

std::string bottleneck(const Estimate& estimate) {
  const auto shares = limits(estimate.time);
  const double whole = estimate.time.time().value();
  if (shares.empty() || whole <= 0) return "none";
  std::string text =
      fmt::format("{}: {} of the step", shares[0].limit, percent(shares[0].time.value() / whole));
  if (shares.size() > 1) {
    text += fmt::format("; next {}: {}", shares[1].limit, percent(shares[1].time.value() / whole));
  }
  return text;
}

Section summary(const Answer& answer) {
  Section section;
  auto& facts = section.facts;
  const training::Job& job = answer.job;
  facts.emplace_back(
      "model", fmt::format("{}, {} parameters", job.model.name, short_count(answer.parameters)));
  facts.emplace_back("cluster", machines(answer));
  facts.emplace_back("layout", layout(job));
  facts.emplace_back("states", states(job));
  facts.emplace_back("batch",
                     fmt::format("{} sequences of {} tokens, micro-batch {}, {}, recompute {}",
                                 grouped(job.global_batch), grouped(job.seq_len), job.micro_batch,
                                 model::name(job.precision), scenario::name(job.recompute)));
  if (!answer.feasible()) {
    facts.emplace_back("fits", "NO: " + answer.reason());
    if (answer.storage && !answer.storage->fits) return section;
    facts.emplace_back("least change that fits", answer.least_change.empty()
                                                     ? "none found, not on 64 times as many either"
                                                     : answer.least_change);
    return section;
  }
  const training::Iteration& iteration = answer.iteration;
  const Band& band = answer.estimate.band;
  facts.emplace_back("fits", "yes: " + fit(iteration));
  if (answer.budget) {
    facts.emplace_back(
        "time",
        fmt::format("{}{} for {} tokens ({} steps, 100 % goodput)", duration(answer.budget->time),
                    range(answer.budget->time, band, duration), short_count(answer.budget->tokens),
                    grouped(answer.budget->steps)));
  }
  facts.emplace_back("money", money(answer));
  if (answer.storage) {
    for (auto& fact : storage_facts(*answer.storage))
      facts.push_back(std::move(fact));
  }
  if (answer.operations) {
    for (auto& fact : operations_facts(answer, *answer.operations))
      facts.push_back(std::move(fact));
  }
  facts.emplace_back(
      "speed",
      fmt::format("{} tokens/s, {} tokens/s per GPU", significant(iteration.tokens_per_second),
                  significant(iteration.tokens_per_second / answer.job.gpus)));
  facts.emplace_back("efficiency", fmt::format("{} model TFLOP/s per GPU, MFU {}",
                                               significant(iteration.model_tflops_per_gpu),
                                               percent(iteration.mfu)));
  facts.emplace_back("step", duration(iteration.step) + range(iteration.step, band, duration));
  facts.emplace_back("bottleneck", bottleneck(answer.estimate));
  facts.emplace_back("ranges",
                     fmt::format("{:.0f} % confidence; {}", 100 * band.confidence, band.regime));
  return section;
}

void add_rows(const Breakdown& node, int depth, Seconds whole, Table& table) {
  const double share = node.time() / whole;
  table.rows.push_back({Cell::at_depth(node.label, depth), significant(node.time().value() * 1e3),
                        percent(share), Cell::bar(share), node.limit, node.next});
  for (const Breakdown& child : node.children)
    add_rows(child, depth + 1, whole, table);
}

Section step(const Answer& answer) {
  Section section{answer.serving ? answer.estimate.time.label : "Step",
                  {},
                  Table{{{"part", false},
                         {"ms"},
                         {"share"},
                         {"", false},
                         {"limited by", false},
                         {"then by", false}},
                        {}},
                  {}};
  add_rows(answer.estimate.time, 0, answer.estimate.time.time(), *section.table);
  section.charts.push_back(breakdown_chart(
      answer.estimate.time, answer.serving ? "Where a decode pass goes" : "Where the step goes"));
  return section;
}

Section memory_section(const Answer& answer) {
  Section section{"Memory of one GPU, GiB",
                  {},
                  Table{{{"stage", false},
                         {"weights"},
                         {"gradients"},
                         {"optimizer"},
                         {"activations"},
                         {"logits"},
                         {"context"},
                         {"buffers"},
                         {"fragmentation"},
                         {"total"},
                         {"headroom"},
                         {"", false}},
                        {}},
                  {}};
  const auto& stages = answer.iteration.memory;
  for (std::size_t first = 0; first < stages.size();) {
    std::size_t last = first;
    while (last + 1 < stages.size() && stages[first].same_as(stages[last + 1]))
      ++last;
    const training::StageMemory& stage = stages[first];
    const std::string label = first == last ? fmt::format("{}", stage.stage)
                                            : fmt::format("{}-{}", stage.stage, stages[last].stage);
    section.table->rows.push_back({label, gib(stage.weights), gib(stage.gradients),
                                   gib(stage.optimizer), gib(stage.activations), gib(stage.logits),
                                   gib(stage.context), gib(stage.buffers), gib(stage.fragmentation),
                                   gib(stage.total()), gib(answer.iteration.hbm - stage.total()),
                                   Cell::bar(stage.total() / answer.iteration.hbm)});
    first = last + 1;
  }
  section.remarks.push_back("Most is held at " + answer.iteration.peak_moment + ".");
  section.charts.push_back(training_memory_chart(answer.iteration));
  return section;
}

Section tiers(const Answer& answer) {
  Section section{"Use of the links over the step, mean of each tier",
                  {},
                  Table{{{"tier", false}, {"utilisation"}, {"", false}}, {}},
                  {}};
  for (const training::TierUse& use : answer.iteration.tiers) {
    section.table->rows.push_back({std::string(topology::tier_name(use.tier, answer.nic_kind)),
                                   percent(use.utilisation), Cell::bar(use.utilisation)});
  }
  section.charts.push_back(links_chart(answer));
  return section;
}

Section fabric(const Answer& answer) {
  Section section{
      "If the switches above the nodes are oversubscribed",
      {},
      Table{{{"leaf uplinks", false}, {"step, ms"}, {"tokens/s"}, {"MFU"}, {"days"}}, {}},
      {}};
  for (const scenario::FabricCase& one : answer.fabric_cases) {
    const std::string days =
        answer.budget
            ? significant(one.step.value() * static_cast<double>(answer.budget->steps) / 86400.0, 3)
            : "-";
    section.table->rows.push_back({fmt::format("{:g}:1", one.oversubscription),
                                   significant(one.step.value() * 1e3),
                                   significant(one.tokens_per_second), percent(one.mfu), days});
  }
  section.remarks = answer.network.assumptions;
  section.charts.push_back(fabric_chart(answer));
  return section;
}

/// What a run costs where it ends; else (serving, no token budget) what an hour costs.
Section prices(const Answer& answer) {
  const bool ends = std::any_of(answer.costs.begin(), answer.costs.end(),
                                [](const auto& cost) { return cost.total.has_value(); });
  Section section{ends ? "Time and money, list prices, 100 % goodput" : "Money, list prices",
                  {},
                  Table{{{"purchase", false},
                         {"USD/h"},
                         {"region", false},
                         {"price of", false},
                         {"can be bought so", false}},
                        {}},
                  {}};
  auto& columns = section.table->columns;
  if (ends) columns.insert(columns.begin() + 2, {"USD for the budget"});
  for (const operations::PurchaseCost& cost : answer.costs) {
    std::vector<Cell> row{spoken(cost.purchase), significant(cost.per_hour.value()), cost.region,
                          cost.as_of, cost.limits.empty() ? "yes, as far as is known" : "NO"};
    if (ends)
      row.insert(row.begin() + 2, Cell(cost.total ? significant(cost.total->value()) : "-"));
    section.table->rows.push_back(std::move(row));
    for (const std::string& limit : cost.limits)
      section.remarks.push_back(spoken(cost.purchase) + ": " + limit);
  }
  if (answer.costs.empty()) {
    section.table.reset();
    section.remarks.push_back(
        fmt::format("No price of {} is known in {}.", answer.instance, answer.region));
  }
  section.remarks.emplace_back("Quotas and discounts of an account are not known.");
  section.charts = price_charts(answer);
  return section;
}

Section network(const topology::Summary& summary, std::string_view nic_kind,
                const std::string& picture) {
  Section section{"Network",
                  {},
                  Table{{{"tier", false},
                         {"links"},
                         {"capacity (both ways)"},
                         {"bisection (one way)"},
                         {"oversubscription"}},
                        {}},
                  {}};
  for (const topology::TierSummary& tier : summary.tiers) {
    section.table->rows.push_back({std::string(topology::tier_name(tier.tier, nic_kind)),
                                   grouped(static_cast<std::int64_t>(tier.links)),
                                   bandwidth(tier.capacity), bandwidth(tier.bisection),
                                   fmt::format("{:g}:1", tier.oversubscription)});
  }
  section.picture = picture;
  section.picture_about =
      fmt::format("The cluster: {} GPUs in {} nodes and {} NVLink domains below {} leaf switches.",
                  grouped(static_cast<std::int64_t>(summary.gpus)),
                  grouped(static_cast<std::int64_t>(summary.nodes)),
                  grouped(static_cast<std::int64_t>(summary.domains)),
                  grouped(static_cast<std::int64_t>(summary.leaves)));
  return section;
}

Section defaulted(const Answer& answer) {
  Section section{"Left out of the scenario, so",
                  {},
                  Table{{{"key", false}, {"value", false}, {"because", false}}, {}},
                  {}};
  for (const Defaulted& one : answer.estimate.defaulted)
    section.table->rows.push_back({one.path, one.value, one.reason});
  return section;
}

Section provenance(const Answer& answer) {
  const Provenance& provenance = answer.estimate.provenance;
  Section section{"Made with", {}, {}, {}};
  section.facts = {{"program", provenance.program_version},
                   {"catalog", provenance.catalog_version},
                   {"scenario", provenance.scenario_sha},
                   {"profiles", fmt::format("{}", fmt::join(provenance.profiles, ", "))}};
  Table table{
      {{"figure", false}, {"value"}, {"unit", false}, {"confidence", false}, {"source", false}},
      {}};
  for (const UsedFigure& figure : provenance.figures) {
    table.rows.push_back({figure.name, exact(figure.value), figure.unit, figure.source.confidence,
                          figure.source.text});
  }
  section.table = std::move(table);
  section.detail = true;
  return section;
}

}  // namespace

Document sizing(const Answer& answer, const SizingDetails& details) {
  Document document{answer.name,
                    answer.about,
                    {answer.serving        ? serving_summary(answer)
                     : answer.posttraining ? posttraining_summary(answer)
                                           : summary(answer)}};
  auto& sections = document.sections;
  if (!answer.estimate.warnings.empty()) {
    Section warnings{"Mind", {}, {}, {}};
    for (const Warning& warning : answer.estimate.warnings)
      warnings.remarks.push_back(warning.message);
    sections.push_back(std::move(warnings));
  }
  if (answer.feasible()) sections.push_back(step(answer));
  if (details.timeline && answer.feasible() && !details.timeline->spans.empty())
    sections.push_back(timeline_section(*details.timeline, answer.iteration.step));
  if (answer.serving) {
    for (Section& section : serving_sections(answer))
      sections.push_back(std::move(section));
  } else if (answer.posttraining) {
    for (Section& section : posttraining_sections(answer))
      sections.push_back(std::move(section));
    if (!answer.iteration.memory.empty()) sections.push_back(memory_section(answer));
  } else {
    sections.push_back(memory_section(answer));
  }
  if (answer.storage) {
    for (Section& section : storage_sections(*answer.storage))
      sections.push_back(std::move(section));
  }
  if (answer.feasible()) {
    if (answer.serving || answer.posttraining) {
      sections.push_back(link_loads_section(answer));
    } else {
      sections.push_back(tiers(answer));
      sections.push_back(fabric(answer));
    }
    sections.push_back(prices(answer));
    if (answer.operations) {
      for (Section& section : operations_sections(answer, *answer.operations))
        sections.push_back(std::move(section));
      if (!details.course.empty()) sections.push_back(course_section(details.course));
    }
  }
  if (details.sensitivity) {
    for (Section& section : sensitivity_sections(*details.sensitivity))
      sections.push_back(std::move(section));
  }
  sections.push_back(network(answer.network, answer.nic_kind, details.picture));
  if (!answer.estimate.defaulted.empty()) sections.push_back(defaulted(answer));
  sections.push_back(provenance(answer));
  document.verdict = answer_verdict(answer);
  document.highlights = answer_highlights(answer);
  document.data = metric_table(answer.estimate);
  return document;
}

namespace {

void add_formulas(const Breakdown& node, int depth, Table& table) {
  table.rows.push_back(
      {Cell::at_depth(node.label, depth), duration(node.time()), node.limit, node.formula});
  for (const Breakdown& child : node.children)
    add_formulas(child, depth + 1, table);
}

}  // namespace

Document explanation(const Answer& answer, const std::string& metric) {
  Document document{answer.name, answer.about, {}};
  Section metrics{"Metrics",
                  {},
                  Table{{{"metric", false}, {"value"}, {"unit", false}, {"what it is", false}}, {}},
                  {}};
  for (const Metric& one : answer.estimate.metrics) {
    if (!metric.empty() && one.id != metric) continue;
    const auto info = find_metric(one.id);
    metrics.table->rows.push_back(
        {one.id, significant(one.value), std::string(info->unit), std::string(info->description)});
  }
  document.sections.push_back(std::move(metrics));
  if (answer.feasible()) {
    Section formulas{
        "Step",
        {},
        Table{{{"part", false}, {"time"}, {"limited by", false}, {"formula", false}}, {}},
        {}};
    add_formulas(answer.estimate.time, 0, *formulas.table);
    document.sections.push_back(std::move(formulas));
  }
  document.sections.push_back(provenance(answer));
  return document;
}

}  // namespace flowplan::report
