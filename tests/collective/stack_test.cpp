#include "flowplan/collective/stack.hpp"

#include "fixture.hpp"

namespace flowplan::collective::stack_test {
namespace {

/// A shipped set with entries taken out or put in.
catalog::Constants changed(std::string_view id, const std::vector<std::string>& without,
                           std::vector<catalog::Constants::Entry> with = {}) {
  const catalog::Constants& original = **shipped().constants(id);
  std::vector<catalog::Constants::Entry> entries;
  for (const catalog::Constants::Entry& entry : original.entries()) {
    if (std::find(without.begin(), without.end(), entry.name) == without.end()) {
      entries.push_back(entry);
    }
  }
  entries.insert(entries.end(), with.begin(), with.end());
  return catalog::Constants("changed", "collectives", std::move(entries));
}

TEST_CASE("the stack of every instance in the catalog can be read") {
  int read = 0;
  for (const catalog::Instance& instance : shipped().instances()) {
    CAPTURE(instance.id);
    REQUIRE_FALSE(instance.collective_profile.empty());
    const Stack stack = stack_of(instance.collective_profile);
    CHECK(stack.id == instance.collective_profile);
    // In-switch reduction is a fact of the hardware that the constants must agree with.
    if (instance.nvlink_domain_gpus > 1) CHECK((stack.nvls.channels > 0) == instance.nvls);
    ++read;
  }
  CHECK(read > 20);
}

TEST_CASE("usable rates never exceed the line") {
  for (const catalog::Instance& instance : shipped().instances()) {
    const Stack stack = stack_of(instance.collective_profile);
    CAPTURE(stack.id);
    for (const Protocol protocol : all_protocols) {
      const std::size_t p = index(protocol);
      CHECK(stack.node.rate[p] * stack.wire_factor[p] <= stack.node.line);
      CHECK(stack.network.ring_rate[p] * stack.wire_factor[p] <= stack.network.line);
      CHECK(stack.network.gather_rate[p] * stack.wire_factor[p] <= stack.network.line);
    }
    CHECK(stack.network.tree_rate * stack.wire_factor[index(Protocol::ll128)] <=
          1.02 * stack.network.line);
    CHECK(stack.node.port_rate <= stack.node.line);
    CHECK(stack.node.p2p_rate <= stack.node.line);
    CHECK(stack.network.p2p_rate <= stack.network.line);
    for (const double rate : stack.nvls.rate)
      CHECK(rate <= stack.node.line);
  }
}

TEST_CASE("everything a set lacks is reported in one go") {
  const auto stack = read_stack(
      changed("collectives-p5", {"launch_us", "net.line_gbytes_per_s", "model.bus_gbytes_per_s"}));
  REQUIRE_FALSE(stack);
  REQUIRE(stack.error().size() == 3);
  for (const Diagnostic& fault : stack.error()) {
    CHECK(fault.code == Code::catalog_invalid);
    CHECK_THAT(fault.message, Catch::Contains("changed") && Catch::Contains("is missing"));
  }
}

TEST_CASE("figures of the wrong length or sign are refused") {
  const auto with = [](std::string name, std::vector<double> values) {
    return read_stack(changed("collectives-p5", {name}, {{name, std::move(values), {}}}));
  };
  CHECK_FALSE(with("ring.step_us", {1.0, 2.0}));
  CHECK_FALSE(with("ring.gbytes_per_s", {100.0, 0.0, 300.0}));
  CHECK_FALSE(with("launch_us", {-1.0}));
  CHECK_FALSE(with("nvls.chunk_rule_bytes", {65536.0}));
  CHECK_FALSE(with("nvls.gbytes_per_s", {312.0, 300.0}));
  CHECK(with("launch_us", {5.0}));
}

TEST_CASE("a tuner entry that cannot be read is named") {
  for (const char* name :
       {"tuner.all_reduce.ranks8.nodes4.ring_ll256_mib", "tuner.gather.ranks8.nodes4.ring_ll_mib",
        "tuner.all_reduce.ranks8.ring_ll_mib", "tuner.all_reduce.ranks8.nodes4.ring_ll_kib",
        "tuner.all_reduce.ranksx.nodes4.ring_ll_mib"}) {
    CAPTURE(name);
    const auto stack = read_stack(changed("collectives-p5", {}, {{name, {1.0}, {}}}));
    REQUIRE_FALSE(stack);
    REQUIRE(stack.error().size() == 1);
    CHECK_THAT(stack.error().front().message, Catch::Contains(name));
  }
}

TEST_CASE("a tuner's rows are in order of nodes, their switches in order of size") {
  const Stack stack = stack_of("collectives-p6-b200");
  const SwitchTable* table = stack.tuner.find(Operation::all_reduce, 8);
  REQUIRE(table != nullptr);
  REQUIRE(table->rows.size() == 6);
  // 8 nodes: tree LL, tree LL128 384 KiB, NVLS tree 39 MiB, ring LL128 50, NVLS tree 119, ring 1
  // GiB
  const SwitchRow& row = table->rows[1];
  CHECK(row.nodes == 8);
  std::vector<std::string> names;
  for (const Switch& next : row.switches)
    names.push_back(next.name);
  CHECK(names == std::vector<std::string>{"tree_ll", "tree_ll128", "nvls_tree_simple", "ring_ll128",
                                          "nvls_tree_simple", "ring_simple"});
  CHECK(row.switches[1].from_bytes == Approx(384.0 * 1024.0));
  CHECK(stack.tuner.find(Operation::all_reduce, 4) == nullptr);
}

}  // namespace
}  // namespace flowplan::collective::stack_test
