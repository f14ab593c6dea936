#include <nlohmann/json.hpp>

#include "operations.hpp"

namespace flowplan::report {

namespace {

using scenario::OperationsAnswer;

Json goodput_json(const operations::Goodput& g) {
  return {{"ettr", g.ettr()},    {"uptime", g.uptime()},       {"productive", g.productive},
          {"saving", g.saving},  {"recomputed", g.recomputed}, {"down", g.down},
          {"waiting", g.waiting}};
}

Json percentiles_json(const scenario::Percentiles& p) {
  return {{"p5", p.p5}, {"p50", p.p50}, {"p95", p.p95}};
}

Json failures_json(const OperationsAnswer& run) {
  return {{"nodes", run.nodes},
          {"per_node_day", run.failures.per_node_day},
          {"job_per_hour", run.failures.job_per_hour},
          {"lemon_share", run.failures.lemon_share},
          {"lemon_multiplier", run.failures.lemon_multiplier},
          {"node_loss_share", run.model.node_loss},
          {"job_mttf_s", run.model.mttf->value()},
          {"from", run.failures_from}};
}

Json restart_json(const OperationsAnswer& run) {
  Json terms = Json::object();
  for (const operations::RestartTerm& term : run.restart)
    terms[std::string(term.id) + "_s"] = term.time.value();
  return {{"profile", run.recovery},
          {"restart_s", run.restart_time.value()},
          {"terms", std::move(terms)},
          {"in_place_s", (run.model.restart_in_place + run.model.read).value()},
          {"repair_s", run.model.repair.value()}};
}

Json checkpoint_json(const OperationsAnswer& run) {
  Json json{{"bytes", run.checkpoint_bytes.value()},
            {"from", run.checkpoint_from},
            {"interval_s", run.model.interval.value()},
            {"interval_steps", run.interval_steps},
            {"interval_chosen", run.interval_chosen},
            {"stall_s", run.model.stall.value()},
            {"persist_s", run.model.persist.value()},
            {"restore_s", run.model.read.value()},
            {"young_s", run.young.value()},
            {"daly_s", run.daly.value()},
            {"daly_higher_order_s", run.daly_higher.value()}};
  if (run.model.memory) {
    const operations::MemoryTier& memory = *run.model.memory;
    json["memory"] = {{"saves_per_store_save", memory.saves_per_disk_save},
                      {"stall_s", memory.stall.value()},
                      {"restore_s", memory.read.value()},
                      {"defeated_share", memory.defeated}};
  }
  return json;
}

Json spares_json(const OperationsAnswer& run) {
  Json options = Json::array();
  for (const operations::SpareOption& option : run.spare_options) {
    options.push_back({{"spares", option.spares},
                       {"ettr", option.ettr},
                       {"waiting", option.waiting},
                       {"paid_over_productive", option.paid_over_productive}});
  }
  return {{"nodes", run.spares},
          {"idle_nodes", run.idle},
          {"extra_units", run.extra_units},
          {"best", run.best_spares},
          {"options", std::move(options)}};
}

Json blocks_json(const operations::BlockPlan& plan) {
  Json blocks = Json::array();
  for (const operations::CapacityBlock& block : plan.blocks)
    blocks.push_back({{"units", block.units}, {"days", block.days}, {"from_day", block.from_day}});
  return blocks;
}

Json costs_json(const OperationsAnswer& run) {
  Json costs = Json::array();
  for (const operations::RunCost& cost : run.costs) {
    const auto price = [&](Usd amount) {
      return cost.refused ? Json(nullptr) : Json(amount.value());
    };
    costs.push_back({{"purchase", cost.purchase},
                     {"region", cost.region},
                     {"as_of", cost.as_of},
                     {"usd_per_unit_hour", cost.usd_per_unit_hour},
                     {"unit_hours", cost.unit_hours},
                     {"compute_usd", price(cost.compute)},
                     {"total_usd", price(cost.total)},
                     {"per_trillion_tokens_usd", price(cost.per_trillion_tokens)},
                     {"purchasable", cost.limits.empty()},
                     {"limits", cost.limits},
                     {"notes", cost.notes},
                     {"blocks", blocks_json(cost.blocks)}});
  }
  return costs;
}

Json energy_json(const operations::Energy& energy) {
  return {{"site_kwh", energy.site_kwh},
          {"machines_kwh", energy.machines_kwh},
          {"gpu_tdp_w", energy.gpu_tdp_w},
          {"node_over_gpu_tdp", energy.node_over_gpu_tdp},
          {"share_of_rating", energy.share_of_rating},
          {"pue", energy.pue}};
}

Json simulated_json(const OperationsAnswer& run) {
  Json json{{"runs", run.simulated_runs},
            {"seed", run.seed},
            {"days_each", run.simulated_days},
            {"ettr", percentiles_json(run.ettr)},
            {"failures", percentiles_json(run.failures_seen)}};
  if (run.days) json["days"] = percentiles_json(*run.days);
  return json;
}

}  // namespace

Json operations_json(const OperationsAnswer& run) {
  Json json{{"expected", goodput_json(run.goodput)},
            {"at_low_failure_rate", goodput_json(run.at_low)},
            {"at_high_failure_rate", goodput_json(run.at_high)},
            {"small_loss_ettr", run.small_loss ? Json(*run.small_loss) : Json(nullptr)}};
  if (run.effective_mfu) json["effective_mfu"] = *run.effective_mfu;
  json["effective_tokens_per_second"] = run.effective_tokens_per_second;
  json["straggler_factor"] = run.straggler_factor;
  if (run.wall) json["wall_s"] = run.wall->value();
  json["failures"] = failures_json(run);
  json["recovery"] = restart_json(run);
  json["checkpoint"] = checkpoint_json(run);
  json["breakdown"] = breakdown_json(run.time);
  if (run.simulated_runs > 0) json["simulated"] = simulated_json(run);
  json["spares"] = spares_json(run);
  json["costs"] = costs_json(run);
  if (run.energy) json["energy"] = energy_json(*run.energy);
  return json;
}

}  // namespace flowplan::report
