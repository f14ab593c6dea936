#include "pods.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* files_folder = "/flowplan";

/// "$NAME" of a shell as "$(NAME)" of a container's arguments.
std::string as_container_word(std::string word) {
  for (std::size_t at = word.find('$'); at != word.npos; at = word.find('$', at + 1)) {
    std::size_t end = at + 1;
    while (end < word.size() &&
           (std::isalnum(static_cast<unsigned char>(word[end])) != 0 || word[end] == '_'))
      ++end;
    word.insert(end, ")");
    word.insert(at + 1, "(");
  }
  return word;
}

/// `limits` of a part of a node's GPUs, with that part of its EFA devices.
Json part_limits(const Plan& plan, int gpus) {
  Json limits = node_limits(plan);
  for (auto& [name, amount] : limits.items())
    amount = std::to_string(std::stoll(amount.get<std::string>()) * gpus / plan.gpus_per_node());
  return limits;
}

void mount_files(Json& container) {
  container["volumeMounts"].push_back({{"name", "files"}, {"mountPath", files_folder}});
}

/// A pod around a container, with the files where it mounts them.
Json pod_of(const Plan& plan, Json container, bool files) {
  Json spec;
  spec["restartPolicy"] = "Never";
  spec["containers"] = Json::array({std::move(container)});
  spec["volumes"] = Json::array({{{"name", "shm"}, {"emptyDir", {{"medium", "Memory"}}}}});
  if (files) spec["volumes"].push_back({{"name", "files"}, {"configMap", {{"name", plan.slug}}}});
  return spec;
}

}  // namespace

Json variable_of(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}};
}

Json field_variable(const std::string& name, const std::string& path) {
  return {{"name", name}, {"valueFrom", {{"fieldRef", {{"fieldPath", path}}}}}};
}

Json object_of(const std::string& api, const std::string& kind, const std::string& name) {
  return {{"apiVersion", api}, {"kind", kind}, {"metadata", {{"name", name}}}};
}

Json node_limits(const Plan& plan) {
  Json limits;
  limits["nvidia.com/gpu"] = std::to_string(plan.gpus_per_node());
  if (plan.node_type->efa_version > 0 && plan.node_type->efa_interfaces)
    limits["vpc.amazonaws.com/efa"] = fmt::format("{:.0f}", plan.node_type->efa_interfaces.value);
  return limits;
}

Json container_of(const Plan& plan, const Launch& launch, const std::string& master,
                  const std::string& node_rank) {
  Json environment = Json::array();
  environment.push_back(variable_of("MASTER_ADDR", master));
  if (!launch.torchrun) environment.push_back(field_variable("SLURM_NODEID", node_rank));
  const std::string port = std::to_string(static_cast<int>(plan.defaults->at("rendezvous.port")));
  if (launch.framework == "maxtext") {
    environment.push_back(variable_of("JAX_COORDINATOR_IP", master));
    environment.push_back(variable_of("JAX_COORDINATOR_PORT", port));
    environment.push_back(variable_of("NNODES", std::to_string(plan.job_nodes)));
    environment.push_back(field_variable("NODE_RANK", node_rank));
  }
  for (const Variable& one : environment_of(plan))
    environment.push_back(variable_of(one.name, one.value));
  for (const Argument& one : launch.arguments) {
    if (one.value == "$DATA_PATH") environment.push_back(variable_of("DATA_PATH", "/data"));
    for (const char* name : {"CHECKPOINT", "RECIPE", "TOKENIZER", "TRAIN_ITERS"})
      if (one.value.ends_with(std::string("$") + name))
        environment.push_back(variable_of(name, "REPLACE"));
  }

  Json command = Json::array();
  if (launch.torchrun) {
    command = {"torchrun",
               fmt::format("--nnodes={}", plan.job_nodes),
               fmt::format("--nproc-per-node={}", plan.gpus_per_node()),
               "--rdzv-backend=c10d",
               fmt::format("--rdzv-id={}", plan.slug),
               fmt::format("--rdzv-endpoint=$(MASTER_ADDR):{}", port)};
  } else {
    command = {"python3"};
  }
  for (const std::string& word : command_words(launch)) {
    bool file = false;
    for (const WrittenFile& one : launch.files)
      file = file || one.name == word;
    command.push_back(file ? fmt::format("{}/{}", files_folder, word) : as_container_word(word));
  }
  Json container;
  container["name"] = "train";
  container["image"] = "registry.example.com/train:latest";
  container["command"] = command;
  container["env"] = environment;
  container["resources"] = {{"limits", node_limits(plan)}};
  container["volumeMounts"] = Json::array({{{"name", "shm"}, {"mountPath", "/dev/shm"}}});
  if (!launch.files.empty()) mount_files(container);
  return container;
}

Json files_of(const Plan& plan, const std::vector<WrittenFile>& files) {
  if (files.empty()) return nullptr;
  Json map = object_of("v1", "ConfigMap", plan.slug);
  for (const WrittenFile& file : files)
    map["data"][file.name] = file.text;
  return map;
}

Json pod_spec(const Plan& plan, const Launch& launch, const std::string& master,
              const std::string& node_rank) {
  return pod_of(plan, container_of(plan, launch, master, node_rank), !launch.files.empty());
}

Result<void> needs_no_mpi(const ServingJob& serving) {
  for (const ServerGroup& group : serving.groups)
    if (group.spans_nodes() && group.launch.framework == "tensorrt-llm")
      return fail(error(Code::unsupported_feature,
                        fmt::format("TensorRT-LLM starts a replica of {} nodes by MPI, which pods "
                                    "alone do not have",
                                    group.nodes()),
                        "slurm starts it; or --set workload.engine=\"vllm\" or \"sglang\""));
  return {};
}

Json server_pod(const Plan& plan, const ServerGroup& group, Json environment) {
  Json container;
  container["name"] = group.name;
  container["image"] = "registry.example.com/serve:latest";
  container["command"] = Json::array({"bash", "-c"});
  // The script names the files that the engine reads as its neighbours.
  container["command"].push_back(fmt::format("cd {} && exec bash {}.sh", files_folder, group.name));
  if (!environment.empty()) container["env"] = std::move(environment);
  container["resources"] = {{"limits", part_limits(plan, group.node_gpus)}};
  container["volumeMounts"] = Json::array({{{"name", "shm"}, {"mountPath", "/dev/shm"}}});
  mount_files(container);
  return pod_of(plan, std::move(container), true);
}

}  // namespace flowplan::exporting
