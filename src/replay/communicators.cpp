#include "communicators.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/collective/together.hpp"

namespace flowplan::replay {

namespace {

constexpr std::array<std::string_view, 4> names_of_all{"", "all", "default_pg", "0"};

RankGroups everyone(std::uint32_t ranks) {
  std::vector<std::uint32_t> all(ranks);
  std::iota(all.begin(), all.end(), 0u);
  return {std::move(all)};
}

RankGroups singles(std::uint32_t ranks) {
  RankGroups out;
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    out.push_back({rank});
  return out;
}

Result<RankGroups> split(std::string_view spec, std::uint32_t ranks) {
  // Groups of one exchange nothing, and are what a part of a larger job may be.
  const std::string one = fmt::format("dp{}", ranks);
  if (spec == one || spec == "tp1") return singles(ranks);
  const auto groups = collective::split_groups(spec, ranks);
  if (!groups) return fail(groups.error());
  RankGroups out;
  for (const collective::Group& group : *groups) {
    out.emplace_back();
    for (const topology::GpuId gpu : group)
      out.back().push_back(topology::index(gpu));
  }
  return out;
}

Result<RankGroups> listed(const std::string& name, const std::vector<std::uint32_t>& members,
                          std::uint32_t ranks) {
  std::set<std::uint32_t> once;
  for (const std::uint32_t rank : members) {
    if (rank < ranks && once.insert(rank).second) continue;
    return fail(error(Code::bad_placement,
                      rank < ranks
                          ? fmt::format("communicator `{}` has rank {} twice", name, rank)
                          : fmt::format("communicator `{}` has rank {} of {}", name, rank, ranks),
                      "ranks are numbered from 0; give more --nodes"));
  }
  if (members.empty())
    return fail(error(Code::bad_placement, fmt::format("communicator `{}` has no ranks", name)));
  return RankGroups{members};
}

/// Ranks whose traces name the communicator.
RankGroups inferred(const ExecutionTrace& trace, const std::string& name) {
  RankGroups out(1);
  for (std::uint32_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const auto& nodes = trace.ranks[rank].nodes;
    const bool named = std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) {
      return node.work == Work::collective && node.group == name;
    });
    if (named) out[0].push_back(rank);
  }
  return out;
}

Diagnostic nobody_says(const std::string& name, std::uint32_t ranks) {
  return error(Code::bad_placement,
               fmt::format("nothing says which of the {} ranks communicator `{}` has", ranks, name),
               fmt::format("give --group {}=tp8 (blocks of 8 ranks), {}=dp8 (those at the same "
                           "place of each block), {}=all, or --comm-groups FILE",
                           name, name, name));
}

}  // namespace

Result<Communicators> Communicators::of(const ExecutionTrace& trace, std::uint32_t ranks,
                                        std::uint32_t ranks_per_domain,
                                        const ReplayOptions& options) {
  Communicators made;
  std::set<std::string> names;
  for (const RankTrace& rank : trace.ranks)
    for (const Node& node : rank.nodes)
      if (node.work == Work::collective) names.insert(node.group);
  Diagnostics faults;
  for (const std::string& name : names) {
    Result<RankGroups> groups;
    const auto spec = options.groups.find(name);
    const auto members = options.members.find(name);
    const bool is_all =
        std::find(names_of_all.begin(), names_of_all.end(), name) != names_of_all.end();
    if (spec != options.groups.end()) {
      groups = split(spec->second, ranks);
    } else if (members != options.members.end()) {
      groups = listed(name, members->second, ranks);
    } else if (is_all) {
      groups = everyone(ranks);
    } else if (trace.ranks.size() > 1) {
      groups = inferred(trace, name);
    } else if (trace.format == TraceFormat::workload_text) {
      const std::uint32_t block = ranks % ranks_per_domain == 0 ? ranks_per_domain : ranks;
      groups = block == 1 ? (name == "model" ? singles(ranks) : everyone(ranks))
                          : split(fmt::format("{}{}", name == "model" ? "tp" : "dp", block), ranks);
      made.notes_.push_back(
          fmt::format("communicator `{}` is taken as {}; --group {}=... says otherwise", name,
                      name == "model" ? fmt::format("blocks of {} ranks", block)
                                      : fmt::format("the ranks at the same place of each block of "
                                                    "{}",
                                                    block),
                      name));
    } else if (auto by_name = split(name, ranks)) {
      groups = std::move(by_name);
    } else {
      groups = fail(nobody_says(name, ranks));
    }
    if (groups)
      made.groups_.emplace(name, std::move(*groups));
    else
      faults.insert(faults.end(), groups.error().begin(), groups.error().end());
  }
  if (!faults.empty()) return fail(std::move(faults));
  return made;
}

const RankGroups& Communicators::groups(const std::string& name) const {
  return groups_.at(name);
}

std::optional<std::uint32_t> Communicators::group_of(const std::string& name,
                                                     std::uint32_t rank) const {
  const RankGroups& all = groups_.at(name);
  for (std::uint32_t g = 0; g < all.size(); ++g)
    if (std::find(all[g].begin(), all[g].end(), rank) != all[g].end()) return g;
  return std::nullopt;
}

Result<std::map<std::string, std::vector<std::uint32_t>>> read_members(const std::string& path) {
  const auto document = JsonDocument::read(path);
  if (!document) return fail(document.error());
  const auto& root = document->root();
  Diagnostics faults;
  const auto complain = [&](const std::string& pointer, const char* what) {
    faults.push_back(error(Code::wrong_type, document->place(pointer), what,
                           "a comm_group file is {\"0\": [0, 1], \"1\": [2, 3]}"));
  };
  std::map<std::string, std::vector<std::uint32_t>> out;
  if (!root.is_object()) {
    complain("", "expected an object of communicators");
    return fail(std::move(faults));
  }
  for (const auto& [name, list] : root.items()) {
    const std::string pointer = child_pointer("", name);
    if (!list.is_array()) {
      complain(pointer, "expected a list of ranks");
      continue;
    }
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].is_number_unsigned() && list[i] <= 1000000000u)
        out[name].push_back(list[i].get<std::uint32_t>());
      else
        complain(child_pointer(pointer, i), "a rank is a whole number from 0");
    }
  }
  if (!faults.empty()) return fail(std::move(faults));
  return out;
}

}  // namespace flowplan::replay
