#!/usr/bin/env bash
# One replica.
set -euo pipefail
exec vllm \
  serve \
  llama3.1-70b \
  --tensor-parallel-size 4 \
  --pipeline-parallel-size 1 \
  --data-parallel-size 1 \
  --quantization fp8 \
  --kv-cache-dtype fp8 \
  --enable-prefix-caching
