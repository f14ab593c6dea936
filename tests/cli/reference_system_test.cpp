#include <catch2/catch.hpp>

#include "program.hpp"

namespace reference_system_test {

TEST_CASE("the network of a machine without EFA is called by what it is") {
  for (const std::vector<std::string>& args : std::vector<std::vector<std::string>>{
           {"run", "--model", "llama3-70b", "--instance", "DGX-H100", "--nodes", "64"},
           {"run", "--model", "llama3-70b", "--instance", "DGX-H100", "--nodes", "64", "--format",
            "json"},
           {"run", "--model", "mixtral-8x7b", "--instance", "DGX-H100", "--nodes", "16"},
           {"collective", "all_reduce", "--instance", "DGX-H100", "--nodes", "4", "-b", "1G"},
           {"topology", "--instance", "DGX-H100", "--nodes", "64"},
           {"topology", "--instance", "DGX-H100", "--nodes", "64", "--format", "json"}}) {
    const Ran ran = flowplan_run(args);
    CAPTURE(ran.err, ran.out);
    CHECK(ran.code == 0);
    CHECK(contains(ran.out, "infiniband"));
    for (const std::string quote : {"  efa", "\"efa\"", " efa "})
      CHECK_FALSE(contains(ran.out, quote));
  }
  CHECK(contains(
      flowplan_run({"collective", "all_reduce", "--instance", "p5", "--nodes", "4", "-b", "1G"})
          .out,
      "efa"));
}

}  // namespace reference_system_test
