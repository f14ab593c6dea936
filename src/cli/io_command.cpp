#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "command.hpp"
#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/report/io.hpp"
#include "flowplan/storage/cost.hpp"
#include "flowplan/storage/sizing.hpp"
#include "io_request.hpp"

namespace flowplan::cli {

namespace {

using storage::Access;

constexpr std::string_view default_region = "us-east-1";

/// Room for this many checkpoints is asked of a file system that is looked for.
constexpr double checkpoints_held = 2.0;

/// The part that a target holds for: what the operation is named after.
const report::IoPart& judged(const std::vector<report::IoPart>& parts) {
  return parts.front();
}

/// A save is judged by when it is safe.
storage::Timed timed_of(const report::IoPart& part) {
  const storage::Answer& answer = part.answer;
  return {answer.time, answer.limit, answer.next, answer.feasible};
}

Bytes held_by(const IoRequest& request) {
  switch (request.operation) {
    case IoOperation::checkpoint:
    case IoOperation::restore:
      return request.checkpoint.bytes * checkpoints_held;
    case IoOperation::load:
      return request.load.weights;
    default:
      return request.bytes;
  }
}

/// --ena, --efa, --gds; else EFA where the nodes have it.
Access access_asked(const Arguments& arguments, const storage::Clients& clients) {
  if (arguments.has("ena")) return Access::ena;
  if (arguments.has("gds")) return Access::gds;
  if (arguments.has("efa")) return Access::efa;
  return clients.efa.value() > 0.0 && clients.node->efa_version > 0 ? Access::efa : Access::ena;
}

Result<void> add_sizing(const Arguments& arguments, const catalog::Catalog& catalog,
                        const storage::Clients& clients, const IoRequest& request,
                        report::IoReport& result) {
  const auto target = parse_duration(arguments.value("target").value_or(""));
  if (!target) return fail(target.error());
  storage::SizingQuestion question;
  question.target = *target;
  question.access = access_asked(arguments, clients);
  question.holds = held_by(request);
  question.region = result.region;
  question.time = [&](const storage::Mount& mount) -> Result<storage::Timed> {
    const auto parts = io_parts(clients, request, mount);
    if (!parts) return fail(parts.error());
    return timed_of(judged(*parts));
  };
  auto rows = storage::size_file_system(catalog, question);
  if (!rows) return fail(std::move(rows.error()));
  result.target = *target;
  result.sizing = std::move(*rows);
  return {};
}

/// The same over ENA, EFA and EFA with GDS.
Result<void> add_networks(const storage::Clients& clients, const IoRequest& request,
                          storage::Mount mount, report::IoReport& result) {
  constexpr std::pair<Access, const char*> ways[] = {
      {Access::ena, "ENA"}, {Access::efa, "EFA"}, {Access::gds, "EFA with GDS"}};
  for (const auto& [access, text] : ways) {
    mount.access = access;
    auto parts = io_parts(clients, request, mount);
    if (!parts) return fail(std::move(parts.error()));
    result.networks.push_back({text, std::move(*parts)});
  }
  return {};
}

void add_costs(const catalog::Catalog& catalog, const IoRequest& request,
               const storage::Mount& mount, report::IoReport& result) {
  const bool streams = request.operation == IoOperation::dataset;
  const Bytes moved = judged(result.parts).answer.bytes;
  const Bytes stored = streams || moved.value() <= 0.0 ? held_by(request) : moved;
  // A stream without an end has no size that could be paid for.
  if (mount.service->kind == catalog::StorageKind::object && stored.value() <= 0.0) return;
  result.month = storage::monthly_cost(catalog, mount, stored, result.region);
  const bool writes = request.operation == IoOperation::write ||
                      request.operation == IoOperation::checkpoint ||
                      request.operation == IoOperation::export_data;
  if (mount.service->kind == catalog::StorageKind::object)
    result.requests = storage::request_cost(catalog, mount, writes, stored, result.region);
}

/// Memory of a node that the job may use, where it is less than the node has.
Result<void> limit_host_memory(const Arguments& arguments, storage::Clients& clients) {
  const auto text = arguments.value("host-memory");
  if (!text) return {};
  const auto memory = parse_bytes(*text);
  if (!memory) return fail(memory.error());
  clients.host_memory = *memory;
  return {};
}

Result<report::IoReport> answer(const Arguments& arguments, const catalog::Catalog& catalog) {
  const auto cluster = cluster_from(arguments, catalog);
  if (!cluster) return fail(cluster.error());
  auto clients = storage::clients_of(catalog, *cluster);
  if (!clients) return fail(std::move(clients.error()));
  if (const auto done = limit_host_memory(arguments, *clients); !done) return fail(done.error());
  const auto request = io_request(arguments, catalog, *clients);
  if (!request) return fail(request.error());

  report::IoReport result;
  result.operation = arguments.positionals[0];
  result.instance = cluster->spec().instance->id;
  result.nodes = clients->nodes;
  result.region = arguments.value("region").value_or(std::string(default_region));
  if (arguments.has("storage") || !arguments.has("target")) {
    std::string read_as;
    const auto mount = io_mount(arguments, catalog, read_as);
    if (!mount) return fail(mount.error());
    if (!read_as.empty()) result.conditions.push_back(read_as);
    auto parts = io_parts(*clients, *request, *mount);
    if (!parts) return fail(std::move(parts.error()));
    result.parts = std::move(*parts);
    result.storage = storage::describe(*mount);
    add_costs(catalog, *request, *mount, result);
    if (arguments.has("compare-network")) {
      const auto done = add_networks(*clients, *request, *mount, result);
      if (!done) return fail(done.error());
    }
  } else {
    result.storage = fmt::format("the smallest FSx for Lustre over {}",
                                 access_asked(arguments, *clients) == Access::ena ? "ENA" : "EFA");
  }
  if (arguments.has("target")) {
    const auto done = add_sizing(arguments, catalog, *clients, *request, result);
    if (!done) return fail(done.error());
  }
  return result;
}

int run(const Arguments& arguments, Session& session) {
  if (arguments.has("compare-network") && !arguments.has("storage"))
    return refuse(session, error(Code::usage, "--compare-network needs a --storage"));
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto result = answer(arguments, *catalog);
  if (!result) return refuse(session, result.error());
  constexpr int infeasible = 4;
  const bool sized = !result->target || std::any_of(result->sizing.begin(), result->sizing.end(),
                                                    [](const auto& row) { return row.meets; });
  const int code = result->feasible() && sized ? 0 : infeasible;
  return emit(arguments, session,
              renderings(session, [&] { return report::io(*result); },
                         {{"json", [&] { return report::io_json(*result); }}}),
              code);
}

}  // namespace

Command io_command() {
  Command command{
      "io",
      "Predict storage: throughput, checkpoints, datasets, model loads; size a file system.",
      "Every answer names the link that binds and the next one. Sizes need a unit (GB is 10^9, GiB "
      "2^30 byte).",
      {{"OPERATION",
        "read, write, dataset, first-epoch, checkpoint, restore, load, import or export.",
        1,
        1,
        {"read", "write", "dataset", "first-epoch", "checkpoint", "restore", "load", "import",
         "export"}}},
      cluster_options(),
      {{"io checkpoint --instance p5.48xlarge --nodes 256 --model llama3.1-405b --storage "
        "fsx-persistent2-1000 --capacity 96TiB --efa --async",
        "Stall, persist and restore of a 405B checkpoint"},
       {"io checkpoint --instance p5.48xlarge --nodes 64 --model llama3-70b --target 30s",
        "The smallest file systems that take it in 30 s, and what they cost"},
       {"io load --instance p5en.48xlarge --nodes 16 --model llama3.1-405b --precision fp8 "
        "--storage fsx-persistent2-1000 --capacity 96TiB --gds --loader gds-streamer",
        "16 replicas start"},
       {"io dataset --instance p5.48xlarge --nodes 8 --demand unet3d --storage s3 --prefixes 8",
        "Whether S3 feeds 64 GPUs"},
       {"io read --instance p5.48xlarge --nodes 8 --bytes 10TB --storage fsx-persistent2-1000 "
        "--capacity 96000GiB --compare-network",
        "ENA, EFA and GPUDirect Storage link by link"}},
      run};
  const std::vector<Option> more = io_options();
  command.options.insert(command.options.end(), more.begin(), more.end());
  return command;
}

}  // namespace flowplan::cli
