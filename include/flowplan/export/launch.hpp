#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/export/plan.hpp"

namespace flowplan::exporting {

/// One argument of a program: a flag with its value, a switch (`value` empty), or a bare word
/// (`flag` empty).
struct Argument {
  std::string flag;
  std::string value = {};
};

/// What every node runs to start its ranks of a job. Values with "$" are expanded by the shell.
struct Launch {
  std::string framework;            ///< "megatron", "torchtitan", "fsdp", "maxtext", "vllm", ...
  bool torchrun = true;             ///< started by torchrun; else one process a node
  std::string program;              ///< "pretrain_gpt.py"
  std::vector<Argument> arguments;  ///< of the program
  std::vector<WrittenFile> files;   ///< that the program reads: "torchtitan.toml"
  std::vector<std::string> notes;   ///< what the user has to fill in or know
};

/// Megatron-LM and Megatron Core: `pretrain_gpt.py`, with `--sft` of fine-tuning, Megatron-FSDP
/// where weights are sharded; adapters by `megatron_bridge_launch`. Errors FP073: DualPipe and
/// zero-bubble schedules, which it does not have, and methods other than SFT.
[[nodiscard]] Result<Launch> megatron_launch(const Plan& plan);

/// LoRA by Megatron Bridge's `run_recipe.py` with overrides. Errors FP073: as above, frozen weights
/// below 16 bits (QLoRA), layers that the stages do not share evenly, sharded weights.
[[nodiscard]] Result<Launch> megatron_bridge_launch(const Plan& plan);

/// torchtitan with a TOML file. Errors FP073: adapters, methods other than SFT, DualPipe,
/// recomputation or sharding that it does not have, hybrid context parallelism.
[[nodiscard]] Result<Launch> torchtitan_launch(const Plan& plan);

/// PyTorch FSDP2 by Hugging Face Accelerate's configuration file around a program of the user's,
/// which is told the method and the adapters (PEFT's names). Errors FP073: pipeline and expert
/// parallelism.
[[nodiscard]] Result<Launch> fsdp_launch(const Plan& plan);

/// MaxText (JAX) on GPUs: the mesh split into what stays inside an NVLink domain (ici) and what
/// crosses the network (dcn); of SFT its `sft_trainer`. Errors FP073: adapters, methods other than
/// SFT, zero-bubble and DualPipe schedules, experts split by
/// tensor.
[[nodiscard]] Result<Launch> maxtext_launch(const Plan& plan);

/// The one of these that the scenario's framework names.
[[nodiscard]] Result<Launch> launch_of(const Plan& plan);

/// An environment variable and why the prediction assumes it.
struct Variable {
  std::string name, value, reason;
};

/// What NCCL, libfabric and CUDA have to be told so that they do what the prediction assumes. Sets
/// no algorithm or protocol: the prediction follows NCCL's and its plugin's own choice.
[[nodiscard]] std::vector<Variable> environment_of(const Plan& plan);

/// The same as lines of a shell: a comment and "export NAME=value" for each.
[[nodiscard]] std::string environment_script(const Plan& plan);

/// The program with its arguments as lines of a shell, a backslash at the end of each but the last;
/// `indent` before all but the first.
[[nodiscard]] std::string command_lines(const Launch& launch, const std::string& indent = "  ");
/// The words of the command, each ready for a container's `command`.
[[nodiscard]] std::vector<std::string> command_words(const Launch& launch);

/// A script that starts the job on the nodes of a Slurm allocation or by hand.
[[nodiscard]] std::string launch_script(const Plan& plan, const Launch& launch);

}  // namespace flowplan::exporting
