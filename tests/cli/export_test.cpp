#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace export_test {

namespace {

constexpr const char* scenario = "scenarios/pretrain-llama3-70b-p5.json";

std::string content(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST_CASE("one file goes where -o says, several into a folder") {
  const auto folder = std::filesystem::temp_directory_path() / "flowplan-export";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string file = (folder / "kueue.yaml").string();
  CHECK(flowplan_run({"export", "kueue", scenario, "-o", file}).code == 0);
  CHECK(content(file) == flowplan_run({"export", "kueue", scenario}).out);
  const auto job = folder / "job";
  CHECK(flowplan_run({"export", "slurm", scenario, "-o", job.string()}).code == 0);
  for (const char* name :
       {"topology.conf", "topology.yaml", "nodes.conf", "gres.conf", "job.sbatch", "launch.sh"})
    CHECK(std::filesystem::exists(job / name));
  std::filesystem::remove_all(folder);
}

TEST_CASE("hosts are named by a hostlist, and the scenario by options") {
  const Ran ran = flowplan_run({"export", "slurm", "--model", "llama3-8b", "--instance",
                                "p5.48xlarge", "--nodes", "2", "--hosts", "p5-[1-2]"});
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "SwitchName=leaf0 Nodes=p5-[1-2]\n"));
  CHECK(flowplan_run({"export", "slurm", scenario, "--hosts", "p5-[1-2]"}).code == 2);
}

TEST_CASE("post-training is watched and its machines are ordered; RL is started by its framework") {
  for (const char* name : {"grpo-7b-long-asynchronous-p5", "sft-llama3-70b-p5"}) {
    const std::string post = std::string("scenarios/") + name + ".json";
    INFO(name);
    for (const char* target : {"parallelcluster", "pcs", "hyperpod", "k8s-nodes", "environment",
                               "prometheus", "openmetrics", "grafana"})
      CHECK(flowplan_run({"export", target, post}).code == 0);
    CHECK(contains(flowplan_run({"export", "openmetrics", post}).out,
                   "flowplan_posttraining_step_time_seconds{"));
    if (std::string_view(name).starts_with("sft")) continue;
    for (const char* target : {"slurm", "kueue", "volcano", "megatron", "fsdp"}) {
      const Ran ran = flowplan_run({"export", target, post});
      CHECK(ran.code == 3);
      CHECK(contains(ran.err, "framework"));
      CHECK(contains(ran.err, "parallelcluster"));
    }
    CHECK(flowplan_run({"export", "vllm", post}).code == 3);
  }
}

TEST_CASE("fine-tuning is started with the rows and the layout of its answer") {
  const std::string sft = "scenarios/sft-llama3-70b-p5.json";
  const Ran flags = flowplan_run({"export", "megatron", sft});
  REQUIRE(flags.code == 0);
  for (const char* part :
       {"--nnodes 4 ", "--tensor-model-parallel-size 4 ", "--pipeline-model-parallel-size 4 ",
        "--seq-length 4096 ", "--sft ", "--tokenizer-type SFTTokenizer "})
    CHECK(contains(flags.out, part));
  CHECK(contains(flowplan_run({"export", "slurm", sft}).out, "#SBATCH --nodes=4\n"));
  CHECK(contains(flowplan_run({"export", "kueue", sft}).out, "kind: JobSet"));
  CHECK(flowplan_run({"export", "vllm", sft}).code == 3);
  const Ran other = flowplan_run({"export", "megatron", sft, "--set", "workload.method=dpo"});
  CHECK(other.code == 3);
  CHECK(contains(other.err, "no loss of `dpo`"));
  const Ran lora = flowplan_run({"export", "megatron", "scenarios/lora-llama3.1-405b-p5en.json"});
  CHECK(contains(lora.out, "run_recipe.py"));
  CHECK(contains(lora.out, "model.tensor_model_parallel_size=8"));
  CHECK(contains(lora.out, "peft.dim=16"));
  const Ran narrow = flowplan_run({"export", "megatron", "scenarios/qlora-llama3.1-405b-p5.json"});
  CHECK(narrow.code == 3);
  CHECK(contains(narrow.err, "16 bits"));
  CHECK(contains(flowplan_run({"export", "fsdp", "scenarios/qlora-llama3.1-405b-p5.json"}).out,
                 "--load-in-4bit"));
  CHECK(flowplan_run({"export", "torchtitan", "scenarios/lora-llama3.1-405b-p5en.json"}).code == 3);
}

TEST_CASE("a launcher's refusal says which --set makes the scenario one that it has") {
  const std::string mixture = R"({"name": "m", "cluster": {"instance": "p5.48xlarge", "count": 4},
    "workload": {"kind": "pretraining", "model": "mixtral-8x7b", "seq_len": 4096,
                 "global_batch": 64, "parallelism": {"tp": 2, "pp": 2, "ep": 4, "etp": 2}}})";
  const std::string file =
      (std::filesystem::temp_directory_path() / "flowplan-refused.json").string();
  std::ofstream(file) << mixture;
  for (const auto& [target, path] :
       {std::pair{"torchtitan", std::string(scenario)},
        {"fsdp", std::string(scenario)},
        {"torchtitan", std::string("scenarios/sft-llama3-70b-p5.json")},
        {"fsdp", std::string("scenarios/sft-llama3-70b-p5.json")},
        {"fsdp", file},
        {"maxtext", file}}) {
    CAPTURE(target, path);
    std::vector<std::string> words{"export", target, path};
    Ran ran = flowplan_run(words);
    REQUIRE(ran.code == 3);
    int taken = 0;
    for (std::size_t at = ran.err.find("--set "); at != ran.err.npos;
         at = ran.err.find("--set ", at + 1)) {
      const std::string rest = ran.err.substr(at + 6);
      words.insert(words.end(), {"--set", rest.substr(0, rest.find_first_of(", \n"))});
      ++taken;
    }
    CHECK(taken > 0);
    ran = flowplan_run(words);
    INFO(ran.err);
    CHECK(ran.code == 0);
  }
}

TEST_CASE("a rank exports the candidate that the plan ranks there") {
  // One cluster of the plan's, which takes the least to search.
  const auto with_search = [](std::vector<std::string> words) {
    words.insert(words.begin() + (words[0] == "plan" ? 1 : 2), "scenarios/plan-llama3-70b.json");
    for (const char* set : {"search.instances=[\"p5.48xlarge\"]", "search.counts=[128]",
                            "search.per_cluster=3", "search.space.cp=[1]"})
      words.insert(words.end(), {"--set", set});
    return flowplan_run(words);
  };
  const auto ranked =
      nlohmann::json::parse(with_search({"plan", "--format", "json"}).out).at("ranked");
  REQUIRE(ranked.size() == 3);
  for (const std::size_t rank : {std::size_t{1}, ranked.size()}) {
    const auto& one = ranked.at(rank - 1);
    const auto& layout = one.at("layout");
    const Ran ran = with_search({"export", "megatron", "--rank", std::to_string(rank)});
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    const auto stated = [&](const char* flag, const char* key) {
      return std::string(flag) + " " + std::to_string(layout.at(key).get<int>()) + " \\\n";
    };
    CHECK(contains(ran.out, stated("--tensor-model-parallel-size", "tp")));
    CHECK(contains(ran.out, stated("--pipeline-model-parallel-size", "pp")));
    CHECK(contains(ran.out, stated("--context-parallel-size", "cp")));
    CHECK(contains(ran.out, stated("--micro-batch-size", "micro_batch")));
    CHECK(contains(ran.out, "--nnodes " + std::to_string(one.at("count").get<int>()) + " "));
    CHECK(contains(ran.out, one.at("instance").get<std::string>()));
    // Run as it is exported, it takes the time that the plan says.
    const Ran measured = with_search({"export", "openmetrics", "--rank", std::to_string(rank)});
    const std::string name = "\nflowplan_training_step_time_seconds{";
    const std::size_t at = measured.out.find(name);
    REQUIRE(at != measured.out.npos);
    const double step = std::stod(measured.out.substr(measured.out.find("} ", at) + 2));
    CHECK(step == Approx(one.at("step_time_s").get<double>()).epsilon(1e-9));
  }
  const Ran past = with_search({"export", "megatron", "--rank", "999"});
  CHECK(past.code == 2);
  CHECK(contains(past.err, "the plan ranks " + std::to_string(ranked.size())));
  const std::string saved =
      (std::filesystem::temp_directory_path() / "flowplan-saved-plan.json").string();
  std::ofstream(saved) << with_search({"plan", "--format", "json"}).out;
  const Ran result = flowplan_run({"export", "megatron", saved, "--rank", "1"});
  CHECK(contains(result.err, "FP016"));
  CHECK(contains(result.err, "SCENARIO --rank N"));
}

TEST_CASE("a rank exports the fleet that a serving plan ranks there") {
  const std::string plan = "scenarios/plan-serve-llama3-70b.json";
  const auto best = nlohmann::json::parse(flowplan_run({"plan", plan, "--format", "json"}).out)
                        .at("ranked")
                        .at(0);
  const Ran ran = flowplan_run({"export", "slurm", plan, "--rank", "1"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(contains(ran.out, "#SBATCH --nodes=" + std::to_string(best.at("count").get<int>()) + "\n"));
}

TEST_CASE("a sweep's job needs a grid and carries what was typed") {
  const Ran none = flowplan_run({"export", "slurm-array", scenario});
  CHECK(none.code == 2);
  CHECK(contains(none.err, "nothing to vary"));
  CHECK(none.out.empty());
  const Ran ran = flowplan_run({"export", "slurm-array", scenario, "--vary",
                                "workload.parallelism.tp=4,8", "--set", "workload.micro_batch=1"});
  CHECK(ran.code == 0);
  CHECK(
      contains(ran.out, "'--set' 'workload.micro_batch=1' '--vary' 'workload.parallelism.tp=4,8'"));
  CHECK(contains(
      flowplan_run({"export", "k8s-indexed-job", scenario, "--vary", "workload.parallelism.tp=4,8"})
          .out,
      "workload.parallelism.tp=4,8"));
  CHECK(
      flowplan_run({"export", "slurm-array", scenario, "--vary", "workload.no.such=1:0:x"}).code ==
      2);
  const Ran elsewhere = flowplan_run({"export", "slurm", scenario, "--vary", "cluster.count=1,2"});
  CHECK(elsewhere.code == 2);
  CHECK(contains(elsewhere.err, "slurm-array"));
}

TEST_CASE("targets, ratios and times that are none are refused") {
  const Ran ran = flowplan_run({"export", "slrum", scenario});
  CHECK(ran.code == 2);
  CHECK(contains(ran.err, "slurm"));
  CHECK(flowplan_run({"export", "prometheus", scenario, "--ratio", "1.5"}).code == 2);
  CHECK(flowplan_run({"export", "openmetrics", scenario, "--timestamp", "now"}).code == 2);
  CHECK(flowplan_run({"export", "vllm", scenario}).code != 0);
}

TEST_CASE("the ratio and the time are used") {
  CHECK(contains(flowplan_run({"export", "prometheus", scenario, "--ratio", "0.9"}).out,
                 "(0.9 * flowplan_training_mfu_ratio"));
  CHECK(contains(flowplan_run({"export", "openmetrics", scenario, "--timestamp", "17"}).out,
                 " 17\n# EOF\n"));
}

}  // namespace export_test
