#include "fabric.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "case_limits.hpp"
#include "clos.hpp"
#include "dragonfly.hpp"
#include "fat_tree.hpp"
#include "torus.hpp"

namespace flowplan::flow {
namespace {

/// Room to reserve for a generated name: a prefix and up to seven digits.
constexpr std::size_t name_room = 10;

}  // namespace

Result<std::unique_ptr<Fabric>> make_fabric(const Topology& topology) {
  return std::visit([](const auto& t) { return make_fabric(t); }, topology);
}

Diagnostic bad_generator(std::string message, std::string hint) {
  return error(Code::bad_generator, std::move(message), std::move(hint));
}

bool is_bandwidth(double bytes_per_s) {
  return bytes_per_s >= least_capacity && bytes_per_s <= most_capacity;
}

std::uint64_t bounded_product(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t bound = std::uint64_t{1} << 32;
  return std::min(std::min(a, bound) * std::min(b, bound - 1), bound);
}

CaseBuilder::CaseBuilder(Case& out, std::uint64_t nodes, std::uint64_t links) : out_(out) {
  out.nodes.reserve(nodes, nodes * name_room);
  out.network.capacity.reserve(links);
  out.link_from.reserve(links);
  out.link_to.reserve(links);
}

void CaseBuilder::add_nodes(const char* prefix, std::uint32_t count) {
  fmt::memory_buffer name;
  for (std::uint32_t i = 0; i < count; ++i) {
    name.clear();
    fmt::format_to(std::back_inserter(name), "{}{}", prefix, i);
    out_.nodes.add({name.data(), name.size()});
  }
}

void CaseBuilder::add_link(std::uint32_t from, std::uint32_t to, double bytes_per_s) {
  out_.network.capacity.push_back(bytes_per_s);
  out_.link_from.push_back(from);
  out_.link_to.push_back(to);
}

void CaseBuilder::add_cable(std::uint32_t low, std::uint32_t high, double bytes_per_s) {
  add_link(low, high, bytes_per_s);
  add_link(high, low, bytes_per_s);
}

}  // namespace flowplan::flow
