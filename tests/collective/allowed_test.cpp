#include "flowplan/collective/allowed.hpp"

#include <catch2/catch.hpp>

#include "fixture.hpp"
#include "flowplan/collective/tuner.hpp"

namespace flowplan::collective::allowed_test {
namespace {

Allowed<Algorithm> algorithms(std::string_view text, Operation operation = Operation::all_reduce) {
  const auto parsed = parse_algorithms(text, operation);
  if (!parsed) FAIL(render(parsed.error()));
  return *parsed;
}

}  // namespace

TEST_CASE("algorithms are named as NCCL_ALGO names them: one, a list, or all but some") {
  CHECK_FALSE(algorithms("auto").stated());
  CHECK_FALSE(algorithms("").stated());
  const auto one = algorithms("Ring");
  CHECK(one.has(Algorithm::ring));
  CHECK_FALSE(one.has(Algorithm::tree));
  const auto two = algorithms("ring,NVLS_TREE");
  CHECK(two.has(Algorithm::ring));
  CHECK(two.asks_for(Algorithm::nvls_tree));
  CHECK_FALSE(two.has(Algorithm::nvls));
  const auto others = algorithms("^RING,TREE");
  CHECK_FALSE(others.has(Algorithm::ring));
  CHECK(others.has(Algorithm::nvls));
  CHECK_FALSE(others.asks_for(Algorithm::nvls));  // allowed, not asked for
  CHECK(algorithms("CollNetDirect").asks_for(Algorithm::collnet));
}

TEST_CASE("lists for single functions stand behind the default") {
  const std::string_view text = "ring;allreduce:tree,nvls;broadcast:ring";
  CHECK(algorithms(text, Operation::all_reduce).has(Algorithm::tree));
  CHECK_FALSE(algorithms(text, Operation::all_reduce).has(Algorithm::ring));
  CHECK(algorithms(text, Operation::all_gather).has(Algorithm::ring));
  CHECK_FALSE(algorithms("allreduce:tree", Operation::all_gather).stated());
}

TEST_CASE("a name that nothing has is refused with those of the operation") {
  const auto algorithm = parse_algorithms("RING,TREES", Operation::all_reduce);
  REQUIRE_FALSE(algorithm);
  CHECK(algorithm.error().front().code == Code::bad_collective);
  CHECK_THAT(algorithm.error().front().message, Catch::Contains("TREES"));
  CHECK_THAT(algorithm.error().front().hint, !Catch::Contains("PAIRWISE"));
  CHECK_THAT(parse_algorithms("x", Operation::all_to_all).error().front().hint,
             Catch::Contains("HIERARCHICAL"));
  CHECK_THAT(parse_algorithms("gather:ring", Operation::all_reduce).error().front().hint,
             Catch::Contains("allgather"));
  CHECK_FALSE(parse_protocols("LL,LL64", Operation::all_reduce));
  CHECK_FALSE(parse_algorithms("^", Operation::all_reduce));
}

TEST_CASE("the cheapest of a list is taken, and what is excluded is not") {
  const Stack stack = stack_of("collectives-ib-h100");
  const Shape node{8, 1, 8};
  const auto taken = [&](std::string_view text, std::string_view protocols) {
    const auto parsed = parse_protocols(protocols, Operation::all_reduce);
    if (!parsed) FAIL(render(parsed.error()));
    const auto choice =
        choose(stack, Operation::all_reduce, node, gib(1), true, {algorithms(text), *parsed, {}});
    if (!choice) FAIL(render(choice.error()));
    return *choice;
  };
  const auto cost = [&](Algorithm a, Protocol p) {
    return nccl_cost(stack, Operation::all_reduce, node, gib(1), a, p);
  };
  // 1 GiB on one node: the switch reduces, unless it may not; then the cheaper of the two others.
  CHECK(taken("auto", "auto").algorithm == Algorithm::nvls);
  const auto rest = taken("^NVLS", "SIMPLE");
  CHECK(rest.algorithm ==
        (cost(Algorithm::ring, Protocol::simple) < cost(Algorithm::tree, Protocol::simple)
             ? Algorithm::ring
             : Algorithm::tree));
  CHECK(taken("RING,TREE", "^LL,LL128").algorithm == rest.algorithm);
  CHECK(taken("TREE", "LL,LL128").protocol ==
        (cost(Algorithm::tree, Protocol::ll) < cost(Algorithm::tree, Protocol::ll128)
             ? Protocol::ll
             : Protocol::ll128));
}

}  // namespace flowplan::collective::allowed_test
