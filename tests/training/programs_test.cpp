#include "flowplan/training/programs.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "flowplan/training/schedule.hpp"

namespace flowplan::training::programs_test {

namespace {

/// "F0 F1 I0 W0": forward, backward, input and weight, DualPipe's second direction with a stroke,
/// what overlaps with a plus.
std::string words(const std::vector<Pass>& program) {
  std::string text;
  bool joined = true;
  for (const Pass& pass : program) {
    const char part = "FBIW"[static_cast<int>(pass.part)];
    text += fmt::format("{}{}{}{}", joined ? "" : " ", part, pass.micro_batch,
                        pass.direction == 1 ? "'" : "");
    joined = pass.with_next;
    if (joined) text += "+";
  }
  return text;
}

Job job_of(Schedule schedule, int pp, int vp = 1) {
  Job job;
  job.schedule = schedule;
  job.layout.pp = pp;
  job.layout.vp = vp;
  return job;
}

double flush(double forward, double backward, double weight, std::size_t stages, int m) {
  const std::vector<StagePass> all(stages, {Seconds(forward), Seconds(backward), Seconds(weight)});
  const PipelineTime time = pipeline_time(all, m, 1, Schedule::dual_pipe);
  return (time.steady + time.bubble).value();
}

}  // namespace

TEST_CASE("1F1B fills with the stages behind, ZB-H1 delays weights by the rank") {
  CHECK(words(program_of(job_of(Schedule::one_forward_one_backward, 3), 0, 4)) ==
        "F0 F1 F2 B0 F3 B1 B2 B3");
  CHECK(words(program_of(job_of(Schedule::zero_bubble_1, 3), 0, 4)) ==
        "F0 F1 F2 I0 W0 F3 I1 W1 I2 W2 I3 W3");
  CHECK(words(program_of(job_of(Schedule::zero_bubble_1, 3), 2, 4)) ==
        "F0 I0 F1 I1 F2 I2 W0 F3 I3 W1 W2 W3");
}

TEST_CASE("DualPipe's eight steps, by hand for two ranks") {
  // Rank 0, both ranks in the middle: fill with a micro-batch of each direction, then pairs, of
  // which the first does not overlap; at the end one weight gradient waits.
  CHECK(words(program_of(job_of(Schedule::dual_pipe, 2), 0, 4)) ==
        "F0 F0' F1 B0' F1'+B0 B1' I1 W1");
  CHECK(words(program_of(job_of(Schedule::dual_pipe, 2), 1, 4)) ==
        "F0' F0 F1' B0 F1+B0' B1 I1' W1'");
}

TEST_CASE("DualPipe's bubble is its authors' for a backward pass of twice the forward one") {
  // (p / 2 - 1) (F + 2 B - 3 W) = (p / 2 - 1) 2 F with B = 2 F, W = F (arXiv 2412.19437, table 2).
  for (const int p : {2, 4, 8, 16}) {
    CAPTURE(p);
    const int m = 4 * p;
    CHECK(flush(1, 2, 1, static_cast<std::size_t>(p), m) ==
          Approx(3.0 * m + (p / 2.0 - 1.0) * 2.0));
  }
  // Four stages, B = 3 F, W = F, by playing: 3 F are idle, where that formula has 4.
  CHECK(flush(1, 3, 1, 4, 8) == Approx(8 * 4 + 3));
}

}  // namespace flowplan::training::programs_test
