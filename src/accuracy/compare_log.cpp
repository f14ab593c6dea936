#include "flowplan/accuracy/compare_log.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "flowplan/collective/stack.hpp"

namespace flowplan::accuracy {
namespace {

using collective::Algorithm;
using collective::Outcome;
using collective::Protocol;
using collective::Request;

/// Ratios this near to one that a missing part gives count as that part.
constexpr double ratio_tolerance = 0.025;
/// A forced choice explains the curve when it is this much nearer to it than the expected one.
constexpr double explains_within = 0.07;

/// Of two in the middle the lower: a summary must not hide a shortfall.
std::optional<double> median_ratio(std::vector<double> ratios) {
  if (ratios.empty()) return std::nullopt;
  const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>((ratios.size() - 1) / 2);
  std::nth_element(ratios.begin(), middle, ratios.end());
  return *middle;
}

/// Of two in the middle the higher. There must be some.
double median_miss(std::vector<double> misses) {
  const auto middle = misses.begin() + static_cast<std::ptrdiff_t>(misses.size() / 2);
  std::nth_element(misses.begin(), middle, misses.end());
  return *middle;
}

bool transfer_counts(const Outcome& outcome) {
  return outcome.transfer >= outcome.latency + outcome.launch;
}

std::vector<const ComparedLine*> large_lines(const LogComparison& comparison) {
  std::vector<const ComparedLine*> large;
  for (const ComparedLine& line : comparison.lines) {
    if (transfer_counts(line.expected)) large.push_back(&line);
  }
  return large;
}

/// Everything that the search for causes looks at.
struct Suspect {
  const topology::Cluster& cluster;
  const collective::Stack& stack;
  const NcclLog& log;
  Request request;
  const LogComparison& comparison;
};

bool crosses_nodes(const Suspect& suspect) {
  return suspect.comparison.lines.front().expected.shape.nodes > 1;
}

/// A choice other than the expected one whose times are those measured.
std::optional<std::string> other_choice(const Suspect& suspect) {
  const auto large = large_lines(suspect.comparison);
  if (large.empty()) return std::nullopt;
  std::string best;
  double best_miss = explains_within;
  for (const Algorithm algorithm : collective::all_algorithms) {
    for (const Protocol protocol : collective::all_protocols) {
      std::vector<double> misses;
      bool differs = false;
      for (const ComparedLine* line : large) {
        Request request = suspect.request;
        request.size = Bytes(line->measured.size_bytes);
        request.algorithm = algorithm;
        request.protocol = protocol;
        const auto outcome = collective::predict(suspect.stack, suspect.cluster, request);
        if (!outcome) break;
        differs = differs || outcome->algorithm != line->expected.algorithm ||
                  outcome->protocol != line->expected.protocol;
        misses.push_back(std::abs(
            std::log(outcome->time.value() / microseconds(line->measured.time_us).value())));
      }
      if (misses.size() != large.size() || !differs) continue;
      const double miss = median_miss(misses);
      if (miss >= best_miss) continue;
      best_miss = miss;
      best = fmt::format("{}/{}", name(algorithm), name(protocol));
    }
  }
  if (best.empty()) return std::nullopt;
  return fmt::format(
      "another choice: these times are those of {} (within {:.0f} %), not of {}/{}; is a tuner "
      "missing, or NCCL_ALGO or NCCL_PROTO set?",
      best, 100.0 * std::expm1(best_miss), name(large.back()->expected.algorithm),
      name(large.back()->expected.protocol));
}

/// Network interfaces of a node and of a GPU's group of them; 0 when the catalog does not know.
struct Nics {
  int of_node = 0, of_gpu = 0;
};
Nics nics_of(const topology::Cluster& cluster) {
  const catalog::Instance& instance = *cluster.spec().instance;
  Nics nics;
  if (instance.efa_interfaces) nics.of_node = static_cast<int>(instance.efa_interfaces.value);
  if (instance.gpus > 0) nics.of_gpu = nics.of_node / instance.gpus;
  return nics;
}

std::optional<std::string> missing_nics(const Suspect& suspect) {
  const double ratio = suspect.comparison.large_ratio.value_or(1.0);
  const Nics nics = nics_of(suspect.cluster);
  const auto& log = suspect.log;
  if (log.nics && nics.of_node > 0 && *log.nics < nics.of_node) {
    return fmt::format(
        "NICs missing: the plugin found {} of {} on a node (expect {:.2f} of the "
        "bandwidth)",
        *log.nics, nics.of_node, static_cast<double>(*log.nics) / nics.of_node);
  }
  // Channels keep their share of the work: a rail that lost one of its m NICs holds all up.
  for (int lost = 1; lost < nics.of_gpu; ++lost) {
    const double left = static_cast<double>(nics.of_gpu - lost) / nics.of_gpu;
    if (std::abs(ratio - left) < ratio_tolerance) {
      return fmt::format(
          "a NIC group short of NICs: {:.2f} is {} of the {} NICs of one GPU; check "
          "`fi_info -p efa` and the security groups on every node",
          left, nics.of_gpu - lost, nics.of_gpu);
    }
  }
  const int groups = suspect.cluster.spec().instance->gpus;
  for (int lost = 1; lost <= groups / 2; ++lost) {
    const double left = static_cast<double>(groups - lost) / groups;
    if (std::abs(ratio - left) < ratio_tolerance) {
      return fmt::format(
          "a NIC group missing: {:.3f} is {} of a node's {} groups; check the "
          "network interfaces of the launch template",
          left, groups - lost, groups);
    }
  }
  return std::nullopt;
}

/// Bandwidth of the x16 slot of a GPU, one direction; 0: unknown.
double pcie_gbytes(const catalog::Catalog& catalog, const topology::Cluster& cluster) {
  // By PCIe generation, 3 first: A100 has 4, Hopper and later 5.
  constexpr std::size_t fourth = 1, fifth = 2;
  const auto fabric = catalog.constants("fabric-defaults");
  if (!fabric) return 0.0;
  const auto rates = (*fabric)->table("pcie.x16_gbytes_per_s");
  const bool ampere =
      catalog.gpu_of(*cluster.spec().instance).generation == catalog::GpuGeneration::ampere;
  return rates.size() > fifth ? rates[ampere ? fourth : fifth] : 0.0;
}

std::vector<std::string> causes_at_large_sizes(const catalog::Catalog& catalog,
                                               const Suspect& suspect) {
  std::vector<std::string> causes;
  const NcclLog& log = suspect.log;
  const auto large = large_lines(suspect.comparison);
  const double busbw = large.empty() ? 0.0 : large.back()->measured.busbw_gbytes_per_s;
  const bool network = crosses_nodes(suspect);
  if (network && log.sockets) {
    causes.push_back("TCP sockets: NCCL did not load the network plugin (NET/Socket in the log)");
  }
  if (network && log.gpu_direct == false) {
    causes.push_back("no GPUDirect: traffic goes through host memory (the log says so)");
  }
  if (auto other = other_choice(suspect)) causes.push_back(std::move(*other));
  if (network) {
    if (auto nics = missing_nics(suspect)) causes.push_back(std::move(*nics));
  }
  const double slot = pcie_gbytes(catalog, suspect.cluster);
  if (!network && slot > 0.0 && busbw <= slot && busbw > 0.0) {
    causes.push_back(
        fmt::format("PCIe-bound: {:.0f} GB/s is below one x16 slot ({:.0f}); NVLink is "
                    "not used (NCCL_P2P_DISABLE, fabric manager, containers without "
                    "peer access)",
                    busbw, slot));
  }
  constexpr double staged_through_host = 0.6;
  if (network && !log.sockets && !log.gpu_direct &&
      suspect.comparison.large_ratio.value_or(1.0) < staged_through_host) {
    causes.push_back(
        "no GPUDirect, or PCIe-bound: such a large shortfall is that of traffic through "
        "host memory; NCCL_DEBUG=INFO shows GDRDMA where it works");
  }
  if (causes.empty()) {
    causes.push_back(network ? "large sizes fall short for no reason that a log shows: "
                               "oversubscribed or scattered placement, a slow link, another job"
                             : "large sizes fall short for no reason that a log shows: clocks, a "
                               "slow NVLink, another job on the node");
  }
  return causes;
}

bool same_choice(const Outcome& a, const Outcome& b) {
  return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

/// Whether a neighbouring size is expected to choose otherwise, and that choice takes as long as
/// was measured here.
bool next_to_switch(const Suspect& suspect, std::size_t at, double tell_below) {
  const auto& lines = suspect.comparison.lines;
  const ComparedLine& line = lines[at];
  for (const std::size_t other : {at - 1, at + 1}) {  // before the first: wraps, out of range
    if (other >= lines.size() || same_choice(line.expected, lines[other].expected)) continue;
    Request request = suspect.request;
    request.size = Bytes(line.measured.size_bytes);
    request.algorithm = lines[other].expected.algorithm;
    request.protocol = lines[other].expected.protocol;
    const auto outcome = collective::predict(suspect.stack, suspect.cluster, request);
    if (outcome && outcome->time / microseconds(line.measured.time_us) >= tell_below) return true;
  }
  return false;
}

std::vector<std::string> causes_at_single_sizes(const Suspect& suspect, double tell_below) {
  const auto& lines = suspect.comparison.lines;
  bool switches = false;
  std::string alone;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].ratio >= tell_below) continue;
    if (next_to_switch(suspect, i, tell_below)) {
      switches = true;
    } else {
      alone += fmt::format("{}{:.0f} bytes ({:.3f})", alone.empty() ? "" : ", ",
                           lines[i].measured.size_bytes, lines[i].ratio);
    }
  }
  std::vector<std::string> causes;
  if (!alone.empty()) {
    causes.push_back("short while most sizes are well, and no switch of algorithm explains it: " +
                     alone + "; another job or a fault during the run? Repeat these sizes");
  }
  if (switches) {
    causes.emplace_back(
        "single sizes only: next to a switch of algorithm or protocol, which another version of "
        "NCCL or of its tuner puts elsewhere");
  }
  return causes;
}

std::optional<std::string> faster_than_expected(const LogComparison& comparison) {
  std::size_t faster = 0;
  const ComparedLine* most = nullptr;
  for (const ComparedLine& line : comparison.lines) {
    if (!line.faster) continue;
    ++faster;
    if (most == nullptr || line.ratio > most->ratio) most = &line;
  }
  if (most == nullptr) return std::nullopt;
  return fmt::format(
      "faster than expected at {} of {} sizes (most at {:.0f} bytes: {:.3f}): is this the "
      "cluster? Check --instance, --nodes and --profile",
      faster, comparison.lines.size(), most->measured.size_bytes, most->ratio);
}

void find_causes(const catalog::Catalog& catalog, const Suspect& suspect, double tell_below,
                 LogComparison& comparison) {
  const bool large = comparison.large_ratio.value_or(1.0) < tell_below;
  const bool small = comparison.small_ratio.value_or(1.0) < tell_below;
  if (large) comparison.causes = causes_at_large_sizes(catalog, suspect);
  if (small && !large) {
    comparison.causes.push_back(
        "small sizes only: latency. An older NCCL, one process for several GPUs, CPU affinity, "
        "skew between ranks; the links are well");
  }
  if (!large && !small && comparison.least_ratio < tell_below) {
    comparison.causes = causes_at_single_sizes(suspect, tell_below);
  }
  if (auto faster = faster_than_expected(comparison)) {
    comparison.causes.push_back(std::move(*faster));
  }
}

/// "NVIDIA A100-SXM4-80GB": NVIDIA, A100, SXM4, 80GB; in capitals.
std::vector<std::string> name_parts(std::string_view name) {
  std::vector<std::string> parts(1);
  for (const char c : name) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      parts.back() += static_cast<char>(std::toupper(letter));
    } else if (!parts.back().empty()) {
      parts.emplace_back();
    }
  }
  if (parts.back().empty()) parts.pop_back();
  return parts;
}

/// Whether the driver's name of a GPU can be that of the catalog's entry: the model and, where the
/// name has one, the capacity.
bool may_be_gpu(std::string_view driver_name, const catalog::Gpu& gpu) {
  const auto said = name_parts(driver_name);
  const auto id = name_parts(gpu.id);
  if (id.empty() || std::find(said.begin(), said.end(), id.front()) == said.end()) return false;
  return std::all_of(said.begin(), said.end(), [&](const std::string& part) {
    const std::size_t unit = part.find_first_not_of("0123456789");
    if (unit == 0 || unit == std::string::npos || part.substr(unit) != "GB") return true;
    return !gpu.hbm_gb || fmt::format("{:.0f}", gpu.hbm_gb.value) == part.substr(0, unit);
  });
}

/// Where the log tells that it is of another cluster.
std::vector<std::string> mismatches(const catalog::Catalog& catalog,
                                    const topology::Cluster& cluster, const NcclLog& log) {
  std::vector<std::string> found;
  const catalog::Instance& instance = *cluster.spec().instance;
  const catalog::Gpu& gpu = catalog.gpu_of(instance);
  if (!log.gpu.empty() && !may_be_gpu(log.gpu, gpu)) {
    found.push_back(
        fmt::format("another GPU: {} in the log, {} has {}; give the --instance of "
                    "that run",
                    log.gpu, instance.id, gpu.id));
  }
  const int hosts = cluster.spec().count * instance.instances;
  if (log.hosts > 0 && log.hosts != hosts) {
    found.push_back(
        fmt::format("another number of hosts: {} in the log, {} here; leave out "
                    "--nodes or give that run's",
                    log.hosts, hosts));
  }
  return found;
}

std::vector<std::string> remarks_on(const NcclLog& log) {
  std::vector<std::string> remarks;
  if (!log.concluded) remarks.emplace_back("the log has no summary: the sweep was cut off");
  for (const NcclLogLine& line : log.lines) {
    if (line.wrong.value_or(0.0) > 0.0) {
      remarks.push_back(fmt::format("{:.0f} wrong values at {:.0f} bytes: the run is not valid",
                                    *line.wrong, line.size_bytes));
      break;
    }
  }
  if (log.unusable.rows > 0) {
    remarks.push_back(fmt::format(
        "{} row{} passed over: {}{}", log.unusable.rows, log.unusable.rows == 1 ? "" : "s",
        log.unusable.what,
        log.unusable.line > 0 ? fmt::format(" in line {}", log.unusable.line) : std::string()));
  }
  if (!log.forced_algorithm.empty()) {
    remarks.push_back("NCCL_ALGO=" + log.forced_algorithm + " in the log");
  }
  if (!log.forced_protocol.empty()) {
    remarks.push_back("NCCL_PROTO=" + log.forced_protocol + " in the log");
  }
  return remarks;
}

Diagnostic no_operation(const NcclLog& log) {
  std::string known;
  for (const collective::Operation operation : collective::all_operations)
    known += (known.empty() ? "" : ", ") + std::string(name(operation));
  if (!log.program.empty()) {
    return error(Code::bad_collective, in_file(log.file),
                 fmt::format("`{}` is not modelled", log.program), "there are: " + known);
  }
  return error(Code::bad_collective, in_file(log.file), "the log does not name its collective",
               fmt::format("name it, `flowplan collective all_reduce --compare {}`; or one of: {}",
                           log.file == "<stdin>" ? "-" : log.file, known));
}

Result<Request> request_of_log(const topology::Cluster& cluster, const NcclLog& log,
                               collective::Operation operation, const CompareOptions& options) {
  Request request;
  request.operation = operation;
  auto group = ranks_of_log(cluster, log);
  if (!group) return fail(std::move(group.error()));
  request.groups = {std::move(*group)};
  request.algorithm = options.algorithm;
  request.protocol = options.protocol;
  if (!request.algorithm.stated()) {
    const auto forced = collective::parse_algorithms(log.forced_algorithm, operation);
    if (forced) request.algorithm = *forced;
  }
  if (!request.protocol.stated()) {
    const auto forced = collective::parse_protocols(log.forced_protocol, operation);
    if (forced) request.protocol = *forced;
  }
  return request;
}

}  // namespace

Result<collective::Group> ranks_of_log(const topology::Cluster& cluster, const NcclLog& log) {
  const std::uint32_t ranks =
      log.ranks > 0 ? static_cast<std::uint32_t>(log.ranks) : cluster.gpus();
  const std::uint32_t nodes = static_cast<std::uint32_t>(cluster.spec().count);
  if (ranks > cluster.gpus() || ranks % nodes != 0) {
    return fail(error(Code::bad_placement,
                      fmt::format("{} ranks in the log on {} nodes of {} GPUs", ranks, nodes,
                                  cluster.gpus() / nodes),
                      "give the --instance and --nodes of that run"));
  }
  const std::uint32_t per_node = cluster.gpus() / nodes;
  collective::Group group;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint32_t used = ranks / nodes;
    group.push_back(topology::GpuId{rank / used * per_node + rank % used});
  }
  return group;
}

Result<LogComparison> compare_log(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                                  const catalog::Constants& profile, const NcclLog& log,
                                  std::optional<collective::Operation> operation,
                                  const CompareOptions& options) {
  const auto asked = operation ? operation : log.operation;
  if (!asked) return fail(no_operation(log));
  const auto stack = collective::read_stack(profile);
  if (!stack) return fail(stack.error());
  auto request = request_of_log(cluster, log, *asked, options);
  if (!request) return fail(std::move(request.error()));

  LogComparison comparison;
  comparison.operation = std::string(name(*asked));
  comparison.instance = cluster.spec().instance->id;
  comparison.profile = profile.id();
  comparison.nodes = cluster.spec().count;
  comparison.ranks = static_cast<int>(request->groups.front().size());
  comparison.remarks = mismatches(catalog, cluster, log);
  comparison.of_other_cluster = !comparison.remarks.empty();
  for (std::string& remark : remarks_on(log))
    comparison.remarks.push_back(std::move(remark));
  std::vector<double> large, small;
  for (const NcclLogLine& line : log.lines) {
    request->size = Bytes(line.size_bytes);
    auto outcome = collective::predict(*stack, cluster, *request);
    if (!outcome) return fail(std::move(outcome.error()));
    const double ratio = outcome->time / microseconds(line.time_us);
    (transfer_counts(*outcome) ? large : small).push_back(ratio);
    if (comparison.lines.empty() || ratio < comparison.least_ratio) {
      comparison.least_ratio = ratio;
      comparison.least_bytes = line.size_bytes;
    }
    const bool faster = ratio * outcome->band.low > 1.0 && ratio * options.tell_below > 1.0;
    comparison.lines.push_back({line, std::move(*outcome), ratio, faster});
  }
  comparison.large_ratio = median_ratio(std::move(large));
  comparison.small_ratio = median_ratio(std::move(small));
  find_causes(catalog, {cluster, *stack, log, *request, comparison}, options.tell_below,
              comparison);
  if (comparison.of_other_cluster && !comparison.causes.empty()) {
    comparison.causes.insert(comparison.causes.begin(),
                             "the log is of another cluster than the one expected here (above)");
  }
  return comparison;
}

}  // namespace flowplan::accuracy
