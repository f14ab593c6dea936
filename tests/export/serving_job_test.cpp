#include "flowplan/export/serving_job.hpp"

#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "example_plan.hpp"
#include "external_tool.hpp"
#include "flowplan/export/kubernetes.hpp"
#include "flowplan/export/slurm.hpp"

namespace flowplan::exporting::serving_job_test {

namespace {

/// A scenario that serves, its plan, its answer and its servers.
struct Served {
  scenario::Scenario scenario;
  Plan plan;
  scenario::Answer answer;

  [[nodiscard]] Result<ServingJob> job() const {
    return serving_job(plan, answer, &*scenario.serving, engine_command(answer.serving->engine));
  }
};

Served served(const std::string& cluster, const std::string& workload) {
  const std::string text = fmt::format(
      R"({{"name": "a server", "cluster": {{{}}},
          "workload": {{"kind": "serving", "model": "llama3.1-70b", "precision": "fp8", {},
                       "load": {{"rate_per_s": 1, "requests": 20, "input_tokens": 256,
                                "output_tokens": 16}}}}}})",
      cluster, workload);
  auto scenario = scenario_from_text(text);
  Plan plan = plan_from(text);
  auto answer = scenario::run(shipped_catalog(), scenario, "test");
  if (!answer) FAIL(render(answer.error()));
  return {std::move(scenario), std::move(plan), std::move(*answer)};
}

/// Three of 4 GPUs on two nodes of 8.
Served three_halves() {
  return served(R"("instance": "p5.48xlarge", "count": 2)",
                R"("engine": "vllm", "parallelism": {"tp": 4, "replicas": 3})");
}

/// Two of 16 GPUs on four nodes of 8.
Served two_pairs(const std::string& engine) {
  return served(R"("instance": "p5.48xlarge", "count": 4)",
                fmt::format(R"("engine": "{}", "parallelism": {{"tp": 8, "pp": 2}})", engine));
}

/// A prefill worker of 4 GPUs, two decode workers of 8, on three nodes of 8.
Served apart() {
  return served(R"("instance": "p5.48xlarge", "count": 3)",
                R"("disaggregated": {"prefill": {"workers": 1, "tp": 4},
                                     "decode": {"workers": 2, "tp": 8}})");
}

/// "start serve.sh 0 2 1 all 8000" of a batch script.
struct Start {
  std::string script;
  int first = 0, nodes = 0, tasks = 0;
  std::string gpus;
  int port = 0;
};

std::vector<Start> starts_of(const std::string& script) {
  std::vector<Start> starts;
  std::istringstream lines(script);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("start ", 0) != 0) continue;
    std::istringstream words(line.substr(6));
    Start one;
    words >> one.script >> one.first >> one.nodes >> one.tasks >> one.gpus >> one.port;
    starts.push_back(one);
  }
  return starts;
}

int number_after(const std::string& text, const std::string& key) {
  const std::size_t at = text.find(key);
  REQUIRE(at != text.npos);
  return std::stoi(text.substr(at + key.size()));
}

}  // namespace

TEST_CASE("a batch script starts every replica on GPUs of its own, as many as work") {
  for (const Served& one : {three_halves(), two_pairs("vllm"), two_pairs("sglang"), apart()}) {
    const auto job = one.job();
    REQUIRE(job);
    const auto files = slurm_files(one.plan, *job);
    const std::string script = text_of(files, "job.sbatch");
    CAPTURE(script);
    std::set<std::pair<int, int>> taken;  // node, GPU
    std::set<int> nodes;
    for (const Start& start : starts_of(script)) {
      for (int node = start.first; node < start.first + start.nodes; ++node) {
        nodes.insert(node);
        std::istringstream list(start.gpus == "all" ? "0,1,2,3,4,5,6,7" : start.gpus);
        for (std::string gpu; std::getline(list, gpu, ',');)
          CHECK(taken.insert({node, std::stoi(gpu)}).second);
      }
      const std::string server = text_of(files, start.script);
      const bool sglang = server.find("sglang") != server.npos;
      const int of_command =
          number_after(server, sglang ? "--tp-size " : "parallel-size ") *
          number_after(server, sglang ? "--pp-size " : "pipeline-parallel-size ");
      const int of_start =
          start.gpus == "all" ? 8 * start.nodes : static_cast<int>(start.gpus.size() + 1) / 2;
      CHECK(of_command == of_start);
    }
    CHECK(static_cast<int>(taken.size()) == one.answer.serving->gpus);
    CHECK(number_after(script, "#SBATCH --nodes=") == static_cast<int>(nodes.size()));
  }
}

TEST_CASE("replicas that share a node have ports of their own") {
  const Served one = three_halves();
  const auto starts = starts_of(text_of(slurm_files(one.plan, one.job().value()), "job.sbatch"));
  REQUIRE(starts.size() == 3);
  CHECK((starts[0].first == 0 && starts[0].gpus == "0,1,2,3" && starts[0].port == 8000));
  CHECK((starts[1].first == 0 && starts[1].gpus == "4,5,6,7" && starts[1].port == 8001));
  CHECK((starts[2].first == 1 && starts[2].gpus == "0,1,2,3" && starts[2].port == 8000));
}

TEST_CASE("a replica over nodes has a worker on every one of them") {
  const Served vllm = two_pairs("vllm");
  const ServingJob ray = vllm.job().value();
  const std::string by_ray = server_script(vllm.plan, ray.groups.front());
  // The head waits for both nodes, the other joins it.
  CHECK(by_ray.find("exec ray start --block --address=\"$MASTER_ADDR:6379\"") != by_ray.npos);
  CHECK(by_ray.find("= 2 ]; do sleep") != by_ray.npos);
  CHECK(by_ray.find("--distributed-executor-backend ray") != by_ray.npos);
  const Served sglang = two_pairs("sglang");
  const std::string ranks = server_script(sglang.plan, sglang.job().value().groups.front());
  CHECK(ranks.find("--nnodes 2") != ranks.npos);
  CHECK(ranks.find("--node-rank $NODE_RANK") != ranks.npos);
  const Served tensorrt = two_pairs("trtllm");
  const auto files = slurm_files(tensorrt.plan, tensorrt.job().value());
  CHECK(text_of(files, "serve.sh").find("exec trtllm-llmapi-launch trtllm-serve") !=
        std::string::npos);
  for (const Start& start : starts_of(text_of(files, "job.sbatch")))
    CHECK(start.tasks == 8);  // an MPI rank a GPU
  CHECK(YAML::Load(text_of(files, "trtllm.yaml"))["kv_cache_config"]["dtype"].as<std::string>() ==
        "fp8");
}

TEST_CASE("vLLM's data-parallel ranks are started node by node where nodes hold whole ones") {
  training::Layout layout;
  layout.tp = 8;
  const Plan plan = plan_of_layout(layout, "");
  ServeCommand serve;
  serve.model = "a/model";
  serve.tp = 4;
  serve.dp = 4;
  serve.nodes = 2;
  const auto script = [&] {
    return server_script(plan, {"serve", serve, vllm_command(serve).value(), 1, 8});
  };
  const std::string by_node = script();
  CHECK(by_node.find("DP_START_RANK=$((NODE_RANK * 2))") != by_node.npos);
  CHECK(by_node.find("--data-parallel-size-local 2") != by_node.npos);
  CHECK(by_node.find("role=(--headless)") != by_node.npos);
  CHECK(by_node.find("ray start") == by_node.npos);
  // A rank of 16 GPUs is on two nodes: Ray places it.
  serve.tp = 16;
  serve.dp = 2;
  serve.nodes = 4;
  const std::string spanning = script();
  CHECK(spanning.find("VLLM_RAY_DP_PACK_STRATEGY=span") != spanning.npos);
  CHECK(spanning.find("--data-parallel-backend ray") != spanning.npos);
  CHECK(spanning.find("--data-parallel-size-local") == spanning.npos);
}

TEST_CASE("Kueue's set has a job for every replica and a pod for each of its nodes") {
  for (const Served& one : {three_halves(), two_pairs("vllm"), apart()}) {
    const auto documents = yaml_of(kueue_manifests(one.plan, one.job().value()).value());
    const YAML::Node set = find_kind(documents, "JobSet");
    CHECK(set["metadata"]["labels"]["kueue.x-k8s.io/queue-name"].as<std::string>() ==
          find_kind(documents, "LocalQueue")["metadata"]["name"].as<std::string>());
    int gpus = 0;
    for (const YAML::Node& job : set["spec"]["replicatedJobs"]) {
      const YAML::Node spec = job["template"]["spec"];
      const YAML::Node container = spec["template"]["spec"]["containers"][0];
      CHECK(spec["parallelism"].as<int>() == spec["completions"].as<int>());
      gpus += job["replicas"].as<int>() * spec["parallelism"].as<int>() *
              container["resources"]["limits"]["nvidia.com/gpu"].as<int>();
      CHECK(
          spec["template"]["metadata"]["annotations"]["kueue.x-k8s.io/podset-preferred-topology"]);
      // The script that it starts is in the ConfigMap.
      CHECK(find_kind(documents, "ConfigMap")["data"][job["name"].as<std::string>() + ".sh"]);
    }
    CHECK(gpus == one.answer.serving->gpus);
  }
  const Served halves = three_halves();
  const auto documents = yaml_of(kueue_manifests(halves.plan, halves.job().value()).value());
  const YAML::Node limits =
      find_kind(documents, "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
                                    ["spec"]["containers"][0]["resources"]["limits"];
  CHECK(limits["vpc.amazonaws.com/efa"].as<std::string>() == "16");  // half of a node's 32
}

TEST_CASE("Volcano's job has a pod for every node of every replica") {
  for (const Served& one : {three_halves(), two_pairs("vllm"), apart()}) {
    const auto documents = yaml_of(volcano_manifests(one.plan, one.job().value()).value());
    const YAML::Node job = find_kind(documents, "Job");
    int gpus = 0;
    int pods = 0;
    std::set<std::string> names;
    for (const YAML::Node& task : job["spec"]["tasks"]) {
      CHECK(names.insert(task["name"].as<std::string>()).second);
      pods += task["replicas"].as<int>();
      gpus += task["replicas"].as<int>() *
              task["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
                  .as<int>();
    }
    CHECK(gpus == one.answer.serving->gpus);
    CHECK(job["spec"]["minAvailable"].as<int>() == pods);
  }
}

TEST_CASE("a replica inside an UltraServer asks Kueue for one") {
  const Served one = served(R"("instance": "u-p6e-gb200x72", "count": 1)",
                            R"("engine": "vllm", "parallelism": {"tp": 8, "replicas": 2})");
  const auto documents = yaml_of(kueue_manifests(one.plan, one.job().value()).value());
  const YAML::Node notes =
      find_kind(documents, "JobSet")["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
                                    ["metadata"]["annotations"];
  CHECK(notes["kueue.x-k8s.io/podset-slice-required-topology"].as<std::string>() ==
        "topology.k8s.aws/ultraserver-id");
  CHECK(notes["kueue.x-k8s.io/podset-slice-size"].as<std::string>() == "2");  // 8 of 4 a node
  CHECK(text_of(slurm_files(one.plan, one.job().value()), "job.sbatch")
            .find("#SBATCH --segment=2\n") != std::string::npos);
}

TEST_CASE("what a scheduler cannot start is refused") {
  const Served tensorrt = two_pairs("trtllm");
  for (const auto& text : {kueue_manifests(tensorrt.plan, tensorrt.job().value()),
                           volcano_manifests(tensorrt.plan, tensorrt.job().value())}) {
    REQUIRE_FALSE(text);
    CHECK(text.error().front().code == Code::unsupported_feature);
    CHECK(text.error().front().hint.find("slurm") != std::string::npos);
  }
  // 12 GPUs are a node and a half.
  const Served half = served(R"("instance": "p5.48xlarge", "count": 3)",
                             R"("engine": "vllm", "parallelism": {"tp": 4, "pp": 3})");
  const auto inside = half.job();
  REQUIRE_FALSE(inside);
  CHECK(render(inside.error()).find("ends inside a node") != std::string::npos);
  // Replicas of 3 GPUs go two on a node of 8: five of them take three.
  Served thirds = served(R"("instance": "p5.48xlarge", "count": 2)",
                         R"("engine": "vllm", "parallelism": {"tp": 1, "pp": 3, "replicas": 5})");
  const auto much = thirds.job();
  REQUIRE_FALSE(much);
  CHECK(render(much.error()).find("take 3 nodes") != std::string::npos);
}

TEST_CASE("scripts of servers are scripts") {
  const ToolFolder folder("flowplan-serving-scripts");
  for (const Served& one : {three_halves(), two_pairs("vllm"), two_pairs("trtllm")})
    for (const WrittenFile& file : slurm_files(one.plan, one.job().value()))
      if (file.name.ends_with(".sh") || file.name.ends_with(".sbatch"))
        CHECK(run_tool("bash -n " + folder.write(file.name, file.text)).code == 0);
}

}  // namespace flowplan::exporting::serving_job_test
