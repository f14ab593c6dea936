#include "flowplan/planner/sweep.hpp"

#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/planner/sweep_file.hpp"
#include "flowplan/scenario/overrides.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::planner::sweep_test {

namespace {

const catalog::Catalog& shipped() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  return *loaded;
}

const JsonDocument& schema() {
  static const auto read =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  return *read;
}

const JsonDocument& small() {
  static const auto parsed = JsonDocument::parse(
      R"({"cluster": {"instance": "p5.48xlarge", "count": 1},
          "workload": {"kind": "pretraining", "model": "llama3-8b", "seq_len": 4096,
                       "global_batch": 64}})",
      "small.json");
  return *parsed;
}

Grid grid_of(const std::vector<std::string>& axes) {
  return read_grid(small(), axes).value();
}

std::vector<SweepRow> rows_of(const Grid& grid, const SweepOptions& options = {}) {
  std::vector<SweepRow> rows;
  const auto swept = sweep(shipped(), small(), schema(), grid, options,
                           [&](const SweepRow& row) { rows.push_back(row); });
  if (!swept) FAIL(render(swept.error()));
  return rows;
}

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / name).string();
}

/// What a sweep of these options writes, as a file of that name read back.
SweepFile written(const Grid& grid, const SweepOptions& options, const std::string& name,
                  std::size_t cut = 0) {
  const std::string path = temporary(name);
  std::string text = head_line(sweep_head(small(), grid, "1", "c")) + "\n";
  for (const SweepRow& row : rows_of(grid, options))
    text += row_line(row, grid) + "\n";
  std::ofstream(path, std::ios::binary) << text.substr(0, text.size() - cut);
  return read_sweep_file(path).value();
}

}  // namespace

TEST_CASE("a row is what running the scenario with the point's values gives") {
  const Grid grid = grid_of({"cluster.count=1,2", "workload.parallelism.tp=1,2"});
  const auto rows = rows_of(grid);
  REQUIRE(rows.size() == 4);
  for (const SweepRow& row : rows) {
    const auto document =
        scenario::with_overrides(small(), schema(), grid.overrides(row.point)).value();
    const auto answer =
        scenario::run(shipped(), scenario::read(shipped(), document, schema()).value(), "").value();
    REQUIRE(row.state == SweepRow::State::ok);
    REQUIRE(row.metrics.size() == answer.estimate.metrics.size());
    for (std::size_t i = 0; i < row.metrics.size(); ++i)
      CHECK(row.metrics[i].value == answer.estimate.metrics[i].value);
  }
}

TEST_CASE("points that do not fit or make no sense are rows that say why") {
  const auto rows = rows_of(grid_of({"workload.model=llama3-8b,llama3.1-405b,nonsense"}));
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].state == SweepRow::State::ok);
  CHECK(rows[0].reason.empty());
  CHECK(rows[1].state == SweepRow::State::does_not_fit);
  CHECK_FALSE(rows[1].reason.empty());
  CHECK(rows[2].state == SweepRow::State::invalid);
  CHECK(rows[2].reason.find("nonsense") != std::string::npos);
  CHECK(rows[2].metrics.empty());
}

TEST_CASE("a path that scenarios do not have is refused before anything runs") {
  const auto swept = sweep(shipped(), small(), schema(), grid_of({"cluster.cuont=1,2"}), {},
                           [](const SweepRow&) { FAIL("nothing runs"); });
  REQUIRE_FALSE(swept);
  CHECK(swept.error().front().code == Code::unknown_key);
  CHECK(swept.error().front().hint.find("cluster.count") != std::string::npos);
}

TEST_CASE("rows come in order and are the same on any number of threads") {
  const Grid grid = grid_of({"cluster.count=1:20:1"});
  SweepOptions one;
  one.threads = 1;
  SweepOptions three;
  three.threads = 3;
  const auto a = rows_of(grid, one), b = rows_of(grid, three);
  REQUIRE(a.size() == 20);
  REQUIRE(b.size() == 20);
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].point == i);
    CHECK(row_line(a[i], grid) == row_line(b[i], grid));
  }
}

TEST_CASE("shards share the points out without rest") {
  for (const std::uint64_t points : {0U, 1U, 6U, 7U, 10U}) {
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < 7; ++i)
      sum += Shard{i, 7}.size(points);
    CHECK(sum == points);
  }
  CHECK(Shard{2, 7}.point(3) == 23);
  CHECK(parse_shard("3/4")->index == 3);
  for (const char* text : {"", "4/4", "-1/4", "1", "1/", "/2", "1/2x", "0/0"})
    CHECK_FALSE(parse_shard(text));
}

TEST_CASE("shards merged are what one sweep writes") {
  const Grid grid = grid_of({"cluster.count=1:5:1", "workload.micro_batch=1,2"});
  std::string whole = head_line(sweep_head(small(), grid, "1", "c")) + "\n";
  for (const SweepRow& row : rows_of(grid))
    whole += row_line(row, grid) + "\n";
  for (const std::uint64_t count : {1U, 2U, 7U}) {
    std::vector<SweepFile> files;
    for (std::uint64_t i = count; i-- > 0;) {
      SweepOptions options;
      options.shard = {i, count};
      files.push_back(written(grid, options, "sweep-shard.jsonl"));
    }
    const auto merged = merge_sweeps(files);
    if (!merged) FAIL(render(merged.error()));
    CHECK(*merged == whole);
    if (count > 1) {
      files.pop_back();
      CHECK_FALSE(merge_sweeps(files));  // one is missing
      files.push_back(files.front());
      CHECK_FALSE(merge_sweeps(files));  // one stands twice
    }
  }
}

TEST_CASE("a file that was cut off in a line goes on after the last whole one") {
  const Grid grid = grid_of({"cluster.count=1:6:1"});
  SweepOptions options;
  options.shard = {1, 2};
  const std::string head = head_line(sweep_head(small(), grid, "1", "c"));
  const SweepFile cut = written(grid, options, "sweep-cut.jsonl", 5);
  CHECK(rows_done(cut, head, options.shard) == 2u);
  CHECK_FALSE(rows_done(cut, head, {0, 2}));  // another shard's
  CHECK_FALSE(rows_done(cut, head + " ", options.shard));
  options.done = 2;
  const auto rest = rows_of(grid, options);
  REQUIRE(rest.size() == 1);
  CHECK(rest[0].point == 5);
}

TEST_CASE("rows and heads are read as they were written") {
  const Grid grid = grid_of({"workload.model=llama3-8b,llama3.1-405b"});
  const SweepHead head = sweep_head(small(), grid, "1", "c");
  const SweepFile file = written(grid, {}, "sweep-read.jsonl");
  const auto read = parse_head(file);
  REQUIRE(read);
  CHECK(head_line(*read) == head_line(head));
  for (const std::string& line : file.lines)
    CHECK(row_line(parse_row(line), grid) == line);
}

TEST_CASE("files that hold no rows are refused with their line") {
  const auto fault = [](const std::string& text) {
    const std::string path = temporary("sweep-bad.jsonl");
    std::ofstream(path, std::ios::binary) << text;
    const auto file = read_sweep_file(path);
    REQUIRE_FALSE(file);
    return file.error().front();
  };
  CHECK(fault("{}\n").code == Code::wrong_kind_of_file);
  CHECK(fault("a,b\n1,2\n").code == Code::wrong_kind_of_file);
  const std::string head = head_line(sweep_head(small(), grid_of({"cluster.count=1"}), "", ""));
  const Diagnostic row = fault(head + "\n{\"point\": -1}\n");
  CHECK(row.code == Code::bad_sweep_file);
  CHECK(row.place.line == 2);
}

}  // namespace flowplan::planner::sweep_test
