#include "columns.hpp"

#include <algorithm>
#include <numeric>

#include "flowplan/training/schedule.hpp"

namespace flowplan::planner {

namespace {

using training::ContextParallel;
using training::Recompute;
using training::Schedule;
using training::Sharding;

// The rules of docs/planning.md, "The space".
constexpr std::int64_t least_tokens_a_context_rank = 512;

// Kinds of columns by what their members may be.
constexpr std::size_t with_replicas = 1, with_context = 2, with_stages = 4;

/// Pipelines accumulate gradients over many micro-batches: dividing them would cost a reduction
/// each.
bool divides_gradients(Sharding sharding) {
  return sharding != Sharding::none && sharding != Sharding::distributed_optimizer;
}

template <class T>
std::vector<T> divisors(std::int64_t n, std::int64_t most) {
  std::vector<T> result;
  for (std::int64_t d = 1; d <= std::min(n, most); ++d) {
    if (n % d == 0) result.push_back(static_cast<T>(d));
  }
  return result;
}

template <class T>
void fill(std::vector<T>& open, std::vector<T> values) {
  if (open.empty()) open = std::move(values);
}

void fill_names(const training::Job& like, scenario::LayoutSpace& space) {
  fill(space.precision, {like.precision});
  fill(space.recompute, {Recompute::none, Recompute::selective, Recompute::full});
  fill(space.sharding, {Sharding::distributed_optimizer, Sharding::none, Sharding::zero2,
                        Sharding::fsdp, Sharding::fsdp_no_reshard});
  std::vector<Schedule> schedules{Schedule::one_forward_one_backward, Schedule::zero_bubble_1};
  if (like.model.experts) schedules.push_back(Schedule::dual_pipe);
  fill(space.schedule, std::move(schedules));
  fill(space.context_parallel, {ContextParallel::ring, ContextParallel::all_gather,
                                ContextParallel::all_to_all, ContextParallel::hybrid});
  fill(space.sequence_parallel, {true, false});
  fill(space.global_batch, {like.global_batch});
}

}  // namespace

Columns::Columns(const training::Job& like, const scenario::LayoutSpace& space, std::int64_t gpus)
    : like_(like), space_(space) {
  fill_names(like, space_);
  fill(space_.tp, divisors<int>(gpus, like.model.heads));
  fill(space_.pp, divisors<int>(gpus, like.model.layers));
  fill(space_.cp,
       divisors<int>(gpus, std::max<std::int64_t>(1, like.seq_len / least_tokens_a_context_rank)));
  std::sort(space_.micro_batch.begin(), space_.micro_batch.end());
  make_members(space.sharding.empty());
  for (const int tp : space_.tp) {
    for (const int pp : space_.pp) {
      for (const int cp : space_.cp) {
        const std::int64_t model_gpus = std::int64_t{tp} * pp * cp;
        if (gpus % model_gpus != 0) continue;
        Column column;
        column.layout = like.layout;
        column.layout.tp = tp;
        column.layout.pp = pp;
        column.layout.cp = cp;
        column.layout.dp = static_cast<int>(gpus / model_gpus);
        const auto& stated = space_.dp;
        if (!stated.empty() &&
            std::find(stated.begin(), stated.end(), column.layout.dp) == stated.end()) {
          continue;
        }
        for (const std::int64_t batch : space_.global_batch) {
          column.global_batch = batch;
          add_micro_batches(column.layout.dp, batch);
          add_experts(column);
        }
      }
    }
  }
}

void Columns::make_members(bool any_sharding) {
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const bool replicas = (i & with_replicas) != 0, context = (i & with_context) != 0;
    for (const Sharding sharding : space_.sharding) {
      if (any_sharding && (i & with_stages) != 0 && divides_gradients(sharding)) continue;
      for (const ContextParallel kind : space_.context_parallel) {
        members_[i].push_back({sharding, kind});
        if (!context) break;
      }
      if (!replicas) break;
    }
  }
}

void Columns::add_micro_batches(std::int64_t dp, std::int64_t global_batch) {
  auto& list = micro_batches_[{dp, global_batch}];
  if (!list.empty()) return;
  if (!space_.micro_batch.empty()) {
    list = space_.micro_batch;
  } else if (global_batch % dp == 0) {
    list = divisors<std::int64_t>(global_batch / dp, global_batch / dp);
  } else {
    list = {1};  // refused with all of the column
  }
}

void Columns::add_experts(Column column) {
  training::Layout& l = column.layout;
  if (!like_.model.experts) {
    l.ep = l.etp = 1;
    add_stages(column);
    return;
  }
  const std::int64_t ranks = std::int64_t{l.tp} * l.cp * l.dp;
  const std::vector<int> etps = space_.etp.empty() ? divisors<int>(l.tp, l.tp) : space_.etp;
  for (const int etp : etps) {
    if (ranks % etp != 0) continue;
    const std::int64_t count = like_.model.experts->count;
    const std::vector<int> eps =
        space_.ep.empty() ? divisors<int>(std::gcd(count, ranks / etp), count) : space_.ep;
    for (const int ep : eps) {
      l.ep = ep;
      l.etp = etp;
      add_stages(column);
    }
  }
}

void Columns::add_stages(Column column) {
  training::Layout& l = column.layout;
  const std::int64_t layers = like_.model.layers;
  for (const Schedule schedule : space_.schedule) {
    column.schedule = schedule;
    std::vector<int> vps{1};
    if (l.pp > 1 && schedule == Schedule::one_forward_one_backward) {
      vps = space_.vp;
      for (int vp = 1; space_.vp.empty() && std::int64_t{vp} * l.pp <= layers; ++vp) {
        if (vp == 1 || training::stage_layers(layers, l.pp, vp)) vps.push_back(vp);
      }
    }
    for (const int vp : vps) {
      l.vp = vp;
      // Where the layers do not divide, stages may differ by one.
      l.uneven_stages = !training::stage_layers(layers, l.pp, vp).has_value();
      add_variants(column);
    }
    if (l.pp == 1) break;  // there is no pipeline to schedule
  }
}

void Columns::add_variants(Column column) {
  for (const bool sequence_parallel : space_.sequence_parallel) {
    column.layout.sequence_parallel = sequence_parallel;
    for (const model::Precision precision : space_.precision) {
      column.precision = precision;
      for (const Recompute recompute : space_.recompute) {
        column.recompute = recompute;
        columns_.push_back(column);
      }
    }
    if (column.layout.tp == 1) break;
  }
}

const std::vector<std::int64_t>& Columns::micro_batches(const Column& column) const {
  return micro_batches_.at({column.layout.dp, column.global_batch});
}

const std::vector<Member>& Columns::members(const Column& column) const {
  const training::Layout& l = column.layout;
  return members_[(std::int64_t{l.cp} * l.dp > 1 ? with_replicas : 0) +
                  (l.cp > 1 ? with_context : 0) + (l.pp > 1 ? with_stages : 0)];
}

std::int64_t Columns::raw(const Column& column) const {
  return static_cast<std::int64_t>(micro_batches(column).size() * members(column).size());
}

void put(const Column& column, training::Job& job) {
  job.layout = column.layout;
  job.precision = column.precision;
  job.recompute = column.recompute;
  job.schedule = column.schedule;
  job.global_batch = column.global_batch;
}

}  // namespace flowplan::planner
