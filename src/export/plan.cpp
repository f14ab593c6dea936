#include "flowplan/export/plan.hpp"

#include <cctype>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "flowplan/scenario/resolve.hpp"

namespace flowplan::exporting {

namespace {

constexpr std::size_t longest_slug = 40;
constexpr const char* defaults_id = "export-defaults";
constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;

Result<std::vector<std::string>> names_of(const topology::Cluster& cluster,
                                          std::span<const std::string> hosts) {
  std::vector<std::string> names;
  names.reserve(cluster.nodes());
  if (hosts.empty()) {
    for (std::uint32_t i = 0; i < cluster.nodes(); ++i)
      names.push_back(cluster.node_name(i));
    return names;
  }
  if (hosts.size() != cluster.nodes())
    return fail(error(
        Code::bad_cluster,
        fmt::format("{} hosts are named, the cluster has {} nodes", hosts.size(), cluster.nodes()),
        "name every node once, those of a leaf or UltraServer in a row"));
  names.assign(hosts.begin(), hosts.end());
  std::set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second)
      return fail(error(Code::bad_cluster, fmt::format("host {} is named twice", name)));
  return names;
}

/// The one file system that the run's data or checkpoints are on.
std::optional<SharedFileSystem> shared_of(const scenario::Scenario& scenario) {
  if (!scenario.storage) return std::nullopt;
  const storage::Mount* mount = nullptr;
  if (scenario.storage->dataset) mount = &scenario.storage->dataset->mount;
  if (scenario.storage->checkpoint) {
    const storage::Mount& saves = scenario.storage->checkpoint->mount;
    const bool lustre =
        saves.service != nullptr && saves.service->kind == catalog::StorageKind::lustre;
    if (mount == nullptr || lustre) mount = &saves;
  }
  if (mount == nullptr || mount->service == nullptr ||
      mount->service->kind != catalog::StorageKind::lustre)
    return std::nullopt;
  // "fsx-persistent2-1000": deployment and throughput are what the service is called by.
  const std::string& id = mount->service->id;
  SharedFileSystem shared;
  shared.gib = std::llround(mount->capacity.value() / bytes_per_gib);
  shared.efa = mount->access != storage::Access::ena;
  const std::string_view persistent = "fsx-persistent";
  if (id.rfind(persistent, 0) != 0) return std::nullopt;
  const std::size_t dash = id.rfind('-');
  shared.deployment =
      fmt::format("PERSISTENT_{}", id.substr(persistent.size(), dash - persistent.size()));
  shared.mbytes_per_s_tib = std::atoi(id.c_str() + dash + 1);
  return shared;
}

}  // namespace

bool Plan::domains_span_nodes() const {
  return cluster.gpus_per_domain() > cluster.gpus_per_node();
}

std::uint32_t Plan::nodes_per_domain() const {
  return domains_span_nodes() ? cluster.gpus_per_domain() / cluster.gpus_per_node() : 1;
}

std::uint32_t Plan::ranks() const {
  return job.gpus != 0 ? job.gpus : cluster.gpus();
}

std::string slug_of(std::string_view text) {
  std::string slug;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 && byte < 128)
      slug += static_cast<char>(std::tolower(byte));
    else if (!slug.empty() && slug.back() != '-')
      slug += '-';
  }
  if (slug.empty() || std::isdigit(static_cast<unsigned char>(slug.front())) != 0)
    slug.insert(0, "job-");
  slug.resize(std::min(slug.size(), longest_slug));
  while (slug.back() == '-')
    slug.pop_back();
  return slug;
}

namespace {

Plan::Work work_of(const scenario::Scenario& scenario) {
  if (scenario.serving) return Plan::Work::serving;
  if (!scenario.posttraining) return Plan::Work::pretraining;
  return scenario.posttraining->has_rollouts() ? Plan::Work::reinforcement
                                               : Plan::Work::fine_tuning;
}

/// Machines and model, which is all that writers need of other work than pretraining.
Result<scenario::Resolved> resolve_machines(const catalog::Catalog& catalog,
                                            const scenario::Scenario& scenario) {
  topology::ClusterSpec spec;
  spec.instance = scenario.cluster.instance;
  spec.count = scenario.cluster.count;
  spec.fabric = scenario.cluster.fabric;
  auto cluster = topology::Cluster::build(catalog, spec);
  if (!cluster) return fail(std::move(cluster.error()));
  training::Job job;
  job.model = scenario.serving ? scenario.serving->model : scenario.workload.model;
  return scenario::Resolved{
      std::move(*cluster), std::move(job), scenario.cluster.region.value_or(""), {}};
}

/// Which nodes the ranks of the plan's job are on.
Result<void> place_ranks(Plan& plan) {
  const std::uint32_t per_node = plan.gpus_per_node();
  std::uint32_t per_domain = plan.job.placement.gpus_per_domain;
  if (per_domain == 0) per_domain = plan.cluster.gpus_per_domain();
  const std::uint32_t ranks = plan.ranks();
  // A job that fills a part of one domain is as good as one that fills all of it.
  if (ranks < per_domain) per_domain = ranks;
  if (ranks % per_node != 0 || per_domain % per_node != 0)
    return fail(
        error(Code::unsupported_feature,
              fmt::format("{} ranks, {} in an NVLink domain, leave GPUs of a node of {} idle",
                          ranks, per_domain, per_node),
              "launchers give a job whole nodes: choose gpus and gpus_per_domain so"));
  plan.job_nodes = ranks / per_node;
  plan.job_nodes_per_domain = plan.domains_span_nodes() ? per_domain / per_node : 1;
  return {};
}

}  // namespace

Result<Plan> plan_of(const catalog::Catalog& catalog, const scenario::Scenario& scenario,
                     std::span<const std::string> hosts) {
  const Plan::Work work = work_of(scenario);
  auto resolved = work == Plan::Work::pretraining ? scenario::resolve(catalog, scenario)
                                                  : resolve_machines(catalog, scenario);
  if (!resolved) return fail(std::move(resolved.error()));
  auto names = names_of(resolved->cluster, hosts);
  if (!names) return fail(std::move(names.error()));
  const auto defaults = catalog.constants(defaults_id);
  if (!defaults) return fail(defaults.error());

  const catalog::Instance& unit = *resolved->cluster.spec().instance;
  Plan plan{scenario.name.empty() ? unit.id : scenario.name,
            {},
            resolved->cluster,
            std::move(*names),
            &unit,
            &catalog.gpu_of(unit),
            *defaults,
            resolved->region,
            scenario.cluster.purchase.value_or("on_demand"),
            resolved->job,
            0,
            1,
            0,
            {},
            work,
            {}};
  plan.slug = slug_of(plan.title);
  if (!unit.member.empty()) {
    const auto member = catalog.instance(unit.member);
    if (!member) return fail(member.error());
    plan.node_type = *member;
  }

  if (const auto placed = place_ranks(plan); !placed) return fail(placed.error());
  if (work == Plan::Work::pretraining && scenario.workload.tokens) {
    const double per_step =
        static_cast<double>(plan.job.seq_len) * static_cast<double>(plan.job.global_batch);
    plan.steps = static_cast<std::int64_t>(std::ceil(*scenario.workload.tokens / per_step));
  }
  plan.shared = shared_of(scenario);
  return plan;
}

Result<void> take_update(Plan& plan, const scenario::Answer& answer) {
  if (plan.work != Plan::Work::fine_tuning) return {};
  plan.job = answer.job;
  plan.method = answer.posttraining->method;
  plan.steps = answer.posttraining->steps.value_or(0);
  return place_ranks(plan);
}

}  // namespace flowplan::exporting
