#include "flowplan/scenario/operations.hpp"

#include <algorithm>
#include <cmath>

#include "catalog_for_tests.hpp"
#include "flowplan/scenario/run.hpp"

namespace scenario_operations_test {

using namespace flowplan;
using scenario::OperationsAnswer;

namespace {

std::string with(const std::string& operations, const std::string& nodes = "64",
                 const std::string& tokens = R"("tokens": "1T",)") {
  return R"({"cluster": {"instance": "p5.48xlarge", "nodes": )" + nodes +
         R"(}, "workload": {"kind": "pretraining", "model": "llama3-70b", )" + tokens +
         R"( "global_batch": 1024, "parallelism": {"tp": 4, "pp": 4, "vp": 5}},
          "operations": )" +
         operations + "}";
}

scenario::Answer answer_to(const std::string& text) {
  auto answer = scenario::run(real_catalog(), must_read(text), "test");
  INFO((answer ? "" : render(answer.error())));
  REQUIRE(answer);
  REQUIRE(answer->operations);
  return std::move(*answer);
}

Diagnostic run_fault(const std::string& text) {
  const auto answer = scenario::run(real_catalog(), must_read(text), "test");
  REQUIRE_FALSE(answer);
  return answer.error().front();
}

void check_fault(const std::string& text, Code code, const std::string& pointer) {
  const auto faults = faults_of(text);
  INFO(render(faults));
  const bool found = std::any_of(faults.begin(), faults.end(), [&](const Diagnostic& d) {
    return d.code == code && d.place.pointer == pointer;
  });
  CHECK(found);
}

constexpr const char* plain = R"({"checkpoint": {"save_time": "20s", "restore_time": "60s"}})";

}  // namespace

TEST_CASE("every key of operations is read") {
  const auto s = *must_read(with(R"({
    "failures": {"fleet": "high", "per_node_day": 0.01, "job_per_hour": 0.5, "lemon_share": 0.1,
                 "lemon_multiplier": 7, "node_loss_share": 0.4},
    "recovery": {"profile": "manual", "pace": "high", "detect": "1s", "reboot": "2s",
                 "spare_swap": "3s", "replace": "4s", "scheduler": "5s", "process_start": "6s",
                 "communicator_init": "7s", "warm_up": "8s"},
    "checkpoint": {"bytes": "2TB", "write_bandwidth": "100GB/s", "read_bandwidth": "200GB/s",
                   "async": true, "stall": "2s",
                   "memory": {"stall": "1s", "restore_time": "9s", "defeated_share": 0.2,
                              "saves": 12}},
    "checkpoint_interval": "5min", "spares": 3, "repair_window": "2h",
    "stragglers": {"share": 0.01, "slowdown": 1.2},
    "simulation": {"runs": 10, "seed": 99, "days": 12},
    "purchase_limits": "split", "starts_in": "2d", "storage_usd_per_month": 5000,
    "requests_usd": 12, "energy": {"pue": 1.3, "share_of_rating": 0.6,
    "node_over_gpu_tdp": 1.5}})"))
                      .operations;
  CHECK(s.failures.fleet == scenario::Fleet::high);
  CHECK(s.failures.per_node_day == 0.01);
  CHECK(s.failures.job_per_hour == 0.5);
  CHECK(s.failures.lemon_share == 0.1);
  CHECK(s.failures.lemon_multiplier == 7.0);
  CHECK(s.failures.node_loss == 0.4);
  CHECK(s.recovery.profile == "manual");
  CHECK(s.recovery.pace == operations::Pace::high);
  CHECK(s.recovery.detect == Seconds(1));
  CHECK(s.recovery.warm_up == Seconds(8));
  CHECK(s.checkpoint.bytes == gigabytes(2000));
  CHECK(s.checkpoint.write == gigabytes_per_second(100));
  CHECK(s.checkpoint.read == gigabytes_per_second(200));
  CHECK(s.checkpoint.async);
  CHECK(s.checkpoint.stall == Seconds(2));
  REQUIRE(s.checkpoint.memory);
  CHECK(s.checkpoint.memory->saves_per_disk_save == 12);
  CHECK(s.checkpoint.memory->defeated == 0.2);
  CHECK_FALSE(s.checkpoint.memory_saves_open);
  CHECK(s.checkpoint.interval == Seconds(300));
  CHECK(s.spares == 3);
  CHECK(s.repair == hours(2));
  CHECK(s.straggler_share == 0.01);
  CHECK(s.straggler_slowdown == 1.2);
  CHECK(s.runs == 10);
  CHECK(s.seed == 99);
  CHECK(s.days == 12.0);
  CHECK(s.beyond_limits == operations::BeyondLimits::split);
  CHECK(s.starts_in_days == 2.0);
  CHECK(s.storage_per_month == Usd(5000));
  CHECK(s.requests == Usd(12));
  CHECK(s.energy.pue == 1.3);
  CHECK(s.energy.share_of_rating == 0.6);
  CHECK(s.energy.node_over_gpu_tdp == 1.5);
}

TEST_CASE("a time between failures of nothing or less is refused") {
  check_fault(with(R"({"failures": {"node_mtbf": "0d"}})"), Code::value_out_of_range,
              "/operations/failures/node_mtbf");
  check_fault(with(R"({"failures": {"job_mtbf": "0s"}})"), Code::value_out_of_range,
              "/operations/failures/job_mtbf");
  check_fault(with(R"({"failures": {"node_mtbf": "-3d"}})"), Code::bad_quantity,
              "/operations/failures/node_mtbf");
  check_fault(with(R"({"failures": {"per_node_day": 0}})"), Code::value_out_of_range,
              "/operations/failures/per_node_day");
}

TEST_CASE("what says the same twice, unknown names and odd texts are refused") {
  check_fault(with(R"({"failures": {"node_mtbf": "300d", "per_node_day": 0.003}})"),
              Code::bad_operations, "/operations/failures/node_mtbf");
  check_fault(with(R"({"failures": {"job_mtbf": "3h", "per_node_day": 0.003}})"),
              Code::bad_operations, "/operations/failures/job_mtbf");
  check_fault(with(R"({"checkpoint": {"save_time": "3s", "write_bandwidth": "1GB/s"}})"),
              Code::bad_operations, "/operations/checkpoint/save_time");
  check_fault(with(R"({"checkpoint": {"save_time": "3s", "stall": "1s"}})"), Code::bad_operations,
              "/operations/checkpoint/stall");
  check_fault(with(R"({"recovery": {"profile": "slurm"}})"), Code::unknown_name,
              "/operations/recovery/profile");
  check_fault(with(R"({"spares": "some"})"), Code::value_not_allowed, "/operations/spares");
  check_fault(with(R"({"checkpoint_interval": "5 parsecs"})"), Code::bad_quantity,
              "/operations/checkpoint_interval");
  check_fault(with(R"({"checkpoint": {"write_bandwidth": "0GB/s"}})"), Code::value_out_of_range,
              "/operations/checkpoint/write_bandwidth");
  // Faults elsewhere in the file do not hide these.
  check_fault(with(R"({"spares": "some"})", "0"), Code::value_not_allowed, "/operations/spares");
}

TEST_CASE("an interval shorter than the save, and a save that nobody describes") {
  const Diagnostic shorter =
      run_fault(with(R"({"checkpoint": {"save_time": "5min"}, "checkpoint_interval": "60s"})"));
  CHECK(shorter.code == Code::bad_operations);
  CHECK(shorter.place.pointer == "/operations/checkpoint_interval");
  CHECK(shorter.place.line > 0);
  CHECK(
      run_fault(with(R"({"checkpoint": {"save_time": "5min"}, "checkpoint_interval": 1})")).code ==
      Code::bad_operations);
  CHECK(run_fault(with("{}")).code == Code::missing_key);
  CHECK(run_fault(with(R"({"checkpoint": {"save_time": "5min", "async": true}})")).code ==
        Code::missing_key);
}

TEST_CASE("the answer holds what the closed forms say for its model") {
  const auto answer = answer_to(with(plain));
  const OperationsAnswer& run = *answer.operations;
  CHECK(run.nodes == 64.0);
  // 512 GPUs: 64 x 3.8e-3 a day of nodes and 0.092 an hour of the job.
  const double a_day = 64 * 3.8e-3 + 0.092 * 24;
  CHECK(*answer.estimate.value("operations.failures_per_day") == Approx(a_day));
  CHECK(run.model.node_loss == Approx(64 * 3.8e-3 / a_day));
  // Detect 300, scheduler 20, start 60, communicators 30, read 60, warm-up 30.
  CHECK(run.restart_time.value() == Approx(500));
  CHECK(run.goodput.ettr() == Approx(operations::expected_goodput(run.model).ettr()));
  CHECK(run.wall->value() == Approx(answer.budget->time.value() / run.goodput.ettr()));
  CHECK(run.effective_mfu.value() == Approx(answer.iteration.mfu * run.goodput.ettr()));
  CHECK(run.time.time().value() == Approx(run.wall->value()).epsilon(1e-9));
  CHECK(run.at_high.ettr() < run.goodput.ettr());
  CHECK(run.goodput.ettr() < run.at_low.ettr());
  CHECK(run.days->p5 < *answer.estimate.value("operations.days"));
  CHECK(*answer.estimate.value("operations.days") < run.days->p95);
}

TEST_CASE("the chosen interval is whole steps and beats its neighbours") {
  const scenario::Answer answer = answer_to(with(plain));
  const OperationsAnswer& run = *answer.operations;
  CHECK(run.interval_chosen);
  const Seconds step = run.model.interval / static_cast<double>(run.interval_steps);
  for (const double steps : {0.5, 0.8, 1.25, 2.0}) {
    operations::RunModel other = run.model;
    other.interval = step * std::round(steps * static_cast<double>(run.interval_steps));
    CHECK(operations::expected_goodput(other).ettr() <= run.goodput.ettr());
  }
}

TEST_CASE("stated intervals are taken, as a time and as steps") {
  const auto steps =
      answer_to(with(R"({"checkpoint": {"save_time": "5s"}, "checkpoint_interval": 100})"));
  CHECK(steps.operations->interval_steps == 100);
  CHECK(steps.operations->model.interval.value() == Approx(100 * steps.iteration.step.value()));
  const auto time =
      answer_to(with(R"({"checkpoint": {"save_time": "5s"}, "checkpoint_interval": "1h"})"));
  CHECK(time.operations->model.interval.value() ==
        Approx(3600).margin(time.iteration.step.value()));
  CHECK_FALSE(time.operations->interval_chosen);
}

TEST_CASE("a checkpoint has 14 bytes a parameter unless it is stated") {
  const auto answer = answer_to(with(R"({"checkpoint": {"write_bandwidth": "100GB/s"}})"));
  CHECK(answer.operations->checkpoint_bytes.value() == Approx(14 * answer.parameters));
  CHECK(answer.operations->model.stall.value() == Approx(14 * answer.parameters / 1e11));
  CHECK(answer.operations->model.read == answer.operations->model.stall);
}

TEST_CASE("money with goodput is the list price over the ETTR, spares and charges on top") {
  const auto without = answer_to(with(plain));
  const double list = *without.estimate.value("training.cost_usd");
  CHECK(*without.estimate.value("operations.cost_usd") ==
        Approx(list / without.operations->goodput.ettr()));
  CHECK(*without.estimate.value("operations.cost_per_trillion_tokens_usd") ==
        Approx(*without.estimate.value("operations.cost_usd")));
  const auto spares = answer_to(with(
      R"({"checkpoint": {"save_time": "20s", "restore_time": "60s"}, "spares": 16,
          "requests_usd": 1000})"));
  CHECK(spares.operations->extra_units == 16);
  CHECK(*spares.estimate.value("operations.cost_usd") ==
        Approx(1000 + list * 80 / 64 / spares.operations->goodput.ettr()));
}

TEST_CASE("nodes that the workload leaves idle are spares, and cost nothing more") {
  const std::string text = R"({"cluster": {"instance": "p5.48xlarge", "nodes": 68},
    "workload": {"kind": "pretraining", "model": "llama3-70b", "tokens": "1T",
      "global_batch": 1024, "placement": {"gpus": 512}, "parallelism": {"tp": 4, "pp": 4, "vp": 5}},
    "operations": {"checkpoint": {"save_time": "20s"}}})";
  const auto answer = answer_to(text);
  CHECK(answer.operations->nodes == 64.0);
  CHECK(answer.operations->spares == 4);
  CHECK(answer.operations->extra_units == 0);
}

TEST_CASE("the cheapest number of spares is bought where asked for") {
  const auto answer = answer_to(with(
      R"({"checkpoint": {"save_time": "20s"}, "spares": "auto", "repair_window": "2d",
          "failures": {"per_node_day": 0.05}})"));
  const OperationsAnswer& run = *answer.operations;
  CHECK(run.spares == run.best_spares);
  CHECK(run.spares >= 6);  // 64 x 0.05 x 2 = 6.4 nodes are away on average
  CHECK(run.spares < 20);
}

TEST_CASE("without tokens there are shares of a day and no money") {
  const auto answer = answer_to(with(plain, "64", ""));
  CHECK_FALSE(answer.operations->wall);
  CHECK(answer.operations->costs.empty());
  CHECK(answer.operations->time.time().value() == Approx(86400.0));
  CHECK(answer.operations->simulated_days == 30.0);
  CHECK(answer.estimate.value("operations.days") == nullptr);
  CHECK(answer.estimate.value("operations.ettr") != nullptr);
}

TEST_CASE("Capacity Blocks: flagged, split, refused") {
  const auto blocks = [](const char* policy, const char* nodes) {
    std::string text = with(R"({"checkpoint": {"save_time": "20s"}, "purchase_limits": ")" +
                                std::string(policy) + "\"}",
                            nodes);
    text.insert(text.find("}, \"workload\""), R"(, "purchase": "capacity_block")");
    return text;
  };
  const auto cost = [](const scenario::Answer& answer) {
    for (const operations::RunCost& one : answer.operations->costs) {
      if (one.purchase == "capacity_block") return one;
    }
    return operations::RunCost{};
  };
  CHECK_FALSE(cost(answer_to(blocks("flag", "128"))).limits.empty());
  const auto split = cost(answer_to(blocks("split", "128")));
  CHECK(split.limits.empty());
  CHECK(split.blocks.blocks.size() == 2);
  CHECK(run_fault(blocks("refuse", "128")).code == Code::cannot_be_bought);
  CHECK(run_fault(blocks("refuse", "128")).place.pointer == "/operations/purchase_limits");
  CHECK_FALSE(cost(answer_to(blocks("refuse", "64"))).refused);
}

TEST_CASE("UltraServers fail by instance of 4 GPUs, at an assumed rate") {
  const auto answer = answer_to(R"({"cluster": {"instance": "u-p6e-gb200x72", "count": 8,
    "region": "us-east-1-dfw"}, "workload": {"kind": "pretraining", "model": "llama3-70b",
    "tokens": "1T", "placement": {"gpus_per_domain": 64}},
    "operations": {"checkpoint": {"save_time": "20s"}}})");
  const OperationsAnswer& run = *answer.operations;
  CHECK(run.nodes == 128.0);  // 8 x 64 / 4
  CHECK(run.idle == 16);      // 8 x 8 / 4
  CHECK(run.spares == 16);
  CHECK(run.failures.per_node_day == Approx(1.9e-3));
  const auto& warnings = answer.estimate.warnings;
  CHECK(std::any_of(warnings.begin(), warnings.end(),
                    [](const Warning& w) { return w.id == "failure_rate_assumed"; }));
}

TEST_CASE("stragglers slow every step, not the ETTR's definition") {
  const auto plainly = answer_to(with(plain));
  const auto slow = answer_to(with(
      R"({"checkpoint": {"save_time": "20s", "restore_time": "60s"},
          "stragglers": {"share": 1.0, "slowdown": 1.25}})"));
  CHECK(slow.operations->straggler_factor == Approx(1.25));
  CHECK(slow.operations->effective_mfu.value() ==
        Approx(slow.iteration.mfu * slow.operations->goodput.ettr() / 1.25));
  CHECK(slow.operations->goodput.ettr() ==
        Approx(plainly.operations->goodput.ettr()).epsilon(0.01));
}

TEST_CASE("the same scenario gives the same percentiles, another seed others") {
  const auto seeded = [](int seed) {
    return answer_to(with(R"({"checkpoint": {"save_time": "20s"}, "simulation": {"runs": 50,
      "seed": )" + std::to_string(seed) +
                          "}}"))
        .operations->ettr;
  };
  CHECK(seeded(1).p50 == seeded(1).p50);
  CHECK(seeded(1).p5 == seeded(1).p5);
  CHECK(seeded(1).p5 != seeded(2).p5);
}

TEST_CASE("a job that does not fit has no operations") {
  const auto scenario = must_read(R"({"cluster": {"instance": "p5.48xlarge", "nodes": 64},
    "workload": {"kind": "pretraining", "model": "llama3.1-405b", "recompute": "none",
    "global_batch": 512, "parallelism": {"tp": 8, "pp": 8}},
    "operations": {"checkpoint": {"save_time": "20s"}}})");
  const auto answer = scenario::run(real_catalog(), scenario, "test");
  REQUIRE(answer);
  CHECK_FALSE(answer->operations);
}

}  // namespace scenario_operations_test
