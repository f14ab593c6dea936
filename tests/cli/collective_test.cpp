// `flowplan collective`: what-ifs, placement, all-to-all.
#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace collective_test {

namespace {

nlohmann::json outcome(std::vector<std::string> args) {
  args.insert(args.begin(), "collective");
  for (const char* more : {"--instance", "p5.48xlarge", "--format", "json"})
    args.emplace_back(more);
  const Ran ran = flowplan_run(args);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  return nlohmann::json::parse(ran.out);
}

double transfer(const nlohmann::json& json) {
  return json["results"][0]["transfer_s"].get<double>();
}

}  // namespace

TEST_CASE("alltoall has nccl-tests' name and ours") {
  for (const char* name : {"alltoall", "all_to_all", "alltoall_perf"}) {
    const auto json = outcome({name, "--nodes", "2", "-b", "64M"});
    CHECK(json["operation"] == "alltoall");
    CHECK(json["results"][0]["algorithm"] == "PXN");
  }
}

TEST_CASE("software versions that are none are refused") {
  const Ran ran = flowplan_run({"collective", "all_reduce", "--instance", "p5", "--nodes", "2",
                                "--nccl", "abc", "--plugin", "banana"});
  CHECK(ran.code == 2);
  CHECK(contains(ran.err, "`abc` is not a version"));
  CHECK(contains(ran.err, "`banana` is not a version"));
}

TEST_CASE("--degrade slows what it names and says so") {
  const std::vector<std::string> plain{"all_reduce", "--nodes", "4", "-b", "8G"};
  std::vector<std::string> slow = plain;
  slow.insert(slow.end(), {"--degrade", "nic:gpu12=0.5"});
  const auto json = outcome(slow);
  CHECK(transfer(json) == Approx(2.0 * transfer(outcome(plain))));
  CHECK(json["conditions"] == nlohmann::json{"degraded nic:gpu12=0.5"});
  slow.back() = "nic:gpu12=0";
  CHECK(transfer(outcome(slow)) == Approx(8.0 / 7.0 * transfer(outcome(plain))));
}

TEST_CASE("--degrade that cannot be read, or that cuts the ranks off, is refused") {
  const auto refused = [](const char* spec) {
    return flowplan_run({"collective", "all_reduce", "--instance", "p5.48xlarge", "--nodes", "2",
                         "--degrade", spec});
  };
  CHECK(refused("nic:12").code == 2);
  CHECK(contains(refused("nic:gpu99=0").err, "FP060"));
  const Ran cut = refused("nic:node1=0");
  CHECK(cut.code == 2);
  CHECK(contains(cut.err, "node1.nic"));
}

TEST_CASE("scattered nodes pay for an oversubscribed fabric, the same with the same seed") {
  const std::vector<std::string> near{"all_reduce",         "--nodes", "256", "-b", "64G",
                                      "--oversubscription", "2"};
  std::vector<std::string> far = near;
  far.insert(far.end(), {"--placement", "scattered", "--seed", "3"});
  const auto first = outcome(far), second = outcome(far);
  CHECK(first == second);
  CHECK(transfer(first) > 1.5 * transfer(outcome(near)));
  CHECK(flowplan_run({"collective", "all_reduce", "--instance", "p5", "--seed", "3"}).code == 2);
}

TEST_CASE("--no-fold gives the same", "[slow]") {
  for (const char* operation : {"alltoall", "all_reduce", "all_gather", "sendrecv"}) {
    const auto folded = outcome({operation, "--nodes", "37", "-b", "64M"});
    const auto listed = outcome({operation, "--nodes", "37", "-b", "64M", "--no-fold"});
    CHECK(folded["results"][0]["limit"] == listed["results"][0]["limit"]);
    CHECK(folded["results"][0]["time_s"].get<double>() ==
          Approx(listed["results"][0]["time_s"].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("--groups are separated by commas or repeated, each alone and together") {
  const auto commas = outcome({"--nodes", "4", "--groups", "dp8:all_gather:1G,ep32:alltoall:256M"});
  const auto repeated =
      outcome({"--nodes", "4", "--groups", "dp8:all_gather:1G", "--groups", "ep32:alltoall:256M"});
  CHECK(commas == repeated);
  CHECK(commas["kind"] == "collective_groups");
  REQUIRE(commas["parts"].size() == 2);
  const auto& gather = commas["parts"][0];
  CHECK(gather["groups"] == "dp8");
  CHECK(gather["operation"] == "all_gather");
  CHECK(gather["count"] == 8);  // one at each place of a node
  CHECK(gather["ranks"] == 4);
  CHECK(gather["size_bytes"] == 1024.0 * 1024.0 * 1024.0);
  CHECK(gather["algorithm"] == "RING");
  CHECK(gather["calibrated"] == false);  // one rank a node
  CHECK(commas["parts"][1]["algorithm"] == "PXN");
  for (const auto& part : commas["parts"]) {
    const double alone = part["alone_time_s"], together = part["together_time_s"];
    const double ranks = part["ranks"], bytes = part["size_bytes"];
    CHECK(together > 1.05 * alone);  // both want the NICs
    CHECK(part["together_busbw_bytes_per_s"].get<double>() ==
          Approx(bytes / together * (ranks - 1.0) / ranks));
  }
  // No more time than one after the other, no less than the longer one.
  const auto of = [&](int part, const char* key) {
    return commas["parts"][static_cast<std::size_t>(part)][key].get<double>();
  };
  const double last = std::max(of(0, "together_time_s"), of(1, "together_time_s"));
  CHECK(last <= of(0, "alone_time_s") + of(1, "alone_time_s"));
}

TEST_CASE("tokens go to their experts and back, as many times as are asked for") {
  // Two nodes of 8 with 16 experts, top-2, BF16: a token's copies leave for the other node with
  // probability 1 - (8/16 * 7/15) a node, 2 nodes: 2 * (1 - 7/30) = 23/15 of which half is away.
  const auto sent = outcome({"ep_dispatch", "--nodes", "2", "--tokens", "100,200", "--hidden",
                             "1000", "--top-k", "2", "--experts", "16", "--dispatch-type", "bf16"});
  CHECK(sent["kind"] == "expert_parallel");
  REQUIRE(sent["results"].size() == 2);
  CHECK(sent["results"][0]["operation"] == "ep_dispatch");
  CHECK(sent["results"][0]["network_bytes"].get<double>() ==
        Approx(100 * 1000 * 2.0 * 23.0 / 15.0 / 2.0));
  CHECK(sent["results"][1]["time_s"].get<double>() > sent["results"][0]["time_s"].get<double>());
  const auto both = outcome({"ep", "--nodes", "2", "--backend", "uccl"});
  REQUIRE(both["results"].size() == 2);
  CHECK(both["results"][0]["element_bytes"] == 1.03125);  // FP8 and a scale for 128
  CHECK(both["results"][1]["operation"] == "ep_combine");
  CHECK(both["results"][1]["element_bytes"] == 2.0);
}

TEST_CASE("experts and collectives refuse each other's options") {
  const auto refused = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"collective"});
    more.insert(more.end(), {"--instance", "p5.48xlarge"});
    return flowplan_run(more);
  };
  CHECK(contains(refused({"ep", "-b", "1G"}).err, "--begin does not go with ep"));
  CHECK(contains(refused({"all_reduce", "--tokens", "8"}).err, "--tokens goes with ep"));
  CHECK(refused({"ep", "--tokens", "8,x"}).code == 2);
  CHECK(refused({"ep", "--experts", "4"}).code == 2);  // fewer than top-8
  CHECK(contains(refused({"ep_combin"}).err, "ep_combine"));
  CHECK(refused({"custom_all_reduce", "--nodes", "2"}).code == 2);  // two NVLink domains
}

TEST_CASE("an engine's all-reduce is its own kernel while small, NCCL's when large") {
  const auto sizes = outcome({"custom_all_reduce", "-b", "8K", "-e", "8G", "-f", "1024"});
  REQUIRE(sizes["results"].size() == 3);
  CHECK(sizes["results"][0]["kernel"] == "one-shot");
  CHECK(sizes["results"][2]["kernel"] == "NCCL");
  for (const auto& line : sizes["results"])
    CHECK(line["time_s"].get<double>() <= line["nccl_time_s"].get<double>());
}

TEST_CASE("a fabric at 1:1 is answered at 2:1 too, and the other way round") {
  // 256 nodes in turn over the leaves: 64 GiB go up nearly all of them.
  const std::vector<std::string> spread{"all_reduce", "--nodes",     "256",   "-b",
                                        "64G",        "--placement", "spread"};
  const auto flat = outcome(spread);
  auto twice = spread;
  twice.insert(twice.end(), {"--oversubscription", "2"});
  const auto thin = outcome(twice);
  const auto& other = flat["results"][0]["at_other_ratio"];
  CHECK(other["leaf_oversubscription"] == 2.0);
  CHECK(other["time_s"] == thin["results"][0]["time_s"]);
  CHECK(thin["results"][0]["at_other_ratio"]["time_s"] == flat["results"][0]["time_s"]);
  CHECK(other["time_s"].get<double>() > 1.5 * flat["results"][0]["time_s"].get<double>());
  CHECK_FALSE(outcome({"all_reduce", "--nodes", "2", "-b", "1G"})["results"][0].contains(
      "at_other_ratio"));  // one leaf
}

TEST_CASE("--background takes its share of every NIC from the groups") {
  const auto parts = [](const char* share) {
    return outcome({"--nodes", "4", "--groups", "dp8:all_reduce:8G,tp8:all_reduce:64M",
                    "--background", share});
  };
  const auto idle = parts("0"), half = parts("0.5");
  const auto ratio = [&](std::size_t part) {
    return half["parts"][part]["alone_time_s"].get<double>() /
           idle["parts"][part]["alone_time_s"].get<double>();
  };
  CHECK(ratio(0) == Approx(2.0).epsilon(0.02));  // all transfer, over NICs at half of their rate
  CHECK(ratio(1) == 1.0);                        // stays on NVLink
  CHECK(half["conditions"] == nlohmann::json{"50 % of every NIC taken by others"});
}

TEST_CASE("--groups and --background that mean nothing are refused") {
  const auto refused = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"collective", "--instance", "p5.48xlarge", "--nodes", "4"});
    return flowplan_run(more);
  };
  CHECK(refused({"--groups", "tp8:all_reduce"}).code == 2);
  CHECK(refused({"--groups", "tp8:all_reduce:64M,"}).code == 2);
  CHECK(contains(refused({"--groups", "tp8:all_redcue:64M"}).err, "FP062"));
  CHECK(contains(refused({"--groups", "tp7:all_reduce:64M"}).err, "7 does not divide 32 GPUs"));
  CHECK(refused({"--groups", "tp8:all_reduce:64M", "--background", "1"}).code == 2);
  CHECK(contains(
      flowplan_run({"collective", "all_reduce", "--instance", "p5.48xlarge", "--background", "0.5"})
          .err,
      "goes with --groups"));
}

TEST_CASE("--explain lists what could have run; NCCL takes what its model holds cheapest") {
  const auto json = outcome({"all_reduce", "--nodes", "2", "-b", "1G", "--explain"});
  const auto& result = json["results"][0];
  const nlohmann::json* chosen = nullptr;
  for (const auto& candidate : result["candidates"]) {
    if (candidate["algorithm"] == result["algorithm"] &&
        candidate["protocol"] == result["protocol"])
      chosen = &candidate;
  }
  REQUIRE(chosen != nullptr);
  CHECK((*chosen)["time_s"] == result["time_s"]);
  CHECK(result["candidates"].size() == 7);  // ring and tree in three protocols, NVLS tree
  for (const auto& candidate : result["candidates"])
    CHECK(candidate["nccl_cost_s"] >= (*chosen)["nccl_cost_s"]);
}

TEST_CASE("what is forced and NCCL would not run is not called measured", "[slow]") {
  const auto width = [](const nlohmann::json& result) {
    return result["band"]["high"].get<double>() - result["band"]["low"].get<double>();
  };
  const std::vector<std::string> plain{"all_reduce", "--nodes", "4", "-b", "4G"};
  const auto with = [&](const char* option, const char* value) {
    std::vector<std::string> args = plain;
    args.insert(args.end(), {option, value});
    return outcome(args)["results"][0];
  };
  const auto free = outcome(plain)["results"][0];
  CHECK(free["calibrated"] == true);
  const auto same = with("--algorithm", "RING");
  CHECK(same["calibrated"] == true);
  CHECK(same["band"] == free["band"]);
  for (const auto& other :
       {with("--algorithm", "TREE"), with("--protocol", "LL"), with("--channels", "4")}) {
    CHECK(other["calibrated"] == false);
    CHECK(contains(other["note"], "forced"));
    CHECK(width(other) > 2.0 * width(free));
    CHECK(other["time_s"] > free["time_s"]);
  }
  // Of sixteen, eight carry half.
  const auto all = with("--channels", "64");
  CHECK(with("--channels", "8")["transfer_s"].get<double>() ==
        Approx(2.0 * with("--channels", "16")["transfer_s"].get<double>()));
  CHECK(all["transfer_s"] == free["transfer_s"]);  // more carry no more
}

TEST_CASE("--timing reports each phase beside the result") {
  const Ran ran = flowplan_run({"collective", "alltoall", "--instance", "p5.48xlarge", "--nodes",
                                "12500", "-b", "1G", "--timing"});
  REQUIRE(ran.code == 0);
  for (const char* phase : {"catalog", "graph", "predict", "100000 GPUs", "MiB"})
    CHECK(contains(ran.err, phase));
  CHECK_FALSE(contains(ran.out, "timing"));
}

}  // namespace collective_test
