#include "flowplan/topology/tier_name.hpp"

#include <utility>

namespace flowplan::topology {

std::string_view nic_kind(const catalog::Instance& instance) {
  if (instance.kind != catalog::InstanceKind::reference) return "efa";
  constexpr std::pair<std::string_view, std::string_view> kinds[] = {
      {"InfiniBand", "infiniband"}, {"RoCE", "roce"}, {"Ethernet", "ethernet"}};
  for (const auto& [begin, kind] : kinds) {
    if (std::string_view(instance.fabric).starts_with(begin)) return kind;
  }
  return "nic";
}

std::string_view tier_name(Tier tier, std::string_view nic_kind) {
  return tier == Tier::efa ? nic_kind : name(tier);
}

std::string_view tier_name(Tier tier, const catalog::Instance& instance) {
  return tier_name(tier, nic_kind(instance));
}

}  // namespace flowplan::topology
