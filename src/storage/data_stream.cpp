#include "flowplan/storage/data_stream.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace flowplan::storage {

namespace {

constexpr double steady_steps = 1000.0;  // latency of the first step does not count

Result<Movement> reading(const Clients& clients, const Mount& mount, Bytes file,
                         const catalog::DataLoader* loader, Bytes per_node) {
  Pattern pattern;
  pattern.file = file;
  pattern.loader = loader;
  auto found = path(clients, mount, pattern);
  if (!found) return fail(std::move(found.error()));
  return Movement{"dataset", std::move(*found), clients.nodes, per_node};
}

/// What moves a second once the first byte is there.
BytesPerSecond steady_rate(const Movement& movement, const Transfer& transfer) {
  const Bytes all = movement.per_node * static_cast<double>(movement.nodes);
  return all / (transfer.time - movement.path.latency);
}

void hold_against_disks(const Clients& clients, const StreamPlan& plan, Answer& answer) {
  const Bytes disks = gigabytes(clients.node->nvme_total_gb.value);
  const Bytes share = plan.dataset / static_cast<double>(clients.nodes);
  if (!clients.node->nvme_total_gb.known || share <= disks) return;
  answer.feasible = false;
  answer.why_not = fmt::format("local disks: {:.4g} TB of the dataset a node, {} has {:.4g} TB",
                               share / gigabytes(1e3), clients.node->id, disks / gigabytes(1e3));
}

}  // namespace

Result<DataDemand> benchmark_demand(const catalog::Constants& defaults, std::string_view name) {
  const std::span<const double> row = defaults.table(fmt::format("demand.{}", name));
  constexpr std::size_t columns = 4;
  if (row.size() == columns) return DataDemand{Bytes(row[0]), row[1], Seconds(row[2]), row[3]};
  std::vector<std::string> known;
  for (const catalog::Constants::Entry& entry : defaults.entries()) {
    if (entry.name.starts_with("demand.")) known.push_back(entry.name.substr(7));
  }
  return fail(error(Code::unknown_name, fmt::format("there is no workload `{}`", name),
                    suggest(name, known)));
}

Result<Answer> stream(const Clients& clients, const StreamPlan& plan) {
  const DataDemand& demand = plan.demand;
  if (!(demand.sample.value() > 0.0 && demand.samples_per_step > 0.0 && demand.step.value() > 0.0))
    return fail(error(Code::bad_storage,
                      "a dataset's demand needs a sample size, samples a step and a step time",
                      "all above 0"));
  const double gpus_per_node = clients.gpus_per_node;
  const Bytes step_bytes = demand.sample * demand.samples_per_step * gpus_per_node;
  auto moved = reading(clients, plan.source, plan.file, plan.loader, step_bytes * steady_steps);
  if (!moved) return fail(std::move(moved.error()));
  if (plan.cache) {
    Pattern pattern;
    pattern.direction = Direction::write;
    pattern.to_gpu = false;
    const auto fill = path(clients, *plan.cache, pattern);
    if (!fill) return fail(fill.error());
    moved->path.limits.insert(moved->path.limits.end(), fill->limits.begin(), fill->limits.end());
  }
  Answer answer = answer_of("io.step_data", "data of a step", *moved);
  const BytesPerSecond supply = steady_rate(*moved, run_alone(*moved));
  const double gpus = gpus_per_node * clients.nodes;
  const BytesPerSecond wanted = demand.per_gpu() * gpus;
  // Back from many steps to one.
  const Seconds one = step_bytes * static_cast<double>(clients.nodes) / supply;
  answer.breakdown.children.front().leaf_time = one;
  answer.bytes = step_bytes * static_cast<double>(clients.nodes);
  answer.time = one;
  answer.rate = supply;
  answer.next_time = answer.next_time / steady_steps;
  const double utilisation = std::min(1.0, supply / wanted);
  answer.details = {
      {"demand_bytes_per_s_per_gpu", "demand of a GPU", demand.per_gpu().value(), "B/s"},
      {"demand_bytes_per_s", "demand of all GPUs", wanted.value(), "B/s"},
      {"supply_bytes_per_s", "supply", supply.value(), "B/s"},
      {"utilisation", "accelerator utilisation", utilisation, "%"},
      {"stall_s", "stall of a step", std::max(0.0, (one - demand.step).value()), "s"},
      {"gpus_fed", "GPUs that this feeds", std::min(1e9, supply / demand.per_gpu()), ""}};
  if (demand.floor > 0.0)
    answer.details.push_back({"utilisation_floor", "utilisation asked for", demand.floor, "%"});
  if (plan.cache) {
    const auto hot = reading(clients, *plan.cache, plan.file, plan.loader, step_bytes);
    if (!hot) return fail(hot.error());
    const BytesPerSecond rate = steady_rate(*hot, run_alone(*hot));
    answer.details.push_back(
        {"cached_supply_bytes_per_s", "supply of the cache, later epochs", rate.value(), "B/s"});
    answer.details.push_back(
        {"cached_utilisation", "utilisation in later epochs", std::min(1.0, rate / wanted), "%"});
    answer.warnings.insert(answer.warnings.end(), hot->path.warnings.begin(),
                           hot->path.warnings.end());
    hold_against_disks(clients, plan, answer);
  }
  if (demand.floor > 0.0 && utilisation < demand.floor)
    answer.warnings.push_back(
        {"io_bound", fmt::format("I/O bound: {:.1f} % utilisation where {:.0f} % are asked for",
                                 100.0 * utilisation, 100.0 * demand.floor)});
  else if (utilisation < 1.0)
    answer.warnings.push_back(
        {"io_bound", fmt::format("I/O bound: GPUs wait for data {:.1f} % of the time",
                                 100.0 * (1.0 - utilisation))});
  return answer;
}

Seconds stall_per_step(const Transfer& data_of_step, Seconds computing) {
  return std::max(Seconds(0.0), data_of_step.time - computing);
}

Result<Answer> first_epoch(const Clients& clients, const FirstEpoch& plan) {
  if (plan.file_system.service->kind != catalog::StorageKind::lustre)
    return fail(error(Code::bad_storage,
                      fmt::format("{} does not load lazily from S3", plan.file_system.service->id),
                      "FSx for Lustre does"));
  if (plan.bytes.value() <= 0.0) return fail(error(Code::bad_storage, "a dataset of no bytes"));
  const Bytes file = plan.objects > 0.0 ? plan.bytes / plan.objects : Bytes(0.0);
  const Bytes per_node = plan.bytes / static_cast<double>(clients.nodes);
  auto moved = reading(clients, plan.file_system, file, nullptr, per_node);
  if (!moved) return fail(std::move(moved.error()));
  const Transfer later = run_alone(*moved);
  add_repository(clients, plan.file_system, Direction::read, plan.rates, plan.bytes, plan.objects,
                 moved->path);
  Answer answer = answer_of("io.first_epoch", "reads of the first epoch", *moved);
  if (plan.file_system.capacity.value() > 0.0 && plan.bytes > plan.file_system.capacity) {
    answer.feasible = false;
    answer.why_not =
        fmt::format("file system: {:.4g} TB of data in {:.4g} TB", plan.bytes / gigabytes(1e3),
                    plan.file_system.capacity / gigabytes(1e3));
  }
  answer.details.push_back({"later_epoch_s", "reads of later epochs", later.time.value(), "s"});
  if (plan.computing.value() > 0.0) {
    const Seconds waiting = std::max(Seconds(0.0), answer.time - plan.computing);
    const Seconds epoch = plan.computing + waiting;
    answer.details.push_back({"computing_s", "computing of an epoch", plan.computing.value(), "s"});
    answer.details.push_back({"first_epoch_s", "first epoch", epoch.value(), "s"});
    answer.details.push_back({"waiting_share", "share of it that waits", waiting / epoch, "%"});
    if (waiting.value() > 0.0)
      answer.warnings.push_back(
          {"io_bound", fmt::format("I/O bound: the first epoch waits {:.1f} % of its time for {}",
                                   100.0 * (waiting / epoch), answer.limit)});
  }
  return answer;
}

}  // namespace flowplan::storage
