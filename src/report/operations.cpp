#include "operations.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "answer_charts.hpp"
#include "flowplan/report/format.hpp"

namespace flowplan::report {

namespace {

using scenario::OperationsAnswer;

using Facts = std::vector<std::pair<std::string, std::string>>;

std::string in_words(std::string_view id) {
  std::string text(id);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string days_text(double days) {
  return duration(Seconds(days * operations::seconds_per_day));
}

std::string interval_text(const OperationsAnswer& run) {
  return fmt::format("every {} {} ({}){}", grouped(run.interval_steps),
                     run.interval_steps == 1 ? "step" : "steps", duration(run.model.interval),
                     run.interval_chosen ? ", chosen" : ", as stated");
}

std::string save_text(const OperationsAnswer& run) {
  std::string text = fmt::format("a save stalls {}", duration(run.model.stall));
  if (run.model.persist > Seconds())
    text += fmt::format(" and is safe {} later", duration(run.model.persist));
  text += fmt::format(", a restore reads for {}", duration(run.model.read));
  if (run.checkpoint_bytes > Bytes())
    text += fmt::format("; {}", binary_bytes(run.checkpoint_bytes));
  return text + fmt::format(" ({})", run.checkpoint_from);
}

std::string memory_text(const operations::MemoryTier& memory) {
  return fmt::format(
      "{} saves into host memory to one to the store; each stalls {}, {} of the "
      "failures defeat it",
      memory.saves_per_disk_save, duration(memory.stall), percent(memory.defeated));
}

std::string failure_text(const OperationsAnswer& run) {
  return fmt::format("every {} on {} nodes ({})", duration(*run.model.mttf),
                     grouped(static_cast<std::int64_t>(run.nodes)), run.failures_from);
}

std::string spares_text(const OperationsAnswer& run) {
  std::string text = run.spares == 1 ? std::string("1 node stands ready")
                                     : fmt::format("{} nodes stand ready", run.spares);
  if (run.extra_units > 0)
    text += fmt::format(" ({} units paid for beside the cluster)", run.extra_units);
  text += fmt::format(", a lost node is back after {}; {} would be cheapest",
                      duration(run.model.repair), run.best_spares);
  return text;
}

Facts run_facts(const OperationsAnswer& run) {
  Facts facts;
  facts.emplace_back("the job fails", failure_text(run));
  facts.emplace_back("restart", fmt::format("{} ({})", duration(run.restart_time), run.recovery));
  facts.emplace_back("checkpoint", interval_text(run) + "; " + save_text(run));
  if (run.model.memory) facts.emplace_back("host memory", memory_text(*run.model.memory));
  facts.emplace_back("spares", spares_text(run));
  facts.emplace_back("formulas",
                     fmt::format("Young {}, Daly {}, higher order {}; ETTR for small losses {}",
                                 duration(run.young), duration(run.daly), duration(run.daly_higher),
                                 run.small_loss ? percent(*run.small_loss) : "not valid here"));
  if (run.straggler_factor > 1.0) {
    facts.emplace_back("stragglers",
                       fmt::format("steps take {:.3f} times as long", run.straggler_factor));
  }
  if (run.simulated_runs > 0) {
    facts.emplace_back(
        "simulated",
        fmt::format("{} runs of {} (seed {}): ETTR {} / {} / {}, failures {:.0f} / {:.0f} / {:.0f} "
                    "(5, 50, 95 %)",
                    grouped(run.simulated_runs), days_text(run.simulated_days), run.seed,
                    percent(run.ettr.p5), percent(run.ettr.p50), percent(run.ettr.p95),
                    run.failures_seen.p5, run.failures_seen.p50, run.failures_seen.p95));
  }
  return facts;
}

void add_times(const Breakdown& node, int depth, Seconds whole, Table& table) {
  const double share = node.time() / whole;
  table.rows.push_back({Cell::at_depth(node.label, depth), significant(node.time() / days(1.0), 3),
                        percent(share), Cell::bar(share), node.formula});
  for (const Breakdown& child : node.children)
    add_times(child, depth + 1, whole, table);
}

Section time_section(const OperationsAnswer& run) {
  Section section{run.wall ? "Failures and goodput: where the wall time goes"
                           : "Failures and goodput: where a day goes",
                  run_facts(run),
                  Table{{{"part", false}, {"days"}, {"share"}, {"", false}, {"how", false}}, {}},
                  {}};
  add_times(run.time, 0, run.time.time(), *section.table);
  std::string terms =
      "ETTR (goodput) is the kept part; uptime adds stalls and what is computed again";
  if (run.effective_mfu) terms += "; effective MFU is MFU times ETTR";
  section.remarks.push_back(terms + ".");
  return section;
}

std::string list_price(const scenario::Answer& answer, const std::string& purchase) {
  for (const operations::PurchaseCost& cost : answer.costs) {
    if (cost.purchase == purchase && cost.total) return significant(cost.total->value());
  }
  return "-";
}

std::string blocks_text(const operations::RunCost& cost) {
  if (cost.refused) return "NO: refused";
  if (cost.blocks.possible()) {
    return fmt::format("yes: {} {}", cost.blocks.blocks.size(),
                       cost.blocks.blocks.size() == 1 ? "block" : "blocks");
  }
  return cost.limits.empty() ? "yes, as far as is known" : "NO";
}

Section money_section(const scenario::Answer& answer, const OperationsAnswer& run) {
  Section section{"Money with goodput",
                  {},
                  Table{{{"purchase", false},
                         {"100 % goodput, USD"},
                         {"with goodput, USD"},
                         {"USD per 10^12 tokens"},
                         {"unit hours"},
                         {"price of", false},
                         {"can be bought so", false}},
                        {}},
                  {}};
  for (const operations::RunCost& cost : run.costs) {
    section.table->rows.push_back(
        {in_words(cost.purchase), list_price(answer, cost.purchase),
         cost.refused ? "-" : significant(cost.total.value()),
         cost.refused ? "-" : significant(cost.per_trillion_tokens.value()),
         significant(cost.unit_hours), cost.as_of, blocks_text(cost)});
    for (const std::string& limit : cost.limits)
      section.remarks.push_back(in_words(cost.purchase) + ": " + limit);
    for (const std::string& note : cost.notes)
      section.remarks.push_back(in_words(cost.purchase) + ": " + note);
  }
  if (run.costs.empty()) section.table.reset();
  if (run.energy) {
    const operations::Energy& e = *run.energy;
    section.facts.emplace_back(
        "energy, an estimate",
        fmt::format("{} MWh: {:g} W a GPU x {:g} for the node x {:g} drawn x PUE {:g}",
                    significant(e.site_kwh / 1e3), e.gpu_tdp_w, e.node_over_gpu_tdp,
                    e.share_of_rating, e.pue));
  }
  return section;
}

}  // namespace

Facts operations_facts(const scenario::Answer& answer, const OperationsAnswer& run) {
  Facts facts;
  const std::string band =
      run.at_low.ettr() > run.at_high.ettr()
          ? fmt::format(" ({} to {} over the band of failure rates)", percent(run.at_high.ettr()),
                        percent(run.at_low.ettr()))
          : "";
  std::string goodput = fmt::format("ETTR {}{}, uptime {}", percent(run.goodput.ettr()), band,
                                    percent(run.goodput.uptime()));
  if (run.effective_mfu) goodput += fmt::format(", effective MFU {}", percent(*run.effective_mfu));
  facts.emplace_back("goodput", std::move(goodput));
  if (run.wall) {
    std::string text = fmt::format("{} expected", duration(*run.wall));
    if (run.days) {
      text += fmt::format("; {} to {} in 90 % of {} simulated runs", days_text(run.days->p5),
                          days_text(run.days->p95), grouped(run.simulated_runs));
    }
    facts.emplace_back("time with failures", text);
  }
  for (const operations::RunCost& cost : run.costs) {
    if (cost.purchase != answer.purchase) continue;
    facts.emplace_back("money with failures",
                       fmt::format("{}, {} USD per 10^12 tokens; {}, list price of {}",
                                   usd(cost.total), significant(cost.per_trillion_tokens.value()),
                                   in_words(cost.purchase), cost.as_of));
  }
  return facts;
}

std::vector<Section> operations_sections(const scenario::Answer& answer,
                                         const OperationsAnswer& run) {
  std::vector<Section> sections{time_section(run)};
  sections.back().charts.push_back(wall_time_chart(run.time));
  if (!run.costs.empty() || run.energy) sections.push_back(money_section(answer, run));
  if (!run.costs.empty()) sections.back().charts.push_back(run_cost_chart(answer, run));
  return sections;
}

}  // namespace flowplan::report
