#include "flowplan/collective/together.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "flowplan/collective/concurrent.hpp"
#include "flowplan/flow/fold.hpp"
#include "flowplan/flow/simulate.hpp"

namespace flowplan::collective {
namespace {

/// A group as `in_step` takes it.
Running running_of(const Part& part, const Group& group, const Outcome& alone,
                   const topology::Cluster& cluster) {
  Running one;
  one.members = members_of(group, cluster);
  const Shape shape = shape_of(one.members);
  if (part.operation == Operation::send_recv) one.members = {group};
  one.schedule = {part.operation, alone.algorithm, alone.protocol,
                  shape,          part.size,       alone.channel_share};
  one.cap_per_s = part.size.value() / alone.time.value();
  one.weight = one.cap_per_s;  // of two on one link each gets half of it, whatever their sizes
  return one;
}

Diagnostic not_groups(std::string_view name, std::string why) {
  return error(Code::bad_placement, fmt::format("groups `{}`: {}", name, why),
               "tp8: blocks of 8 GPUs; dp8: those at the same place of each block of 8; all");
}

}  // namespace

Result<std::vector<PartOutcome>> predict_together(const Stack& stack,
                                                  const topology::Cluster& cluster,
                                                  std::span<const Part> parts) {
  if (parts.empty()) return fail(error(Code::bad_placement, "no groups are given"));
  std::vector<PartOutcome> out;
  std::vector<Running> running;
  for (const Part& part : parts) {
    Request request;
    request.operation = part.operation;
    request.size = part.size;
    if (auto fault = check_groups(part.groups, cluster); !fault) return fail(fault.error());
    PartOutcome one;
    for (const Group& group : part.groups) {
      request.groups = {group};
      auto alone = predict(stack, cluster, request);
      if (!alone) return fail(alone.error());
      running.push_back(running_of(part, group, *alone, cluster));
      if (&group == &part.groups.front()) one.alone = std::move(*alone);
    }
    out.push_back(std::move(one));
  }
  const flow::Quotient folded = in_step(stack, cluster, running);
  const flow::Completion completion = flow::simulate(folded.network, folded.flows);
  std::size_t at = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::size_t g = 0; g < parts[p].groups.size(); ++g)
      out[p].together = std::max(out[p].together, Seconds(completion.end_s[at++]));
    out[p].busbw_together =
        parts[p].size / out[p].together * bus_factor(parts[p].operation, out[p].alone.shape.ranks);
  }
  return out;
}

Result<std::vector<Group>> split_groups(std::string_view name, std::uint32_t gpus) {
  if (name == "all") return std::vector<Group>{contiguous_group(gpus)};
  const std::size_t digits = name.find_first_of("0123456789");
  std::uint32_t count = 0;
  if (digits != std::string_view::npos && digits > 0) {
    const char* end = name.data() + name.size();
    if (std::from_chars(name.data() + digits, end, count).ptr != end) count = 0;
  }
  if (count == 0) return fail(not_groups(name, "not a name and a count"));
  if (gpus % count != 0) {
    return fail(not_groups(name, fmt::format("{} does not divide {} GPUs", count, gpus)));
  }
  const std::string_view kind = name.substr(0, digits);
  const bool strided = kind == "dp" || kind == "rail";
  const std::uint32_t blocks = gpus / count;
  const std::uint32_t groups = strided ? count : blocks, ranks = strided ? blocks : count;
  if (ranks < 2) return fail(not_groups(name, "groups of one GPU"));
  std::vector<Group> out(groups);
  for (std::uint32_t g = 0; g < groups; ++g) {
    for (std::uint32_t r = 0; r < ranks; ++r)
      out[g].push_back(topology::GpuId{strided ? r * count + g : g * count + r});
  }
  return out;
}

}  // namespace flowplan::collective
