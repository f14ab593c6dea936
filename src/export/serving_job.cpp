#include "flowplan/export/serving_job.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

int port_of(const Plan& plan, const char* name) {
  return static_cast<int>(plan.defaults->at(name));
}

Result<ServerGroup> group_of(const Plan& plan, const NamedServe& serve, int replicas,
                             EngineCommand engine) {
  auto launch = engine(serve.command);
  if (!launch) return fail(std::move(launch.error()));
  const auto per_node = static_cast<int>(plan.gpus_per_node());
  const int gpus = serve.command.gpus();
  if (gpus > per_node && gpus % per_node != 0)
    return fail(error(Code::unsupported_feature,
                      fmt::format("a replica of {} GPUs ends inside a node of {}", gpus, per_node),
                      "choose tp, pp and attention_dp so that it fills whole nodes"));
  launch->arguments.push_back({"--host", "0.0.0.0"});
  launch->arguments.push_back({"--port", "$PORT"});
  return ServerGroup{serve.name, serve.command, std::move(*launch), replicas,
                     std::min(gpus, per_node)};
}

/// GPUs that are taken of every node, from the first.
class Packing {
 public:
  explicit Packing(const Plan& plan)
      : per_node_(static_cast<int>(plan.gpus_per_node())), port_(port_of(plan, "serve.port")) {}

  ServerPlace place(std::size_t index, const ServerGroup& group) {
    std::size_t node = 0;
    if (!group.spans_nodes())
      while (node < used_.size() && used_[node].gpus + group.node_gpus > per_node_)
        ++node;
    else
      node = used_.size();
    used_.resize(std::max(used_.size(), node + static_cast<std::size_t>(group.nodes())));
    const ServerPlace place{index, static_cast<std::uint32_t>(node), used_[node].gpus,
                            port_ + used_[node].servers};
    for (int i = 0; i < group.nodes(); ++i) {
      used_[node + static_cast<std::size_t>(i)].gpus += group.node_gpus;
      ++used_[node + static_cast<std::size_t>(i)].servers;
    }
    return place;
  }

  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(used_.size()); }

 private:
  struct Used {
    int gpus = 0;
    int servers = 0;
  };
  int per_node_, port_;
  std::vector<Used> used_;
};

/// Data-parallel ranks that vLLM starts node by node; else Ray spreads all ranks.
bool ranks_by_node(const ServeCommand& serve) {
  return serve.dp > 1 && serve.dp % serve.nodes == 0;
}

/// What a node does before the command, and what the command has more.
struct NodePart {
  std::string before, prefix, after;
};

NodePart vllm_part(const Plan& plan, const ServeCommand& serve) {
  if (ranks_by_node(serve))
    return {fmt::format("DP_START_RANK=$((NODE_RANK * {}))\n"
                        "# The first node answers requests for all.\n"
                        "role=()\n"
                        "if [ \"$NODE_RANK\" != 0 ]; then role=(--headless); fi\n",
                        serve.dp / serve.nodes),
            {},
            " \\\n  \"${role[@]}\""};
  const int port = port_of(plan, "ray.port");
  std::string before;
  if (serve.dp > 1)
    before += "export VLLM_RAY_DP_PACK_STRATEGY=span  # a data-parallel rank is on several nodes\n";
  before += fmt::format(
      "if [ \"$NODE_RANK\" != 0 ]; then\n"
      "  until (exec 3<> \"/dev/tcp/$MASTER_ADDR/{0}\") 2> /dev/null; do sleep 1; done\n"
      "  exec ray start --block --address=\"$MASTER_ADDR:{0}\"\n"
      "fi\n"
      "ray start --head --port={0}\n"
      "until [ \"$(python3 -c 'import ray; ray.init(address=\"auto\", log_to_driver=False); "
      "print(sum(n[\"Alive\"] for n in ray.nodes()))' | tail -n 1)\" = {1} ]; do sleep 5; done\n",
      port, serve.nodes);
  return {before, {}, {}};
}

NodePart part_of(const Plan& plan, const ServerGroup& group) {
  if (!group.spans_nodes()) return {};
  if (group.launch.framework == "vllm") return vllm_part(plan, group.command);
  if (group.launch.framework == "tensorrt-llm") return {{}, "trtllm-llmapi-launch ", {}};
  return {};
}

}  // namespace

EngineCommand engine_command(std::string_view profile) {
  if (profile.rfind("trtllm", 0) == 0) return tensorrt_llm_command;
  if (profile.rfind("sglang", 0) == 0) return sglang_command;
  return vllm_command;
}

Result<ServingJob> serving_job(const Plan& plan, const scenario::Answer& answer,
                               const scenario::ServingSection* limits, EngineCommand engine) {
  const auto serves = serve_commands(plan, answer, limits);
  if (!serves) return fail(serves.error());
  ServingJob job;
  for (const NamedServe& serve : *serves) {
    const bool prefill = answer.serving->prefill && &serve == &serves->front();
    auto group = group_of(
        plan, serve, prefill ? answer.serving->prefill->workers : answer.serving->replicas, engine);
    if (!group) return fail(std::move(group.error()));
    job.groups.push_back(std::move(*group));
  }
  job.engine = job.groups.front().launch.framework;
  Packing packing(plan);
  for (const bool spanning : {true, false})
    for (std::size_t i = 0; i < job.groups.size(); ++i)
      for (int k = 0; job.groups[i].spans_nodes() == spanning && k < job.groups[i].replicas; ++k)
        job.places.push_back(packing.place(i, job.groups[i]));
  job.nodes = packing.nodes();
  if (job.nodes > plan.nodes())
    return fail(error(Code::unsupported_feature,
                      fmt::format("the servers take {} nodes, as none is on parts of two; the "
                                  "cluster has {}",
                                  job.nodes, plan.nodes()),
                      "choose replicas that divide a node, or fewer of them"));
  return job;
}

std::string server_script(const Plan& plan, const ServerGroup& group) {
  const NodePart part = part_of(plan, group);
  std::string text = "#!/usr/bin/env bash\n";
  text +=
      commented(fmt::format("{}\n{}: replica of {} GPUs by {}. Runs on every node of it.",
                            plan.title, group.name, group.command.gpus(), group.launch.framework));
  text += "set -euo pipefail\n\n" + environment_script(plan);
  text += fmt::format("\n: \"${{PORT:={}}}\"\n", port_of(plan, "serve.port"));
  if (group.node_gpus < static_cast<int>(plan.gpus_per_node()))
    text += "if [ -n \"${GPUS:-}\" ]; then export CUDA_VISIBLE_DEVICES=\"$GPUS\"; fi\n";
  if (group.spans_nodes())
    text +=
        "# Which node of the replica this is, and the first of them.\n"
        "NODE_RANK=${NODE_RANK:-${SLURM_NODEID:?}}\n"
        ": \"${MASTER_ADDR:?}\"\n";
  return text + part.before + "exec " + part.prefix + command_lines(group.launch) + part.after +
         "\n";
}

std::vector<WrittenFile> server_files(const Plan& plan, const ServingJob& job) {
  std::vector<WrittenFile> files;
  for (const ServerGroup& group : job.groups)
    files.push_back({group.name + ".sh", server_script(plan, group)});
  // Workers of a disaggregated deployment read the same options.
  for (const WrittenFile& file : job.groups.front().launch.files)
    files.push_back(file);
  return files;
}

}  // namespace flowplan::exporting
