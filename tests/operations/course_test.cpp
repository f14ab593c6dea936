#include "flowplan/operations/course.hpp"

#include <catch2/catch.hpp>

#include "flowplan/operations/simulate.hpp"

namespace flowplan::operations::course_test {

namespace {

RunModel hourly_failures() {
  RunModel run;
  run.mttf = Seconds(3600);
  run.interval = Seconds(300);
  run.stall = Seconds(5);
  run.restart_swap = run.restart_in_place = Seconds(120);
  return run;
}

}  // namespace

TEST_CASE("the course ends where a simulation of the whole ends") {
  const auto course = goodput_course(hourly_failures(), days(2), 8, 40, 3);
  const Simulation whole = simulate_days(hourly_failures(), days(2), {3, 40});
  REQUIRE(course.size() == 8);
  CHECK(course.back().at == days(2));
  CHECK(course.back().p50 == whole.ettr_percentile(50));
  CHECK(course.front().at.value() == Approx(days(0.25).value()));
}

TEST_CASE("the longer a run is watched, the closer runs are together") {
  const auto course = goodput_course(hourly_failures(), days(8), 16, 60, 3);
  for (const CoursePoint& point : course) {
    CHECK(point.p5 <= point.p50);
    CHECK(point.p50 <= point.p95);
  }
  CHECK(course.back().p95 - course.back().p5 < course.front().p95 - course.front().p5);
  const double expected = expected_goodput(hourly_failures()).ettr();
  CHECK(course.back().p50 == Approx(expected).epsilon(0.01));
}

TEST_CASE("a run that never fails loses its saves alone") {
  RunModel run = hourly_failures();
  run.mttf.reset();
  for (const CoursePoint& point : goodput_course(run, days(1), 3, 5, 1))
    CHECK(point.p5 == Approx(300.0 / 305.0).epsilon(2e-3));  // a save is under way at the end
}

}  // namespace flowplan::operations::course_test
