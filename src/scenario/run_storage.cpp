#include "run_storage.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "flowplan/model/memory.hpp"
#include "flowplan/model/transformer.hpp"
#include "flowplan/storage/path.hpp"
#include "flowplan/topology/tier_name.hpp"
#include "places.hpp"

namespace flowplan::scenario {

namespace {

/// Between saves, where nobody says: what large runs report.
constexpr Seconds default_interval{30.0 * 60.0};
/// More of the step than this and the run is bound by its storage.
constexpr double io_bound_share = 0.1;

/// Time of the leaves that wait for the network between nodes of that kind.
Seconds network_time(const Breakdown& node, const catalog::Instance& instance) {
  if (node.children.empty()) {
    const std::string_view limit = node.limit;
    const auto is = [&](topology::Tier tier) {
      return limit == topology::tier_name(tier, instance);
    };
    const bool network =
        is(topology::Tier::efa) || is(topology::Tier::leaf_spine) || is(topology::Tier::spine_core);
    return network ? node.leaf_time : Seconds(0.0);
  }
  Seconds sum{};
  for (const Breakdown& child : node.children)
    sum += network_time(child, instance);
  return sum;
}

Breakdown io_leaf(std::string id, std::string label, Seconds time, std::string limit,
                  std::string next, std::string formula) {
  return {std::move(id),   std::move(label),   time, std::move(limit),
          std::move(next), std::move(formula), {}};
}

/// Works out `storage` for one answer.
class StorageRun {
 public:
  StorageRun(const catalog::Catalog& catalog, const Scenario& scenario, const Resolved& resolved,
             Answer& answer)
      : catalog_(catalog), scenario_(scenario), resolved_(resolved), answer_(answer) {}

  Result<std::optional<KnownCheckpoint>> run() {
    auto clients = storage::clients_of(catalog_, resolved_.cluster);
    if (!clients) return fail(std::move(clients.error()));
    clients_ = std::move(*clients);
    out_.step_computing = answer_.iteration.step;
    out_.step = out_.step_computing;
    out_.time = {"step.io", "Storage", {}, {}, {}, {}, {}};
    const StorageSection& section = *scenario_.storage;
    if (section.dataset) {
      Diagnostics faults = read_data(*section.dataset);
      if (!faults.empty()) return fail(std::move(faults));
    }
    std::optional<KnownCheckpoint> known;
    if (section.checkpoint) {
      auto saved = save(*section.checkpoint);
      if (!saved) return fail(std::move(saved.error()));
      known = std::move(*saved);
    }
    conclude();
    return known;
  }

 private:
  [[nodiscard]] Diagnostics at(Diagnostics faults, std::string_view pointer) const {
    return placed(std::move(faults), scenario_.document, pointer);
  }

  [[nodiscard]] Bytes step_bytes(const DatasetSection& section) const {
    const auto batch = static_cast<double>(answer_.job.global_batch);
    if (section.sample) return *section.sample * batch;
    return Bytes(batch * static_cast<double>(answer_.job.seq_len) * section.bytes_per_token);
  }

  Diagnostics read_data(const DatasetSection& section) {
    storage::Pattern pattern;
    pattern.file = section.file;
    pattern.loader = section.loader;
    auto path = storage::path(clients_, section.mount, pattern);
    if (!path) return at(std::move(path.error()), "/storage/dataset/store");
    out_.dataset_mount = storage::describe(section.mount);
    const Bytes bytes = step_bytes(section);
    storage::Movement movement{"data", std::move(*path), clients_.nodes,
                               bytes / static_cast<double>(clients_.nodes)};
    // Data is fetched ahead: the first byte's latency hides behind other steps.
    movement.path.latency = {};
    const storage::Transfer plain = storage::run_alone(movement);
    if (!section.lazy_load) {
      out_.data = plain;
      out_.data_stall = storage_stall(plain);
    } else {
      out_.later_data = plain;
      const Bytes whole = dataset_bytes(section);
      storage::add_repository(clients_, section.mount, storage::Direction::read, section.rates,
                              whole, section.objects, movement.path);
      out_.data = storage::run_alone(movement);
      average_epochs(whole, bytes);
    }
    for (const Warning& warning : movement.path.warnings)
      out_.warnings.push_back(warning);
    return {};
  }

  [[nodiscard]] Seconds storage_stall(const storage::Transfer& data) const {
    return std::max(Seconds(0.0), data.time - out_.step_computing);
  }

  [[nodiscard]] Bytes dataset_bytes(const DatasetSection& section) const {
    if (section.bytes) return *section.bytes;
    const double steps = run_steps().value_or(1.0);
    return step_bytes(section) * steps;
  }

  [[nodiscard]] std::optional<double> run_steps() const {
    if (!scenario_.workload.tokens) return std::nullopt;
    const double per_step = static_cast<double>(answer_.job.global_batch * answer_.job.seq_len);
    return std::ceil(*scenario_.workload.tokens / per_step);
  }

  /// Only the first pass over the data waits for S3.
  void average_epochs(Bytes whole, Bytes bytes) {
    const double epoch = std::max(1.0, whole / bytes);
    const double steps = run_steps().value_or(epoch);
    out_.first_epoch_steps = std::min(epoch, steps);
    const double lazy = out_.first_epoch_steps / steps;
    out_.data_stall =
        storage_stall(*out_.data) * lazy + storage_stall(*out_.later_data) * (1.0 - lazy);
  }

  [[nodiscard]] storage::CheckpointPlan plan_of(const SavesSection& section) {
    storage::CheckpointPlan plan;
    const model::StateFormat format = training::saved_states(answer_.job);
    const double each = storage::checkpoint_bytes_per_parameter(format);
    plan.bytes = section.bytes.value_or(Bytes(each * answer_.parameters));
    if (!section.bytes)
      answer_.estimate.defaulted.push_back(
          {"storage.checkpoint.size", fmt::format("{:.4g} TB", plan.bytes.value() / 1e12),
           fmt::format("{:g} bytes a parameter: weights, master copy, moments", each)});
    plan.weights = Bytes(format.weight * answer_.parameters);
    plan.mode = section.mode;
    plan.store = section.mount;
    plan.staged_copies = section.copies;
    plan.weight_readers = section.weight_readers;
    plan.saver = section.saver;
    plan.export_rate = section.export_rate;
    const auto extra = [&](const char* service) {
      storage::Mount mount;
      if (const auto found = catalog_.storage(service)) mount.service = *found;
      return mount;
    };
    if (section.local) plan.first = extra("local-nvme");
    if (section.exported) plan.export_to = extra("s3");
    return plan;
  }

  Result<std::optional<KnownCheckpoint>> save(const SavesSection& section) {
    if (section.host_memory) clients_.host_memory = section.host_memory;
    auto times = storage::checkpoint(clients_, plan_of(section));
    if (!times) return fail(at(std::move(times.error()), "/storage/checkpoint/store"));
    out_.checkpoint_mount = storage::describe(section.mount);
    out_.warnings.insert(out_.warnings.end(), times->warnings.begin(), times->warnings.end());
    out_.checkpoint = std::move(*times);
    if (!out_.checkpoint->fits) {
      refuse(*out_.checkpoint);
      return std::optional<KnownCheckpoint>{};
    }
    share_devices();
    out_.month =
        storage::monthly_cost(catalog_, section.mount, out_.checkpoint->bytes, answer_.region);
    const storage::CheckpointTimes& t = *out_.checkpoint;
    out_.counted_by_operations = scenario_.operations.has_value();
    if (out_.counted_by_operations)
      return std::optional(KnownCheckpoint{t.bytes, t.stall + out_.background.longer,
                                           t.persist - t.stall, t.restore, "storage"});
    count_interval(section);
    return std::optional<KnownCheckpoint>{};
  }

  void refuse(const storage::CheckpointTimes& times) {
    out_.fits = false;
    out_.does_not_fit = times.does_not_fit;
    out_.binding = times.does_not_fit.starts_with("host memory")   ? "host_memory"
                   : times.does_not_fit.starts_with("local disks") ? "local_disks"
                                                                   : "store";
  }

  /// What goes to the store behind training, over devices that collectives use.
  void share_devices() {
    const storage::CheckpointTimes& t = *out_.checkpoint;
    const Seconds behind = t.persist - t.stall;
    out_.shares_devices =
        std::any_of(t.save_limits.begin(), t.save_limits.end(),
                    [](const storage::LimitUse& u) { return u.limit.id == "node.efa_write"; });
    if (!out_.shares_devices || behind.value() <= 0.0) return;
    storage::StepTraffic traffic;
    traffic.step = out_.step_computing;
    traffic.exposed = std::min(
        traffic.step, network_time(answer_.iteration.time, *resolved_.cluster.spec().instance));
    traffic.device = clients_.efa;
    for (const training::TierUse& tier : answer_.iteration.tiers) {
      if (tier.tier == topology::Tier::efa) traffic.utilisation = tier.utilisation;
    }
    out_.background = storage::interfere(traffic, {t.per_node, t.per_node / behind});
    // Beside training it takes longer until the checkpoint is safe.
    out_.checkpoint->persist = t.stall + std::max(behind, out_.background.transfer);
  }

  void count_interval(const SavesSection& section) {
    double steps = section.every_steps ? static_cast<double>(*section.every_steps) : 0.0;
    if (steps == 0.0) {
      const Seconds every = section.every.value_or(default_interval);
      steps = std::max(1.0, std::round(every / out_.step_computing));
      if (!section.every)
        answer_.estimate.defaulted.push_back(
            {"storage.checkpoint.every", fmt::format("{:.0f} steps", steps),
             "30 minutes of computing; `operations` would choose it"});
    }
    out_.interval_steps = steps;
    out_.checkpoint_stall = out_.checkpoint->stall / steps;
    out_.background_stall = out_.background.longer / steps;
    const Seconds between = out_.step_computing * steps;
    if (out_.checkpoint->persist > between + out_.checkpoint->stall)
      out_.warnings.push_back(
          {"saves_overlap",
           fmt::format("a save is on its way for {:.3g} s, the next begins after {:.3g} s",
                       out_.checkpoint->persist.value(), between.value())});
  }

  void conclude() {
    if (!out_.fits) {
      answer_.iteration.fits = false;
      answer_.iteration.does_not_fit = out_.does_not_fit;
    } else {
      add_parts();
    }
    for (const Warning& warning : out_.warnings)
      answer_.estimate.warnings.push_back(warning);
    answer_.storage = std::move(out_);
  }

  void add_parts() {
    if (out_.data_stall.value() > 0.0)
      out_.time.children.push_back(io_leaf(
          "step.io.data", "Waiting for data", out_.data_stall, out_.data->limit, out_.data->next,
          fmt::format("{:.4g} s for the data of a step of {:.4g} s{}", out_.data->time.value(),
                      out_.step_computing.value(), out_.later_data ? ", in the first epoch" : "")));
    if (out_.checkpoint_stall.value() > 0.0) {
      const bool async = scenario_.storage->checkpoint->mode == storage::SaveMode::async;
      out_.time.children.push_back(
          io_leaf("step.io.checkpoint", async ? "Checkpoints, staging" : "Checkpoints, saving",
                  out_.checkpoint_stall,
                  async ? "copies between host and GPUs" : out_.checkpoint->save_limit,
                  async ? "" : out_.checkpoint->save_next,
                  fmt::format("{:.4g} s every {:.0f} steps", out_.checkpoint->stall.value(),
                              out_.interval_steps)));
    }
    if (out_.background_stall.value() > 0.0)
      out_.time.children.push_back(io_leaf(
          "step.io.background", "Collectives beside checkpoints", out_.background_stall, "efa", "",
          fmt::format("{:.4g} s longer in {:.3g} of {:.0f} steps",
                      out_.background.longer_step.value(), out_.background.steps,
                      out_.interval_steps)));
    const Seconds added = out_.time.time();
    out_.step += added;
    if (added.value() <= 0.0) return;
    training::Iteration& iteration = answer_.iteration;
    const double slower = out_.step / out_.step_computing;
    iteration.step = out_.step;
    iteration.tokens_per_second /= slower;
    iteration.model_tflops_per_gpu /= slower;
    iteration.mfu /= slower;
    for (training::TierUse& tier : iteration.tiers)
      tier.utilisation /= slower;
    iteration.time.children.push_back(out_.time);
    out_.io_bound = added / out_.step > io_bound_share;
    if (!out_.io_bound) return;
    const Breakdown* longest = &out_.time.children.front();
    for (const Breakdown& part : out_.time.children) {
      if (part.time() > longest->time()) longest = &part;
    }
    out_.warnings.push_back(
        {"io_bound",
         fmt::format("I/O bound: {:.1f} % of the step waits for storage, most of it for "
                     "{} ({})",
                     100.0 * (added / out_.step), longest->limit, longest->label)});
  }

  const catalog::Catalog& catalog_;
  const Scenario& scenario_;
  const Resolved& resolved_;
  Answer& answer_;
  storage::Clients clients_;
  StorageAnswer out_;
};

}  // namespace

Result<std::optional<KnownCheckpoint>> add_storage(const catalog::Catalog& catalog,
                                                   const Scenario& scenario,
                                                   const Resolved& resolved, Answer& answer) {
  return StorageRun(catalog, scenario, resolved, answer).run();
}

void add_storage_metrics(const Answer& answer, Estimate& estimate) {
  const StorageAnswer& s = *answer.storage;
  if (s.checkpoint) {
    estimate.add("storage.checkpoint_bytes", s.checkpoint->bytes.value());
    if (s.checkpoint->fits) {
      estimate.add("storage.checkpoint_persist", s.checkpoint->persist.value());
      estimate.add("storage.checkpoint_stall", s.checkpoint->stall.value());
    }
  }
  if (s.fits) {
    if (s.data) estimate.add("storage.data_stall", s.data_stall.value());
    if (s.step.value() > 0.0)
      estimate.add("storage.io_share", (s.step - s.step_computing) / s.step);
  }
  if (s.month && s.month->usd) estimate.add("storage.month_usd", s.month->usd->value());
  if (s.checkpoint && s.checkpoint->fits)
    estimate.add("storage.restore", s.checkpoint->restore.value());
}

}  // namespace flowplan::scenario
