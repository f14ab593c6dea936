#include "flowplan/operations/job_log.hpp"

#include <catch2/catch.hpp>

#include "flowplan/base/text_file.hpp"
#include "flowplan/operations/job_statistics.hpp"

namespace flowplan::operations::job_log_test {

namespace {

const std::string files = FLOWPLAN_SOURCE_DIR "/tests/operations/files/";

JobLog sample(const std::string& name) {
  auto log = read_job_log(files + name);
  if (!log) FAIL(render(log.error()));
  return std::move(*log);
}

std::string told(const Result<JobLog>& log) {
  return log ? std::string() : render(log.error());
}

}  // namespace

TEST_CASE("sacct, SWF and CSV say the same of the same jobs") {
  for (const char* file : {"sacct.psv", "jobs.swf", "jobs.csv"}) {
    CAPTURE(file);
    const JobLog log = sample(file);
    REQUIRE(log.jobs.size() >= 2);
    CHECK(log.jobs[0].gpus == 64);
    CHECK(log.jobs[0].nodes == 8);
    CHECK(log.jobs[0].wait() == Seconds(300));
    CHECK(log.jobs[0].run() == hours(6));
    CHECK(log.jobs[0].end == JobEnd::completed);
    CHECK(log.jobs[1].submitted_s - log.jobs[0].submitted_s == 3600);
    CHECK(log.jobs[1].gpus == 16);
    CHECK(log.jobs[1].wait() == Seconds(30));
  }
  const JobLog sacct = sample("sacct.psv");
  CHECK(sacct.jobs[0].submitted_s == 1767225600);  // what the SWF log's header says of that time
  CHECK(sacct.jobs[1].end == JobEnd::node_failed);
  CHECK(sacct.jobs[2].end == JobEnd::cancelled);
  CHECK_FALSE(sacct.jobs[2].wait());
  CHECK(sample("jobs.swf").cluster_gpus == 128);
}

TEST_CASE("GPU hours, waits, failures and sizes are added up") {
  const JobStatistics seen = summarise(sample("sacct.psv"), 128);
  CHECK(seen.jobs == 3);
  CHECK(seen.started == 2);
  CHECK(seen.gpu_hours == Approx(64 * 6 + 16 * 1));
  CHECK(seen.peak_gpus == 80);  // the second runs beside the first
  CHECK(seen.span == Seconds(6 * 3600 + 300));
  CHECK(*seen.utilisation == Approx(400.0 / (128 * (6 + 300.0 / 3600))));
  CHECK(seen.wait.median == Seconds(165));
  CHECK(seen.wait.longest == Seconds(300));
  REQUIRE(seen.sizes.size() == 2);
  CHECK(seen.sizes[0].least_gpus == 9);
  CHECK(seen.sizes[0].most_gpus == 32);
  CHECK(seen.sizes[1].gpu_hours == Approx(384));
  REQUIRE(seen.ends.size() == 3);
  CHECK(seen.ends[0].end == JobEnd::completed);
  REQUIRE(seen.failures);
  // 8 nodes for 6 h and 2 nodes for 1 h: 50 node hours, one failure.
  CHECK(seen.failures->node_days == Approx(50.0 / 24));
  CHECK(seen.failures->per_node_day == Approx(24.0 / 50));
  // Exact limits of one event: 0.0513 and 4.744.
  CHECK(seen.failures->low * seen.failures->node_days == Approx(0.0513).margin(0.03));
  CHECK(seen.failures->high * seen.failures->node_days == Approx(4.744).epsilon(0.01));
}

TEST_CASE("steps are passed over, and typed GPUs count once") {
  const auto log = parse_job_log(
      "JobID|State|Submit|Start|End|AllocTRES|\n"
      "7|COMPLETED|2024-02-29T23:00:00|2024-02-29T23:30:00|2024-03-01T00:30:00|"
      "gres/gpu:h100=6,gres/gpu:a100=2,node=2|\n"
      "7.batch|COMPLETED|2024-02-29T23:00:00|2024-02-29T23:30:00|2024-03-01T00:30:00|node=1|\n"
      "8|RUNNING|2024-03-01T00:00:00|2024-03-01T00:00:00|Unknown|gres/gpu=4,node=1|\n",
      "s.psv");
  INFO(told(log));
  REQUIRE(log);
  REQUIRE(log->jobs.size() == 2);
  CHECK(log->jobs[0].gpus == 8);
  CHECK(log->jobs[0].run() == hours(1));
  CHECK(log->jobs[1].end == JobEnd::unfinished);
  CHECK(log->jobs[1].run() == Seconds(0));
  CHECK(log->notes == std::vector<std::string>{"1 steps of jobs are passed over"});
}

TEST_CASE("a job that still runs counts with its hours, not with a run time") {
  const auto log = parse_job_log(
      "JobIDRaw|State|Submit|Start|End|ElapsedRaw|NNodes|AllocTRES\n"
      "1|RUNNING|2026-01-01T00:00:00|2026-01-01T00:00:00|Unknown|7200|1|gres/gpu=8\n",
      "s.psv");
  REQUIRE(log);
  const JobStatistics seen = summarise(*log);
  CHECK(seen.gpu_hours == Approx(16));
  CHECK(seen.run.count == 0);
  CHECK(seen.wait.count == 1);
  CHECK(seen.failures->failures == 0);
  CHECK(seen.failures->per_node_day == 0.0);
}

TEST_CASE("mistakes of a job log are told with their lines, all at once") {
  const auto bad = parse_job_log(
      "JobIDRaw|State|Submit|Start|End|AllocTRES\n"
      "1|DANCING|2026-01-01T00:00:00|Unknown|Unknown|\n"
      "2|COMPLETED|yesterday|Unknown|Unknown|\n"
      "3|COMPLETED|2026-01-01T00:00:00\n"
      "4|COMPLETED|2026-01-01T02:00:00|2026-01-01T01:00:00|2026-01-01T03:00:00|gres/gpu=8\n",
      "s.psv");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().size() == 4);
  for (const char* line : {"s.psv:2:", "s.psv:3:", "s.psv:4:", "s.psv:5:"})
    CHECK_THAT(told(bad), Catch::Contains(line));
  CHECK_THAT(told(parse_job_log("JobIDRaw|State\n1|COMPLETED\n", "s.psv")),
             Catch::Contains("FP021") && Catch::Contains("Submit, Start, End, AllocTRES"));
  CHECK_THAT(told(parse_job_log("hello world\n", "s")), Catch::Contains("FP016"));
  CHECK_THAT(told(parse_job_log("1 2 3\n", "s")), Catch::Contains("FP016"));
  CHECK_THAT(told(parse_job_log("; Version: 2.2\n1 0 300 x\n", "s.swf")),
             Catch::Contains("s.swf:2:"));
}

TEST_CASE("a job log cut off anywhere gives jobs or diagnostics, never a crash") {
  for (const char* file : {"sacct.psv", "jobs.swf", "jobs.csv"}) {
    const std::string whole = read_text(files + file, 1 << 20).value();
    for (std::size_t size = 0; size < whole.size(); ++size) {
      const auto log = parse_job_log(std::string_view(whole).substr(0, size), file);
      if (log)
        CHECK(summarise(*log).jobs == log->jobs.size());
      else
        CHECK_FALSE(log.error().empty());
    }
  }
}

}  // namespace flowplan::operations::job_log_test
