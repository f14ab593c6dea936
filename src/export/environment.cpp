#include <fmt/format.h>

#include "flowplan/export/launch.hpp"

namespace flowplan::exporting {

std::vector<Variable> environment_of(const Plan& plan) {
  std::vector<Variable> variables;
  const bool crosses_network =
      plan.job_nodes > plan.job_nodes_per_domain && plan.cluster.has_nics();
  if (crosses_network && plan.node_type->efa_version > 0) {
    variables.push_back({"FI_PROVIDER", "efa", "collectives between nodes go over EFA, never TCP"});
    if (plan.node_type->efa_version == 1)
      variables.push_back(
          {"FI_EFA_USE_DEVICE_RDMA", "1", "GPUDirect RDMA, which this generation leaves off"});
    variables.push_back({"FI_EFA_SET_CUDA_SYNC_MEMOPS", "0",
                         "registration of NCCL's buffers does not make copies synchronous"});
    variables.push_back(
        {"NCCL_SOCKET_IFNAME", "^docker,lo,veth", "bootstrap over the VPC's interface"});
  }
  if (plan.node_type->nvls)
    variables.push_back({"NCCL_NVLS_ENABLE", "1", "reduction in the NVLink switches"});
  if (plan.domains_span_nodes()) {
    variables.push_back({"NCCL_MNNVL_ENABLE", "1", "NVLink between the nodes of an UltraServer"});
    variables.push_back({"NCCL_CUMEM_ENABLE", "1", "memory that the NVLink fabric can export"});
  }
  const training::Layout& layout = plan.job.layout;
  if (layout.tp > 1 && layout.sequence_parallel &&
      plan.gpu->generation != catalog::GpuGeneration::blackwell)
    variables.push_back({"CUDA_DEVICE_MAX_CONNECTIONS", "1",
                         "kernels of communication start before those of computation"});
  if (plan.job.precision == model::Precision::tf32)
    variables.push_back({"NVIDIA_TF32_OVERRIDE", "1", "32-bit products on TF32 tensor cores"});
  variables.push_back({"NCCL_DEBUG", "WARN", "a fall-back of NCCL is said in the log"});
  return variables;
}

std::string environment_script(const Plan& plan) {
  std::string text =
      "# What the prediction assumes. NCCL_ALGO, NCCL_PROTO and NCCL_TUNER_PLUGIN stay unset: it\n"
      "# follows the choice of NCCL and of the network plugin's tuner.\n";
  for (const Variable& variable : environment_of(plan))
    text += fmt::format("export {}={}  # {}\n", variable.name, variable.value, variable.reason);
  return text;
}

}  // namespace flowplan::exporting
