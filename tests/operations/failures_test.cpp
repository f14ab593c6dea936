#include "flowplan/operations/failures.hpp"

#include <numeric>

#include "fixture.hpp"

namespace flowplan::operations::failures_test {

namespace {

FailureFacts facts() {
  auto read = failure_facts(the_catalog());
  REQUIRE(read);
  return *read;
}

double mttf_hours(double nodes, double per_node_day, double job_per_hour = 0.0) {
  return *Failures{nodes, per_node_day, job_per_hour}.mttf() / hours(1.0);
}

}  // namespace

TEST_CASE("the job's MTTF is that of a node over their number") {
  // Published for RSC-1's rate: 1.8 h at 16384 GPUs, 0.23 h at 131072; 28.8 h at 1024 by the rate.
  CHECK(mttf_hours(2048, 6.5e-3) == Approx(1.803).epsilon(1e-3));
  CHECK(mttf_hours(16384, 6.5e-3) == Approx(0.2254).epsilon(1e-3));
  CHECK(mttf_hours(128, 6.5e-3) == Approx(28.8).epsilon(2e-3));
  CHECK(mttf_hours(128, 3.79e-3) == Approx(49.472).epsilon(1e-5));
  CHECK(mttf_hours(1024, 3.79e-3) == Approx(6.184).epsilon(1e-4));
}

TEST_CASE("small jobs fail by themselves too: 7.9 h on 1024 GPUs, not 28.8") {
  CHECK(mttf_hours(128, 6.5e-3, facts().job_per_hour) == Approx(7.9).epsilon(2e-3));
  CHECK(facts().job_below_accelerators == 4096.0);
  const Failures both{128, 6.5e-3, 0.092};
  // 0.832 of nodes and 2.208 of the job a day.
  CHECK(both.per_day() == Approx(0.832 + 2.208));
  CHECK(both.node_share() == Approx(0.832 / 3.04));
}

TEST_CASE("what never fails has no MTTF") {
  CHECK_FALSE(Failures{100, 0.0, 0.0}.mttf());
  CHECK(Failures{100, 0.0, 0.0}.node_share() == 0.0);
}

TEST_CASE("Llama 3's interruptions lie inside the band of its generation and near its centre") {
  const FailureFacts all = facts();
  const FailureRate& h100 = all.of(catalog::GpuGeneration::hopper);
  constexpr double nodes = 2048, days = 54, counted = 419;
  CHECK(nodes * days * h100.low < counted);
  CHECK(nodes * days * h100.high > counted);
  CHECK(nodes * days * h100.centre == Approx(counted).epsilon(0.01));
  // The rate of that run alone: 419 / (2048 x 54).
  CHECK(the_catalog().constants("failures").value()->at("fleet.llama3.per_node_day") ==
        Approx(counted / (nodes * days)).epsilon(1e-3));
}

TEST_CASE("every generation has a band around its centre and a source") {
  for (const auto generation : {catalog::GpuGeneration::ampere, catalog::GpuGeneration::hopper,
                                catalog::GpuGeneration::blackwell}) {
    const FailureFacts all = facts();
    const FailureRate& rate = all.of(generation);
    CHECK(rate.low < rate.centre);
    CHECK(rate.centre < rate.high);
    CHECK(rate.high < all.new_fleet.centre);
    CHECK_FALSE(rate.source.text.empty());
  }
}

TEST_CASE("a node with half the accelerators fails half as often") {
  const FailureRate gb200 = facts().blackwell.of_node(4);
  CHECK(gb200.centre == Approx(1.9e-3));
  CHECK(gb200.low == Approx(1.15e-3));
  CHECK(gb200.high == Approx(3.25e-3));
  CHECK(gb200.accelerators == 4.0);
}

TEST_CASE("lemons fail on top of the others") {
  // 3 of 63 nodes, 20 times as often: 60 + 60 node rates, so half of all failures.
  const double share = 3.0 / 63.0;
  const Failures fleet{63, 1e-3, 0.0, share, 20.0};
  CHECK(fleet.per_day() == Approx(120e-3));
  CHECK(facts().lemon_share == Approx(share).epsilon(0.01));
  CHECK(facts().lemon_multiplier == 20.0);
}

TEST_CASE("the counted causes add up to Llama 3's 419 interruptions") {
  const auto causes = facts().causes;
  const double sum = std::accumulate(causes.begin(), causes.end(), 0.0,
                                     [](double s, const FailureCause& c) { return s + c.count; });
  CHECK(sum == 419.0);
  CHECK(causes.front().id == "faulty_gpu");
  CHECK(causes.front().share == Approx(148.0 / 419.0));
  double gpu = 0.0;  // 148 + 72 + 19 + 17 + 6 + 6 of 419: the counts give 64.0 %
  for (const FailureCause& cause : causes) {
    if (cause.id.find("gpu") != std::string::npos || cause.id == "silent_data_corruption")
      gpu += cause.share;
  }
  CHECK(gpu == Approx(0.640).epsilon(1e-3));
}

}  // namespace flowplan::operations::failures_test
