#include "operations_answer.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace flowplan::scenario {

Breakdown wall_time_apart(const OperationsAnswer& run, Seconds whole) {
  const operations::Goodput& g = run.goodput;
  const auto leaf = [&](const char* id, const char* label, double share, const char* limit,
                        std::string formula) {
    return Breakdown{
        fmt::format("operations.{}", id), label, whole * share, limit, "", std::move(formula), {}};
  };
  const double m = run.model.mttf->value();
  Breakdown tree{"operations", "wall time", {}, "", "", "", {}};
  tree.children.push_back(leaf("productive", "computing that is kept", g.productive,
                               "the training step", "ETTR of the renewal form"));
  std::string saves = fmt::format("{:.4g} s every {:.4g} s", run.model.stall.value(),
                                  (run.model.period() - run.model.stall).value());
  if (run.model.memory) {
    saves += fmt::format(", {:.4g} s every {:.4g} s to memory", run.model.memory->stall.value(),
                         run.model.interval.value());
  }
  tree.children.push_back(
      leaf("saving", "stalls of saves", g.saving, "the checkpoint's store", std::move(saves)));
  tree.children.push_back(leaf("recomputed", "computed again after failures", g.recomputed,
                               "failures",
                               fmt::format("every {:.4g} s, back to the last save", m)));
  Breakdown down{"operations.down", "down after failures", {}, "", "", "", {}};
  for (const operations::RestartTerm& term : run.restart) {
    if (term.time.value() <= 0.0) continue;
    const std::string id(term.id);
    std::string label = id;
    std::replace(label.begin(), label.end(), '_', ' ');
    down.children.push_back({"operations.down." + id,
                             label,
                             whole * g.down * (term.time / run.restart_time),
                             label,
                             "",
                             fmt::format("{:.4g} s a failure", term.time.value()),
                             {}});
  }
  if (!down.children.empty()) tree.children.push_back(std::move(down));
  tree.children.push_back(leaf("waiting", "waiting for a node", g.waiting, "spare nodes",
                               fmt::format("Erlang's loss formula: {} spares, {:.4g} s to repair",
                                           run.model.spares, run.model.repair.value())));
  return tree;
}

void add_operations_metrics(const OperationsAnswer& run, const operations::RunCost* headline,
                            Estimate& e) {
  if (run.wall) {
    if (headline != nullptr && !headline->refused) {
      e.add("operations.cost_per_trillion_tokens_usd", headline->per_trillion_tokens.value());
      e.add("operations.cost_usd", headline->total.value());
    }
    e.add("operations.days", *run.wall / days(1.0));
  }
  if (run.days) {
    e.add("operations.days_p5", run.days->p5);
    e.add("operations.days_p50", run.days->p50);
    e.add("operations.days_p95", run.days->p95);
  }
  e.add("operations.checkpoint_interval", run.model.interval.value());
  if (run.effective_mfu) e.add("operations.effective_mfu", *run.effective_mfu);
  if (run.energy) e.add("operations.energy_kwh", run.energy->site_kwh);
  e.add("operations.ettr", run.goodput.ettr());
  if (run.simulated_runs > 0) {
    e.add("operations.ettr_p5", run.ettr.p5);
    e.add("operations.ettr_p50", run.ettr.p50);
    e.add("operations.ettr_p95", run.ettr.p95);
  }
  e.add("operations.failures_per_day", days(1.0) / *run.model.mttf);
  e.add("operations.job_mttf", run.model.mttf->value());
  e.add("operations.restart_time", run.restart_time.value());
  e.add("operations.spares", run.spares);
  e.add("operations.spares_best", run.best_spares);
  e.add("operations.tokens_per_second", run.effective_tokens_per_second);
  e.add("operations.uptime", run.goodput.uptime());
}

}  // namespace flowplan::scenario
