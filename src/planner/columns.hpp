#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "flowplan/scenario/search.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::planner {

/// Layouts that differ in micro-batch, sharding and kind of context parallelism only.
struct Column {
  training::Layout layout;
  model::Precision precision{};
  training::Recompute recompute{};
  training::Schedule schedule{};
  std::int64_t global_batch = 0;
};

/// What each layout of a column may be besides.
struct Member {
  training::Sharding sharding{};
  training::ContextParallel context_parallel{};
};

/// Every column of a space on a number of GPUs.
class Columns {
 public:
  /// `like` as for `search_layouts`; open lists of `space` are filled in by the rules of
  /// docs/planning.md.
  Columns(const training::Job& like, const scenario::LayoutSpace& space, std::int64_t gpus);

  [[nodiscard]] const std::vector<Column>& all() const { return columns_; }
  /// Micro-batches of a column, ascending; never empty.
  [[nodiscard]] const std::vector<std::int64_t>& micro_batches(const Column& column) const;
  [[nodiscard]] const std::vector<Member>& members(const Column& column) const;
  /// Layouts of a column.
  [[nodiscard]] std::int64_t raw(const Column& column) const;

 private:
  void add_experts(Column column);
  void add_stages(Column column);
  void add_variants(Column column);
  void make_members(bool any_sharding);
  void add_micro_batches(std::int64_t dp, std::int64_t global_batch);

  const training::Job& like_;
  scenario::LayoutSpace space_;
  std::vector<Column> columns_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::int64_t>> micro_batches_;
  std::array<std::vector<Member>, 8> members_;  ///< by replicas, context ranks and stages
};

/// Writes a column's values into a job.
void put(const Column& column, training::Job& job);

}  // namespace flowplan::planner
