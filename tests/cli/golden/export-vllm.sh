#!/usr/bin/env bash
# Llama 3.1 70B FP8 served on p5.48xlarge
# serve: replica of 4 GPUs by vllm. Runs on every node of it.
set -euo pipefail

# What the prediction assumes. NCCL_ALGO, NCCL_PROTO and NCCL_TUNER_PLUGIN stay unset: it
# follows the choice of NCCL and of the network plugin's tuner.
export NCCL_NVLS_ENABLE=1  # reduction in the NVLink switches
export NCCL_DEBUG=WARN  # a fall-back of NCCL is said in the log

: "${PORT:=8000}"
if [ -n "${GPUS:-}" ]; then export CUDA_VISIBLE_DEVICES="$GPUS"; fi
exec vllm \
  serve \
  llama3.1-70b \
  --tensor-parallel-size 4 \
  --pipeline-parallel-size 1 \
  --data-parallel-size 1 \
  --quantization fp8 \
  --kv-cache-dtype fp8 \
  --enable-prefix-caching \
  --host 0.0.0.0 \
  --port $PORT
