#include "flowplan/scenario/resolve.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "flowplan/catalog/usable.hpp"
#include "places.hpp"

namespace flowplan::scenario {

namespace {

using training::Job;
using training::Layout;
using training::Recompute;

// The rules of docs/scenario.md, "Defaults".
constexpr std::int64_t default_seq_len = 8192;
constexpr std::int64_t default_batch_tokens = std::int64_t{4} << 20;
constexpr int largest_default_tp = 8;
constexpr double default_room = 0.05;  // share of the memory, for fragmentation
constexpr std::string_view default_framework = "megatron-core";
constexpr std::string_view default_region = "us-east-1";

/// Fills in a job step by step and writes down each rule that was used.
class Resolver {
 public:
  Resolver(const catalog::Catalog& catalog, const Scenario& scenario,
           const topology::Cluster& cluster)
      : catalog_(catalog), scenario_(scenario), work_(scenario.workload), cluster_(cluster) {}

  Result<std::pair<Job, std::vector<Defaulted>>> job() {
    Job job;
    job.model = work_.model;
    job.seq_len = pick(work_.seq_len, "seq_len", seq_len(),
                       work_.model.context > 0 && work_.model.context < default_seq_len
                           ? "the model's context"
                           : "the usual pretraining length");
    job.precision = work_.precision.value_or(model::Precision::bf16);
    note(!work_.precision, "precision", "bf16", "the usual format of pretraining");
    job.micro_batch =
        pick(work_.micro_batch, "micro_batch", std::int64_t{1}, "needs the least memory");
    job.sharding = work_.sharding.value_or(training::Sharding::distributed_optimizer);
    note(!work_.sharding, "sharding", "distributed_optimizer",
         "needs less memory than plain data parallel at the same traffic");
    job.placement = work_.placement;
    job.gpus = static_cast<std::uint32_t>(gpus());
    job.framework = work_.framework.value_or(std::string(default_framework));
    note(!work_.framework, "framework", job.framework, "the reference software profile");
    job.layout.vp = pick(work_.vp, "parallelism.vp", 1, "no interleaving");
    job.layout.cp = pick(work_.cp, "parallelism.cp", 1, "no context parallelism");
    job.layout.sequence_parallel = work_.sequence_parallel.value_or(true);
    note(!work_.sequence_parallel, "parallelism.sequence_parallel", "true",
         "needs less memory at the same traffic");

    take_training_keys(job);

    if (auto fault = choose_layout(job)) return fail(std::move(*fault));
    if (work_.shard_in_domain) shard_in_domain(job);
    if (Diagnostics faults = training::check(catalog_, cluster_, job); !faults.empty()) {
      return fail(placed(std::move(faults), scenario_.document));
    }
    return std::pair{std::move(job), std::move(defaulted_)};
  }

 private:
  void take_training_keys(Job& job) const {
    job.shard_group = work_.shard_group;
    job.offload_layers = work_.offload_layers;
    job.states = work_.states;
    const bool hopper =
        catalog_.gpu_of(*cluster_.spec().instance).generation <= catalog::GpuGeneration::hopper;
    // Hopper's FP8 GEMMs read both operands along K; blocks and MX scales differ by direction.
    job.states.transposed_copy = hopper || job.precision != model::Precision::fp8;
    job.wide_layers = work_.wide_layers;
    job.adapters = work_.adapters;
    job.routing = work_.routing;
    job.async_tp = work_.async_tp;
    job.layout.uneven_stages = work_.uneven_stages;
    if (work_.modules) job.modules = *work_.modules;
    if (work_.schedule) job.schedule = *work_.schedule;
    if (work_.context_parallel) job.context_parallel = *work_.context_parallel;
    job.layout.etp = work_.etp.value_or(1);
  }

  /// Ranks of an NVLink domain that hold the same weights share them, as far as they divide.
  void shard_in_domain(Job& job) {
    const Layout& l = job.layout;
    const std::int64_t in_domain =
        std::max<std::int64_t>(1, std::int64_t{cluster_.gpus_per_domain()} / l.tp);
    job.shard_group = static_cast<int>(std::gcd(in_domain, std::int64_t{l.cp} * l.dp));
    note(true, "shard_group", std::to_string(job.shard_group), "the ranks of an NVLink domain");
  }

  /// Experts spread over the ranks of an NVLink domain, as far as their number divides.
  void spread_experts(Job& job) const {
    job.layout.ep = work_.ep.value_or(1);
    if (work_.ep || !job.model.experts) return;
    const Layout& l = job.layout;
    const std::int64_t replicas = std::int64_t{l.tp} * l.cp * l.dp / std::max(1, l.etp);
    const std::int64_t domain = cluster_.gpus_per_domain();
    job.layout.ep =
        static_cast<int>(std::gcd(job.model.experts->count, std::gcd(replicas, domain)));
  }

  [[nodiscard]] std::int64_t seq_len() const {
    const std::int64_t context = work_.model.context;
    return context > 0 ? std::min(context, default_seq_len) : default_seq_len;
  }

  /// GPUs that work.
  [[nodiscard]] std::int64_t gpus() const {
    if (work_.gpus) return *work_.gpus;
    const std::uint32_t of_each = work_.placement.gpus_per_domain;
    return of_each > 0 ? std::int64_t{of_each} * cluster_.domains() : cluster_.gpus();
  }

  void note(bool left_out, const std::string& key, std::string value, std::string reason) {
    if (left_out) {
      defaulted_.push_back({"workload." + key, std::move(value), std::move(reason)});
    }
  }

  template <class T>
  T pick(const std::optional<T>& stated, const std::string& key, T rule, std::string reason) {
    note(!stated, key, fmt::format("{}", rule), std::move(reason));
    return stated.value_or(rule);
  }

  /// Whole micro-batches on every replica, and whole rounds of the pipeline when it is interleaved.
  [[nodiscard]] std::int64_t default_batch(const Job& job) const {
    const std::int64_t unit =
        job.micro_batch * job.layout.dp * (job.layout.vp > 1 ? job.layout.pp : 1);
    const double wanted = static_cast<double>(default_batch_tokens) /
                          static_cast<double>(job.seq_len) / static_cast<double>(unit);
    return unit * std::max<std::int64_t>(1, std::llround(wanted));
  }

  /// The job with these degrees; nothing when they cannot be so.
  std::optional<Job> with_layout(Job job, int tp, int pp) const {
    const std::int64_t model_gpus = std::int64_t{tp} * pp * job.layout.cp;
    if (!work_.dp && gpus() % model_gpus != 0) return std::nullopt;
    job.layout.tp = tp;
    job.layout.pp = pp;
    job.layout.dp = work_.dp.value_or(static_cast<int>(gpus() / model_gpus));
    spread_experts(job);
    job.global_batch = work_.global_batch.value_or(default_batch(job));
    if (!training::check(catalog_, cluster_, job).empty()) return std::nullopt;
    return job;
  }

  /// TP grows first, in powers of two inside one NVLink domain; then PP grows with the largest TP.
  [[nodiscard]] std::vector<std::pair<int, int>> degrees() const {
    std::vector<int> tps;
    const int limit = std::min(largest_default_tp, static_cast<int>(cluster_.gpus_per_domain()));
    for (int tp = 1; tp <= limit; tp *= 2)
      tps.push_back(tp);
    if (work_.tp) tps = {*work_.tp};
    std::vector<int> pps;
    for (int pp = 1; pp <= work_.model.layers; ++pp)
      pps.push_back(pp);
    if (work_.pp) pps = {*work_.pp};

    std::vector<std::pair<int, int>> all;
    for (const int tp : tps)
      all.emplace_back(tp, pps.front());
    for (std::size_t i = 1; i < pps.size(); ++i) {
      for (auto tp = tps.rbegin(); tp != tps.rend(); ++tp)
        all.emplace_back(*tp, pps[i]);
    }
    return all;
  }

  std::optional<Diagnostics> choose_layout(Job& job) {
    if (work_.tp && work_.pp && (work_.dp || divides()) && work_.recompute) {
      take_stated(job);
      return std::nullopt;
    }
    std::vector<Job> candidates;
    for (const auto& [tp, pp] : degrees()) {
      if (auto candidate = with_layout(job, tp, pp)) candidates.push_back(std::move(*candidate));
    }
    if (candidates.empty()) {
      // Say what is wrong with the degrees as far as they are stated.
      take_stated(job);
      Diagnostics faults = training::check(catalog_, cluster_, job);
      return placed(std::move(faults), scenario_.document);
    }
    const bool chosen = choose(candidates, job) || choose_uneven(job);
    describe(job, chosen);
    return std::nullopt;
  }

  /// Among pipelines whose stages differ by a layer, for models whose layers do not divide into
  /// enough even ones. Leaves `job` as it is and returns false when none of them fits either.
  bool choose_uneven(Job& job) const {
    if (work_.pp || work_.uneven_stages) return false;
    Job uneven = job;
    uneven.layout.uneven_stages = true;
    std::vector<Job> candidates;
    for (const auto& [tp, pp] : degrees()) {
      if (work_.model.layers % pp == 0) continue;
      if (auto candidate = with_layout(uneven, tp, pp)) candidates.push_back(std::move(*candidate));
    }
    if (candidates.empty() || !choose(candidates, uneven)) return false;
    job = std::move(uneven);
    return true;
  }

  [[nodiscard]] bool divides() const {
    return gpus() % (std::int64_t{*work_.tp} * *work_.pp * work_.cp.value_or(1)) == 0;
  }

  /// Degrees as stated, 1 where they are not; DP what the others leave.
  void take_stated(Job& job) {
    job.layout.tp = pick(work_.tp, "parallelism.tp", 1, "not split");
    job.layout.pp = pick(work_.pp, "parallelism.pp", 1, "not split");
    job.recompute = work_.recompute.value_or(Recompute::none);
    const std::int64_t model_gpus = std::int64_t{job.layout.tp} * job.layout.pp * job.layout.cp;
    const auto rest = static_cast<int>(std::max<std::int64_t>(1, gpus() / model_gpus));
    job.layout.dp = pick(work_.dp, "parallelism.dp", rest, "what the other degrees leave");
    spread_experts(job);
    note(!work_.ep && job.layout.ep > 1, "parallelism.ep", fmt::format("{}", job.layout.ep),
         experts_reason());
    job.global_batch = pick(work_.global_batch, "global_batch", default_batch(job), batch_reason());
  }

  /// The first candidate that fits with little recomputation and some room, else with full
  /// recomputation, else without room; the last one when none fits. Returns whether one fits.
  bool choose(const std::vector<Job>& candidates, Job& job) const {
    struct Pass {
      std::vector<Recompute> levels;
      double room;
    };
    const std::vector<Pass> passes{{{Recompute::none, Recompute::selective}, default_room},
                                   {{Recompute::full}, default_room},
                                   {{Recompute::none, Recompute::selective, Recompute::full}, 0.0}};
    for (const Pass& pass : passes) {
      for (const Job& candidate : candidates) {
        for (const Recompute level : pass.levels) {
          if (work_.recompute && level != *work_.recompute) continue;
          job = candidate;
          job.recompute = level;
          if (fits(job, pass.room)) return true;
        }
      }
    }
    job = candidates.back();
    job.recompute = work_.recompute.value_or(Recompute::full);
    return false;
  }

  /// Whether a job fits and leaves that share of the memory.
  [[nodiscard]] bool fits(const Job& job, double room) const {
    const auto memory = training::memory(catalog_, cluster_, job);
    return memory && memory->peak().total() <= memory->hbm * (1.0 - room);
  }

  [[nodiscard]] static std::string experts_reason() {
    return "experts spread inside an NVLink domain, as far as their number divides";
  }
  [[nodiscard]] static std::string batch_reason() {
    return fmt::format("about {} tokens, in whole micro-batches", default_batch_tokens);
  }

  void describe(const Job& job, bool chosen) {
    const std::string smallest = chosen ? "the smallest that fits in memory with 5 % to spare"
                                        : "the largest tried: nothing fits";
    note(!work_.tp, "parallelism.tp", fmt::format("{}", job.layout.tp),
         smallest + ", TP before PP, TP inside an NVLink domain");
    note(!work_.pp, "parallelism.pp", fmt::format("{}", job.layout.pp), smallest);
    note(job.layout.uneven_stages && !work_.uneven_stages, "parallelism.uneven_stages", "true",
         "no pipeline of even stages fits");
    note(!work_.dp, "parallelism.dp", fmt::format("{}", job.layout.dp),
         "what the other degrees leave");
    note(!work_.ep && job.layout.ep > 1, "parallelism.ep", fmt::format("{}", job.layout.ep),
         experts_reason());
    note(!work_.recompute, "recompute", std::string(name(job.recompute)),
         chosen ? "the least that fits in memory with 5 % to spare"
                : "the most there is: nothing fits");
    note(!work_.global_batch, "global_batch", fmt::format("{}", job.global_batch), batch_reason());
  }

  const catalog::Catalog& catalog_;
  const Scenario& scenario_;
  const PretrainingSection& work_;
  const topology::Cluster& cluster_;
  std::vector<Defaulted> defaulted_;
};

}  // namespace

Result<Resolved> resolve(const catalog::Catalog& catalog, const Scenario& scenario) {
  const ClusterSection& section = scenario.cluster;
  const auto purpose = section.count > 1 ? catalog::Purpose::cluster : catalog::Purpose::one_unit;
  if (Diagnostics faults = catalog::usable_for(catalog, *section.instance, purpose);
      !faults.empty()) {
    return fail(placed(std::move(faults), scenario.document, "/cluster/instance"));
  }
  topology::ClusterSpec spec;
  spec.instance = section.instance;
  spec.count = section.count;
  spec.fabric = section.fabric;
  auto cluster = topology::Cluster::build(catalog, spec);
  if (!cluster) return fail(placed(std::move(cluster.error()), scenario.document, "/cluster"));
  auto job = Resolver(catalog, scenario, *cluster).job();
  if (!job) return fail(std::move(job.error()));
  Resolved resolved{std::move(*cluster),
                    std::move(job->first),
                    section.region.value_or(std::string(default_region)),
                    {}};
  if (!section.region) {
    resolved.defaulted.push_back({"cluster.region", resolved.region, "where prices are listed"});
  }
  std::move(job->second.begin(), job->second.end(), std::back_inserter(resolved.defaulted));
  return resolved;
}

}  // namespace flowplan::scenario
