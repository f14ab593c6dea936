#include "flowplan/operations/recovery.hpp"

#include <algorithm>

#include "fixture.hpp"

namespace flowplan::operations::recovery_test {

namespace {

Recovery profile(std::string_view name) {
  auto found = recovery(the_catalog(), name);
  INFO((found ? "" : render(found.error())));
  REQUIRE(found);
  return *found;
}

double typical(std::string_view name, Remedy remedy) {
  return restart_time(profile(name), remedy, Seconds()).value();
}

}  // namespace

TEST_CASE("a restart is the sum of its terms, in the order in which they happen") {
  const Recovery r = profile("slurm-requeue");
  const auto terms = restart_terms(r, Remedy::reboot, Seconds(42));
  REQUIRE(terms.size() == 7);
  CHECK(terms[0].id == "detect");
  CHECK(terms[1].id == "reboot");
  CHECK(terms[5].id == "checkpoint_read");
  CHECK(terms[5].time == Seconds(42));
  // 300 + 120 + 20 + 60 + 30 + 42 + 30
  CHECK(restart_time(r, Remedy::reboot, Seconds(42)).value() == Approx(602));
  // A replacement takes 25 minutes instead of 2.
  CHECK(
      (restart_time(r, Remedy::replace, Seconds(42)) - restart_time(r, Remedy::reboot, Seconds(42)))
          .value() == Approx(1500 - 120));
}

TEST_CASE("published totals are met") {
  CHECK(typical("in-job-restart", Remedy::none) == Approx(60));           // about 1 minute
  CHECK(typical("hot-swap", Remedy::spare_swap) <= 40.0);                 // under 40 s
  CHECK(typical("hyperpod-checkpointless", Remedy::spare_swap) < 120.0);  // under 2 minutes
  CHECK(typical("manual", Remedy::replace) > 3600.0);                     // hours a machine
}

TEST_CASE("every profile is complete and its ranges are ordered") {
  const auto names = recovery_names(the_catalog());
  CHECK(names.size() >= 6);
  CHECK(std::is_sorted(names.begin(), names.end()));
  for (const std::string& name : names) {
    const Recovery r = profile(name);
    INFO(name);
    CHECK_FALSE(r.about.empty());
    for (const TimeRange& t : {r.detect, r.reboot, r.spare_swap, r.replace, r.scheduler,
                               r.process_start, r.communicator_init, r.warm_up}) {
      CHECK(t.low <= t.typical);
      CHECK(t.typical <= t.high);
    }
    CHECK(restart_time(r, Remedy::none, Seconds(), Pace::low) <
          restart_time(r, Remedy::none, Seconds(), Pace::high));
  }
}

TEST_CASE("a profile is found with and without its prefix, others are refused with the nearest") {
  CHECK(profile("recovery-manual").id == "manual");
  const auto unknown = recovery(the_catalog(), "slurm-requeu");
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().front().code == Code::unknown_name);
  CHECK_THAT(unknown.error().front().hint, Catch::Contains("slurm-requeue"));
}

}  // namespace flowplan::operations::recovery_test
