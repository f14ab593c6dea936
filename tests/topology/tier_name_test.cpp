#include "flowplan/topology/tier_name.hpp"

#include <catch2/catch.hpp>

namespace tier_name_test {

using namespace flowplan;

TEST_CASE("the tier of NICs is called by what they are") {
  catalog::Instance machine;
  machine.kind = catalog::InstanceKind::instance;
  machine.fabric = "EFAv2 SRD";
  CHECK(topology::tier_name(topology::Tier::efa, machine) == "efa");
  machine.kind = catalog::InstanceKind::ultraserver;
  machine.fabric = "not published";
  CHECK(topology::tier_name(topology::Tier::efa, machine) == "efa");
  machine.kind = catalog::InstanceKind::reference;
  CHECK(topology::tier_name(topology::Tier::efa, machine) == "nic");
  for (const auto& [fabric, kind] : {std::pair{"InfiniBand NDR (ConnectX-7)", "infiniband"},
                                     {"RoCE", "roce"},
                                     {"Ethernet, 400 Gbps a node", "ethernet"},
                                     {"400 Gbps assumed", "nic"}}) {
    machine.fabric = fabric;
    CHECK(topology::tier_name(topology::Tier::efa, machine) == kind);
    CHECK(topology::tier_name(topology::Tier::nvlink, machine) == "nvlink");
    CHECK(topology::tier_name(topology::Tier::leaf_spine, machine) == "leaf_spine");
  }
}

}  // namespace tier_name_test
