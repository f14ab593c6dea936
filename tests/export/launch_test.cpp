#include "flowplan/export/launch.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>

#include "example_plan.hpp"
#include "flowplan/base/split_mix.hpp"

namespace flowplan::exporting::launch_test {

namespace {

/// Words of a script's command lines, continuation marks and quotes taken off.
std::vector<std::string> words_of(const std::string& script) {
  std::istringstream in(script.substr(script.find("\nexec ") + 6));
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    if (word != "\\") words.push_back(word);
  return words;
}

int flag(const std::vector<std::string>& words, const std::string& name) {
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == name) return std::stoi(words[i + 1]);
  FAIL("no " << name);
  return 0;
}

int flag_or(const std::vector<std::string>& words, const std::string& name, int otherwise) {
  for (const std::string& word : words)
    if (word == name) return flag(words, name);
  return otherwise;
}

/// "key = value" lines.
std::map<std::string, std::string> settings(const std::string& toml) {
  std::map<std::string, std::string> found;
  std::istringstream in(toml);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find(" = ");
    if (line.empty() || line[0] == '#' || equals == line.npos) continue;
    REQUIRE(found.emplace(line.substr(0, equals), line.substr(equals + 3)).second);
  }
  return found;
}

int power_of_two(SplitMix64& random, std::uint64_t exponents) {
  return 1 << static_cast<int>(random.below(exponents));
}

/// 200 layouts of whole nodes, by a fixed seed.
template <class Check>
void for_random_layouts(bool pipelines, const Check& check) {
  SplitMix64 random(20260810);
  for (int done = 0; done < 200;) {
    training::Layout layout;
    layout.tp = power_of_two(random, 4);
    layout.cp = power_of_two(random, 3);
    layout.pp = pipelines ? power_of_two(random, 4) : 1;
    layout.dp = static_cast<int>(1 + random.below(48));
    layout.vp =
        layout.pp > 1 && 32 % (2 * layout.pp) == 0 ? static_cast<int>(1 + random.below(2)) : 1;
    if (layout.tp * layout.pp * layout.cp * layout.dp % 8 != 0) continue;
    ++done;
    CAPTURE(layout.tp, layout.pp, layout.cp, layout.dp, layout.vp);
    check(layout);
  }
}

}  // namespace

TEST_CASE("Megatron's flags of 200 random layouts give the layout back") {
  for_random_layouts(true, [](const training::Layout& layout) {
    const Plan plan = plan_of_layout(layout, "megatron-core");
    const auto words = words_of(launch_script(plan, megatron_launch(plan).value()));
    const int gpus = flag(words, "--nnodes") * flag(words, "--nproc-per-node");
    CHECK(gpus == static_cast<int>(plan.cluster.gpus()));
    const int model_parallel = flag(words, "--tensor-model-parallel-size") *
                               flag(words, "--pipeline-model-parallel-size") *
                               flag(words, "--context-parallel-size");
    // Data parallelism is what is left, as Megatron computes it.
    CHECK(gpus % model_parallel == 0);
    CHECK(gpus / model_parallel == layout.dp);
    CHECK(flag_or(words, "--num-virtual-stages-per-pipeline-rank", 1) == layout.vp);
    CHECK(flag(words, "--global-batch-size") % (flag(words, "--micro-batch-size") * layout.dp) ==
          0);
  });
}

TEST_CASE("fine-tuning's flags of 200 random layouts give the layout back") {
  for_random_layouts(true, [](const training::Layout& layout) {
    Plan plan = plan_of_layout(layout, "megatron-core");
    plan.work = Plan::Work::fine_tuning;
    plan.method = "sft";
    const auto words = words_of(launch_script(plan, megatron_launch(plan).value()));
    const int gpus = flag(words, "--nnodes") * flag(words, "--nproc-per-node");
    CHECK(flag(words, "--tensor-model-parallel-size") *
              flag(words, "--pipeline-model-parallel-size") *
              flag(words, "--context-parallel-size") * layout.dp ==
          gpus);
    CHECK(std::count(words.begin(), words.end(), "--sft") == 1);
    CHECK(std::count(words.begin(), words.end(), "NullTokenizer") == 0);

    plan.job.adapters.emplace();
    const Launch lora = megatron_launch(plan).value();
    CHECK(lora.framework == "megatron-bridge");
    std::map<std::string, std::string> set;
    for (const Argument& one : lora.arguments)
      if (const std::size_t equals = one.value.find('='); equals != one.value.npos)
        CHECK(set.emplace(one.value.substr(0, equals), one.value.substr(equals + 1)).second);
    const auto number = [&](const char* key) { return std::stoi(set.at(key)); };
    CHECK(number("model.tensor_model_parallel_size") *
              number("model.pipeline_model_parallel_size") * number("model.context_parallel_size") *
              layout.dp ==
          gpus);
    CHECK(number("train.global_batch_size") % (number("train.micro_batch_size") * layout.dp) == 0);
    CHECK(set.count("model.virtual_pipeline_model_parallel_size") == (layout.vp > 1 ? 1 : 0));
    CHECK(set.at("peft.target_modules") == "[linear_qkv,linear_proj]");
  });
}

TEST_CASE("a method or an adapter that a trainer does not have is refused") {
  training::Layout layout;
  layout.dp = 8;
  Plan plan = plan_of_layout(layout, "megatron-core");
  plan.job.sharding = training::Sharding::fsdp;
  plan.work = Plan::Work::fine_tuning;
  for (const char* method : {"sft", "dpo", "orpo"}) {
    plan.method = method;
    const bool tokens = plan.method == "sft";
    CHECK(megatron_launch(plan).has_value() == tokens);
    CHECK(torchtitan_launch(plan).has_value() == tokens);
    CHECK(maxtext_launch(plan).has_value() == tokens);
    CHECK(fsdp_launch(plan).has_value());  // around a trainer of the user's
  }
  plan.method = "sft";
  CHECK(command_lines(maxtext_launch(plan).value()).find("sft.yml") != std::string::npos);
  plan.job.adapters.emplace();
  CHECK_FALSE(torchtitan_launch(plan));
  CHECK_FALSE(maxtext_launch(plan));
  CHECK_FALSE(megatron_launch(plan));  // adapters under Megatron-FSDP
  plan.job.sharding = training::Sharding::distributed_optimizer;
  CHECK(megatron_launch(plan));
  plan.job.adapters->frozen_bytes = 4.127 / 8.0;
  CHECK_FALSE(megatron_launch(plan));
  plan.work = Plan::Work::reinforcement;
  CHECK_FALSE(megatron_launch(plan));
}

TEST_CASE("torchtitan's degrees of 200 random layouts multiply to the GPUs") {
  for_random_layouts(true, [](const training::Layout& layout) {
    Plan plan = plan_of_layout(layout, "torchtitan");
    plan.job.sharding = training::Sharding::fsdp;
    const int states = layout.dp * layout.cp;
    if (states % 2 == 0 && layout.dp % 2 == 0) plan.job.shard_group = states / 2;
    const Launch launch = torchtitan_launch(plan).value();
    const auto words = words_of(launch_script(plan, launch));
    auto set = settings(text_of(launch.files, "torchtitan.toml"));
    const auto number = [&](const char* key) { return std::stoi(set.at(key)); };
    CHECK(number("data_parallel_replicate_degree") * number("data_parallel_shard_degree") *
              number("tensor_parallel_degree") * number("pipeline_parallel_degree") *
              number("context_parallel_degree") ==
          flag(words, "--nnodes") * flag(words, "--nproc-per-node"));
    CHECK(number("data_parallel_replicate_degree") * number("data_parallel_shard_degree") ==
          layout.dp);
  });
}

TEST_CASE("FSDP's sizes of 200 random layouts multiply to the processes") {
  for_random_layouts(false, [](const training::Layout& layout) {
    Plan plan = plan_of_layout(layout, "fms-fsdp");
    plan.job.sharding = training::Sharding::fsdp;
    const YAML::Node config =
        YAML::Load(text_of(fsdp_launch(plan).value().files, "accelerate.yaml"));
    const YAML::Node sizes = config["parallelism_config"];
    int product = 1;
    for (const char* axis : {"dp_replicate", "dp_shard", "tp", "cp"})
      product *= sizes[fmt::format("parallelism_config_{}_size", axis)].as<int>();
    CHECK(product == config["num_processes"].as<int>());
    CHECK(product == static_cast<int>(plan.cluster.gpus()));
    CHECK(config["num_machines"].as<int>() * 8 == product);
  });
}

TEST_CASE("MaxText's mesh of 200 random layouts fills the NVLink domains and crosses the rest") {
  for_random_layouts(true, [](const training::Layout& layout) {
    const Plan plan = plan_of_layout(layout, "maxtext");
    int inside = 1, across = 1;
    std::map<std::string, int> degree;
    const Launch launch = maxtext_launch(plan).value();
    for (const Argument& one : launch.arguments) {
      const std::size_t end = one.value.find("_parallelism=");
      if (end == one.value.npos) continue;
      const int value = std::stoi(one.value.substr(end + 13));
      (one.value.rfind("ici_", 0) == 0 ? inside : across) *= value;
      degree.emplace(one.value.substr(4, end - 4), 1).first->second *= value;
    }
    CHECK(inside == 8);  // GPUs of a p5.48xlarge's NVLink domain
    CHECK(inside * across == static_cast<int>(plan.cluster.gpus()));
    CHECK(degree["tensor"] == layout.tp);
    CHECK(degree["context"] == layout.cp);
    CHECK(degree["pipeline"] == layout.pp);
    CHECK(degree["fsdp"] * degree["data"] * degree["expert"] == layout.dp);
  });
}

TEST_CASE("experts and latent attention of a mixture have Megatron's flags") {
  training::Layout layout;
  layout.pp = 4;
  layout.dp = 16;
  layout.ep = 8;
  layout.vp = 2;
  layout.uneven_stages = true;
  Plan plan = plan_of_layout(layout, "megatron-core");
  plan.job.model = **shipped_catalog().transformer("deepseek-v3");
  plan.job.precision = model::Precision::fp8_block;
  plan.job.recompute = training::Recompute::selective;
  plan.job.modules = {};
  plan.job.modules.mlp = true;
  const std::string text = command_lines(megatron_launch(plan).value());
  for (const char* part : {"--expert-model-parallel-size 8", "--expert-tensor-parallel-size 1",
                           "--num-experts 256", "--moe-router-topk 8", "--multi-latent-attention",
                           "--kv-lora-rank 512", "--q-lora-rank 1536", "--qk-head-dim 128",
                           "--qk-pos-emb-head-dim 64", "--v-head-dim 128", "--fp8-recipe blockwise",
                           "--mtp-num-layers 1", "([0]*3+[1]*58)", "--recompute-modules core_attn"})
    CHECK(text.find(part) != text.npos);
  // 61 layers, an embedding, a head and a prediction module over 8 chunks, the layout in order.
  const std::size_t begin = text.find("--pipeline-model-parallel-layout");
  REQUIRE(begin != text.npos);
  const std::string split = text.substr(begin, text.find('\n', begin) - begin);
  int layers = 0;
  for (std::size_t at = split.find("t*"); at != split.npos; at = split.find("t*", at + 1))
    layers += std::stoi(split.substr(at + 2));
  CHECK(layers == 61);
  CHECK(std::count(split.begin(), split.end(), '|') == 7);
  CHECK(text.find("--num-virtual-stages-per-pipeline-rank") == text.npos);  // the layout says it
}

TEST_CASE("what a framework does not have is refused, with what it has") {
  training::Layout layout;
  layout.pp = 4;
  layout.dp = 8;
  Plan plan = plan_of_layout(layout, "megatron-core");
  CHECK(megatron_launch(plan));
  CHECK_FALSE(fsdp_launch(plan));
  plan.job.schedule = training::Schedule::dual_pipe;
  CHECK_FALSE(megatron_launch(plan));
  CHECK_FALSE(torchtitan_launch(plan));
  CHECK_FALSE(maxtext_launch(plan));
  plan.job.schedule = training::Schedule::one_forward_one_backward;
  plan.job.sharding = training::Sharding::distributed_optimizer;
  CHECK_FALSE(torchtitan_launch(plan));
  CHECK(torchtitan_launch(plan).error().front().code == Code::unsupported_feature);
}

TEST_CASE("the framework of the scenario decides what is launched") {
  training::Layout layout;
  layout.dp = 8;
  for (const auto& [framework, launched] : {std::pair{"megatron-core", "megatron"},
                                            {"torchtitan", "torchtitan"},
                                            {"maxtext", "maxtext"},
                                            {"fms-fsdp", "fsdp"},
                                            {"nemo", "megatron"}}) {
    Plan plan = plan_of_layout(layout, framework);
    plan.job.sharding = training::Sharding::fsdp;
    CHECK(launch_of(plan).value().framework == launched);
  }
}

TEST_CASE("the environment says what the prediction assumes, and chooses no algorithm") {
  training::Layout layout;
  layout.tp = 8;
  layout.dp = 2;
  const Plan plan = plan_of_layout(layout, "megatron-core");
  const std::string text = environment_script(plan);
  CHECK(text.find("export FI_PROVIDER=efa") != text.npos);
  CHECK(text.find("export NCCL_NVLS_ENABLE=1") != text.npos);
  CHECK(text.find("export CUDA_DEVICE_MAX_CONNECTIONS=1") != text.npos);
  CHECK(text.find("export NCCL_ALGO") == text.npos);
  CHECK(text.find("export NCCL_PROTO") == text.npos);
  layout.dp = 1;  // one node: no network
  CHECK(environment_script(plan_of_layout(layout, "megatron-core")).find("FI_PROVIDER") ==
        std::string::npos);
  CHECK(environment_script(plan_from(two_ultraservers())).find("NCCL_MNNVL_ENABLE=1") !=
        std::string::npos);
}

}  // namespace flowplan::exporting::launch_test
