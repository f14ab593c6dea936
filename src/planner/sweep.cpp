#include "flowplan/planner/sweep.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include "flowplan/scenario/overrides.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::planner {

namespace {

/// Points that run at a time: enough to keep the threads busy, few enough that rows come soon.
constexpr std::uint64_t points_per_thread = 8;

SweepRow invalid_row(std::uint64_t point, const Diagnostics& faults) {
  SweepRow row;
  row.point = point;
  row.state = SweepRow::State::invalid;
  row.reason = faults.front().message;
  return row;
}

SweepRow run_point(const catalog::Catalog& catalog, const JsonDocument& base,
                   const JsonDocument& schema, const Grid& grid, std::uint64_t point,
                   const std::string& version) {
  const auto document = scenario::with_overrides(base, schema, grid.overrides(point));
  if (!document) return invalid_row(point, document.error());
  const auto scenario = scenario::read(catalog, *document, schema);
  if (!scenario) return invalid_row(point, scenario.error());
  auto answer = scenario::run(catalog, *scenario, version, scenario::Depth::metrics);
  if (!answer) return invalid_row(point, answer.error());
  SweepRow row;
  row.point = point;
  row.metrics = std::move(answer->estimate.metrics);
  if (!answer->feasible()) {
    row.state = SweepRow::State::does_not_fit;
    row.reason = answer->reason();
  }
  return row;
}

/// What is wrong with the grid's paths, each told once.
Diagnostics path_faults(const JsonDocument& base, const JsonDocument& schema, const Grid& grid) {
  Diagnostics faults;
  for (const Axis& axis : grid.axes) {
    const std::array<std::string, 1> first{axis.path + "=" + axis.values.front()};
    const auto document = scenario::with_overrides(base, schema, first);
    if (document) continue;
    for (Diagnostic fault : document.error()) {
      if (axis.place.file.empty())
        fault.place.file = fmt::format("--vary {}", axis.path);
      else
        fault.place = axis.place;
      faults.push_back(std::move(fault));
    }
  }
  return faults;
}

}  // namespace

const double* SweepRow::value(std::string_view metric) const {
  for (const Metric& one : metrics)
    if (one.id == metric) return &one.value;
  return nullptr;
}

std::string_view name(SweepRow::State state) {
  switch (state) {
    case SweepRow::State::ok:
      return "ok";
    case SweepRow::State::does_not_fit:
      return "does_not_fit";
    case SweepRow::State::invalid:
      break;
  }
  return "invalid";
}

std::uint64_t Shard::size(std::uint64_t points) const {
  return points <= index ? 0 : (points - index - 1) / count + 1;
}

Result<Shard> parse_shard(std::string_view text) {
  Shard shard;
  const char* const end = text.data() + text.size();
  const auto [slash, first] = std::from_chars(text.data(), end, shard.index);
  if (first == std::errc{} && slash != end && *slash == '/') {
    const auto [last, second] = std::from_chars(slash + 1, end, shard.count);
    if (second == std::errc{} && last == end && shard.index < shard.count) return shard;
  }
  return fail(error(Code::usage, fmt::format("a shard is i/n with 0 <= i < n, not `{}`", text),
                    "the first of four is 0/4"));
}

Result<void> sweep(const catalog::Catalog& catalog, const JsonDocument& scenario,
                   const JsonDocument& schema, const Grid& grid, const SweepOptions& options,
                   const std::function<void(const SweepRow&)>& sink) {
  if (Diagnostics faults = path_faults(scenario, schema, grid); !faults.empty())
    return fail(std::move(faults));
  tbb::task_arena arena(options.threads > 0 ? options.threads : tbb::task_arena::automatic);
  const std::uint64_t size = options.shard.size(grid.points());
  const std::uint64_t batch =
      points_per_thread * static_cast<std::uint64_t>(std::max(1, arena.max_concurrency()));
  std::vector<SweepRow> rows;
  for (std::uint64_t begin = options.done; begin < size; begin += batch) {
    rows.resize(static_cast<std::size_t>(std::min(batch, size - begin)));
    arena.execute([&] {
      tbb::parallel_for(std::size_t{0}, rows.size(), [&](std::size_t i) {
        rows[i] = run_point(catalog, scenario, schema, grid, options.shard.point(begin + i),
                            options.program_version);
      });
    });
    for (const SweepRow& row : rows)
      sink(row);
  }
  return {};
}

}  // namespace flowplan::planner
