#include "flowplan/storage/model_load.hpp"

#include <utility>

#include <fmt/format.h>

namespace flowplan::storage {

Result<Answer> load_model(const Clients& clients, const LoadPlan& plan) {
  if (plan.weights.value() <= 0.0) return fail(error(Code::bad_storage, "a model of no bytes"));
  const int gpus = static_cast<int>(clients.nodes) * clients.gpus_per_node;
  if (plan.ranks < 1 || gpus % plan.ranks != 0)
    return fail(error(Code::bad_storage,
                      fmt::format("replicas of {} GPUs on {} GPUs", plan.ranks, gpus),
                      "the GPUs of a replica divide those of the nodes"));
  const int replicas = gpus / plan.ranks;
  Pattern pattern;
  pattern.loader = plan.loader;
  pattern.amplification = plan.presharded ? 1.0 : plan.ranks;
  const double readers = static_cast<double>(replicas) * pattern.amplification;
  if (readers > 1.0 && plan.weights <= server_cache(plan.store)) pattern.disk_share = 1.0 / readers;
  auto found = path(clients, plan.store, pattern);
  if (!found) return fail(std::move(found.error()));
  const Bytes kept = plan.weights * static_cast<double>(replicas);
  const Movement movement{"load", std::move(*found), clients.nodes,
                          kept / static_cast<double>(clients.nodes)};
  Answer answer = answer_of("io.load", "read the weights", movement);
  add_part(answer, {"io.engine_start",
                    "start of the engine",
                    plan.engine_start,
                    "engine",
                    {},
                    "beside reading, as measured",
                    {}});
  answer.details = {
      {"replicas", "replicas", static_cast<double>(replicas), ""},
      {"delivered_bytes", "bytes that the store delivers", (kept * pattern.amplification).value(),
       "B"},
      {"bytes_per_gpu", "weights of a GPU", (plan.weights / plan.ranks).value(), "B"}};
  const catalog::Figure hbm = clients.gpu->hbm_gb;
  if (hbm.known && plan.weights / plan.ranks > gigabytes(hbm.value)) {
    answer.feasible = false;
    answer.why_not =
        fmt::format("GPU memory: {:.4g} GB a GPU, {} has {:.4g} GB",
                    plan.weights / plan.ranks / gigabytes(1.0), clients.gpu->id, hbm.value);
  }
  if (!plan.presharded && plan.ranks > 1)
    answer.warnings.push_back(
        {"read_amplification", fmt::format("every rank reads the whole model: {} times the bytes; "
                                           "weights sharded beforehand read 1/{}",
                                           plan.ranks, plan.ranks)});
  return answer;
}

}  // namespace flowplan::storage
