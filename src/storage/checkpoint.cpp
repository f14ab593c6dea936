#include "flowplan/storage/checkpoint.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "flowplan/storage/path.hpp"

namespace flowplan::storage {

namespace {

/// A new checkpoint stands beside the last one until it is complete.
constexpr double checkpoints_kept = 2.0;

double decimal_gb(Bytes amount) {
  return amount / gigabytes(1.0);
}

/// What holds the host's data and is not GPU memory reaches a store through the CPU.
Mount from_host(Mount mount) {
  if (mount.access == Access::gds) mount.access = Access::efa;
  return mount;
}

class CheckpointModel {
 public:
  CheckpointModel(const Clients& clients, const CheckpointPlan& plan)
      : clients_(clients), plan_(plan), writers_(plan.sharded ? clients.nodes : 1) {
    times_.bytes = plan.bytes;
    times_.per_node = plan.bytes / static_cast<double>(writers_);
  }

  Result<CheckpointTimes> run() {
    if (plan_.bytes.value() <= 0.0)
      return fail(error(Code::bad_storage, "a checkpoint of no bytes"));
    Diagnostics faults;
    for (const Mount* mount : {&plan_.store, optional(plan_.first), optional(plan_.export_to)}) {
      if (mount == nullptr) continue;
      Diagnostics found = check(*mount, clients_);
      std::move(found.begin(), found.end(), std::back_inserter(faults));
    }
    if (!faults.empty()) return fail(std::move(faults));

    hold_against_room();
    if (!times_.fits) return std::move(times_);
    if (auto done = save(); !done) return fail(std::move(done.error()));
    if (auto done = restore(); !done) return fail(std::move(done.error()));
    if (plan_.export_to) add_export();
    return std::move(times_);
  }

 private:
  static const Mount* optional(const std::optional<Mount>& mount) {
    return mount ? &*mount : nullptr;
  }

  void refuse(std::string why) {
    times_.fits = false;
    if (!times_.does_not_fit.empty()) times_.does_not_fit += "; ";
    times_.does_not_fit += why;
  }

  void hold_against_room() {
    if (plan_.mode == SaveMode::async) hold_staging();
    if (plan_.first && plan_.first->service->kind == catalog::StorageKind::local) {
      const Bytes disks = gigabytes(clients_.node->nvme_total_gb.value);
      if (times_.per_node * checkpoints_kept > disks)
        refuse(fmt::format("local disks: two checkpoints of {:.4g} GB a node, {} has {:.4g} GB",
                           decimal_gb(times_.per_node), clients_.node->id, decimal_gb(disks)));
    }
    const Bytes capacity = plan_.store.capacity;
    if (capacity.value() > 0.0 && plan_.bytes > capacity)
      refuse(fmt::format("store: a checkpoint of {:.4g} GB in {:.4g} GB", decimal_gb(plan_.bytes),
                         decimal_gb(capacity)));
  }

  void hold_staging() {
    times_.staged = times_.per_node * static_cast<double>(plan_.staged_copies);
    if (!clients_.host_memory) {
      times_.warnings.push_back(
          {"host_memory_unknown", fmt::format("host memory of {} is not known: whether {:.4g} GB "
                                              "of staging fit was not checked",
                                              clients_.node->id, decimal_gb(times_.staged))});
      return;
    }
    const double share = clients_.defaults->at("host.usable_share");
    times_.room = *clients_.host_memory * share;
    if (times_.staged <= *times_.room) return;
    refuse(fmt::format(
        "host memory: staging {:.4g} GB a node ({:.4g} GB / {} nodes{}), {:.0f} % "
        "of its {:.4g} GB are {:.4g} GB",
        decimal_gb(times_.staged), decimal_gb(plan_.bytes), writers_,
        plan_.staged_copies > 1 ? fmt::format(" x {} copies", plan_.staged_copies) : std::string(),
        100.0 * share, decimal_gb(*clients_.host_memory), decimal_gb(*times_.room)));
  }

  [[nodiscard]] Pattern writing(bool from_gpu) const {
    Pattern pattern;
    pattern.direction = Direction::write;
    pattern.files = static_cast<double>(plan_.sharded ? clients_.nodes : 1u) *
                    (plan_.sharded ? clients_.gpus_per_node : 1);
    pattern.file = plan_.bytes / pattern.files;
    pattern.to_gpu = from_gpu;
    pattern.loader = plan_.saver;
    return pattern;
  }

  Result<Movement> movement(std::string what, const Mount& mount, const Pattern& pattern,
                            std::uint32_t nodes, Bytes per_node) {
    auto found = path(clients_, mount, pattern);
    if (!found) return fail(std::move(found.error()));
    for (const Warning& warning : found->warnings) {
      const bool known = std::any_of(times_.warnings.begin(), times_.warnings.end(),
                                     [&](const Warning& w) { return w.id == warning.id; });
      if (!known) times_.warnings.push_back(warning);
    }
    return Movement{std::move(what), std::move(*found), nodes, per_node};
  }

  /// Out of GPU memory into pinned host memory, all GPUs at once.
  [[nodiscard]] Breakdown staging(const char* id, const char* label) const {
    const BytesPerSecond each = host_copy_rate(clients_);
    const double gpus = clients_.gpus_per_node;
    return {id,
            label,
            times_.per_node / (each * gpus),
            "copies between host and GPUs",
            {},
            fmt::format("{:.4g} GB a node / ({} x {:.4g} GB/s)", decimal_gb(times_.per_node), gpus,
                        each.value() / 1e9),
            {}};
  }

  void take_save(const Transfer& transfer) {
    times_.save_limit = transfer.limit;
    times_.save_next = transfer.next;
    times_.save_next_time = transfer.next_time - transfer.time;
    times_.save_limits = transfer.limits;
  }

  Result<void> save() {
    times_.stall_time = {"checkpoint.stall", "training waits", {}, {}, {}, {}, {}};
    times_.persist_time = {"checkpoint.persist", "until it is in the store", {}, {}, {}, {}, {}};
    auto done = plan_.mode == SaveMode::async ? save_async()
                : plan_.first                 ? save_through_disks()
                                              : save_at_once();
    if (!done) return done;
    times_.stall = times_.stall_time.time();
    times_.persist = times_.persist_time.time();
    times_.save_next_time += times_.persist;
    return {};
  }

  Result<void> save_at_once() {
    const auto moved = movement("save", plan_.store, writing(true), writers_, times_.per_node);
    if (!moved) return fail(moved.error());
    const Transfer transfer = run_alone(*moved);
    take_save(transfer);
    times_.stall_time.children.push_back(leaf("checkpoint.write", "write to the store", transfer));
    times_.persist_time.children = times_.stall_time.children;
    return {};
  }

  Result<void> save_through_disks() {
    const auto down = movement("save", *plan_.first, writing(true), writers_, times_.per_node);
    if (!down) return fail(down.error());
    auto copied =
        movement("copy", from_host(plan_.store), writing(false), writers_, times_.per_node);
    if (!copied) return fail(copied.error());
    Pattern reading;
    reading.to_gpu = false;
    const auto up = path(clients_, *plan_.first, reading);
    if (!up) return fail(up.error());
    copied->path.limits.insert(copied->path.limits.end(), up->limits.begin(), up->limits.end());
    times_.stall_time.children.push_back(
        leaf("checkpoint.write_local", "write to local disks", run_alone(*down)));
    times_.persist_time.children = times_.stall_time.children;
    const Transfer transfer = run_alone(*copied);
    take_save(transfer);
    times_.persist_time.children.push_back(leaf("checkpoint.copy", "copy to the store", transfer));
    return {};
  }

  Result<void> save_async() {
    times_.stall_time.children.push_back(staging("checkpoint.staging", "copy into host memory"));
    times_.persist_time.children = times_.stall_time.children;
    std::vector<Movement> together;
    auto stored =
        movement("store", from_host(plan_.store), writing(false), writers_, times_.per_node);
    if (!stored) return fail(stored.error());
    together.push_back(std::move(*stored));
    if (plan_.first) {
      auto local = movement("local", *plan_.first, writing(false), writers_, times_.per_node);
      if (!local) return fail(local.error());
      together.push_back(std::move(*local));
    }
    const Transfer transfer = run_together(together).front();
    take_save(transfer);
    times_.persist_time.children.push_back(
        leaf("checkpoint.write", "write to the store, in the background", transfer));
    return {};
  }

  Result<void> restore() {
    Pattern reading;
    reading.files = static_cast<double>(clients_.nodes) * clients_.gpus_per_node;
    const Bytes all = plan_.bytes + plan_.weights * std::max(0.0, plan_.weight_readers - 1.0);
    reading.file = plan_.sharded ? plan_.bytes / reading.files : plan_.bytes;
    if (!plan_.sharded) reading.files = 1.0;
    const Bytes per_node = all / static_cast<double>(clients_.nodes);
    const auto moved = movement("restore", plan_.store, reading, clients_.nodes, per_node);
    if (!moved) return fail(moved.error());
    const Transfer transfer = run_alone(*moved);
    times_.restore = transfer.time;
    times_.restore_limit = transfer.limit;
    times_.restore_next = transfer.next;
    times_.restore_next_time = transfer.next_time;
    times_.restore_limits = transfer.limits;
    times_.restore_time = {"checkpoint.restore", "restore", {}, {}, {}, {}, {}};
    times_.restore_time.children.push_back(
        leaf("checkpoint.read", "read from the store", transfer));
    return restore_local();
  }

  Result<void> restore_local() {
    if (plan_.mode == SaveMode::async) {
      times_.restore_local = staging("checkpoint.host_read", "out of host memory").time();
      return {};
    }
    if (!plan_.first) return {};
    const auto moved = movement("restore", *plan_.first, Pattern{}, writers_, times_.per_node);
    if (!moved) return fail(moved.error());
    times_.restore_local = run_alone(*moved).time;
    return {};
  }

  void add_export() {
    BytesPerSecond rate = plan_.export_rate;
    if (rate.value() <= 0.0) {
      const bool lustre = plan_.store.service->kind == catalog::StorageKind::lustre;
      rate = (lustre ? disk_write_rate(plan_.store) : gigabytes_per_second(1.0)) *
             clients_.defaults->at("lustre.import_share");
      times_.warnings.push_back(
          {"export_rate",
           fmt::format("the rate of exports to S3 is not published: {:.4g} GB/s "
                       "assumed, {:.0f} % of the provisioned disks as one import "
                       "reached",
                       rate.value() / 1e9, 100.0 * clients_.defaults->at("lustre.import_share"))});
    }
    times_.exported = times_.persist + plan_.bytes / rate;
  }

  const Clients& clients_;
  const CheckpointPlan& plan_;
  std::uint32_t writers_;
  CheckpointTimes times_;
};

}  // namespace

double checkpoint_bytes_per_parameter(const model::StateFormat& format, bool weights_only) {
  return weights_only ? format.weight : format.weight + format.master + format.moments;
}

std::string_view name(SaveMode mode) {
  return mode == SaveMode::sync ? "sync" : "async";
}

std::optional<SaveMode> find_save_mode(std::string_view wanted) {
  for (const SaveMode mode : {SaveMode::sync, SaveMode::async}) {
    if (name(mode) == wanted) return mode;
  }
  return std::nullopt;
}

Result<CheckpointTimes> checkpoint(const Clients& clients, const CheckpointPlan& plan) {
  return CheckpointModel(clients, plan).run();
}

}  // namespace flowplan::storage
