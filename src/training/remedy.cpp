#include <functional>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

namespace {

using Fits = std::function<bool(const Job&)>;

std::string more_recomputation(const Job& job, const Fits& fits) {
  Job other = job;
  if (job.recompute == Recompute::none) {
    other.recompute = Recompute::selective;
    if (fits(other)) return "recompute selective instead of none";
  }
  if (job.recompute != Recompute::full) {
    other.recompute = Recompute::full;
    const char* before = job.recompute == Recompute::none ? "none" : "selective";
    if (fits(other)) return fmt::format("recompute full instead of {}", before);
  }
  return {};
}

std::string smaller_micro_batch(const Job& job, const Fits& fits) {
  Job other = job;
  for (other.micro_batch = job.micro_batch - 1; other.micro_batch >= 1; --other.micro_batch) {
    if (job.micro_batch % other.micro_batch != 0) continue;
    if (fits(other)) {
      return fmt::format("micro_batch {} instead of {}", other.micro_batch, job.micro_batch);
    }
  }
  return {};
}

std::string sharded_optimizer(const Job& job, const Fits& fits) {
  if (job.sharding == Sharding::distributed_optimizer) return {};
  Job other = job;
  other.sharding = Sharding::distributed_optimizer;
  return fits(other) ? "distributed_optimizer instead of plain data parallel" : std::string();
}

/// More tensor or pipeline parallelism at the same GPU count, the fewest ranks a replica first;
/// with the recomputation and micro-batch of the job, then with the leanest of both.
std::string more_model_parallelism(const Job& job, int gpus_per_domain, const Fits& fits) {
  const int gpus = job.layout.tp * job.layout.pp * job.layout.cp * job.layout.dp;
  const int now = job.layout.tp * job.layout.pp;
  for (const bool lean : {false, true}) {
    Job other = job;
    if (lean) {
      other.recompute = Recompute::full;
      other.micro_batch = 1;
      other.sharding = Sharding::distributed_optimizer;
    }
    for (int ranks = now; ranks * job.layout.cp <= gpus; ++ranks) {
      if (gpus % (ranks * job.layout.cp) != 0) continue;
      for (int tp = 1; tp <= gpus_per_domain && tp <= ranks; ++tp) {
        if (ranks % tp != 0) continue;
        other.layout.tp = tp;
        other.layout.pp = ranks / tp;
        other.layout.vp = other.layout.pp == job.layout.pp ? job.layout.vp : 1;
        other.layout.dp = gpus / (ranks * job.layout.cp);
        if (!fits(other)) continue;
        return fmt::format("tp {} x pp {} (dp {}) instead of tp {} x pp {} (dp {}){}",
                           other.layout.tp, other.layout.pp, other.layout.dp, job.layout.tp,
                           job.layout.pp, job.layout.dp,
                           lean ? ", recompute full, micro_batch 1" : "");
      }
    }
  }
  return {};
}

}  // namespace

std::string least_change_that_fits(const catalog::Catalog& catalog,
                                   const topology::Cluster& cluster, const Job& job) {
  const Fits fits = [&](const Job& other) {
    const auto use = memory(catalog, cluster, other);
    return use && use->fits;
  };
  if (!check(catalog, cluster, job).empty() || fits(job)) return {};
  if (auto change = more_recomputation(job, fits); !change.empty()) return change;
  if (auto change = smaller_micro_batch(job, fits); !change.empty()) return change;
  if (auto change = sharded_optimizer(job, fits); !change.empty()) return change;
  return more_model_parallelism(job, static_cast<int>(cluster.gpus_per_domain()), fits);
}

}  // namespace flowplan::training
