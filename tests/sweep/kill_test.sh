#!/usr/bin/env bash
# A sweep that is killed (-9) again and again goes on to the same bytes as one that is not, and so do
# its shards, whether 1, 2 or 7, of which one is killed too. No point is lost or there twice.
#
#   kill_test.sh PROGRAM SOURCE_FOLDER WORK_FOLDER [small]
#
# small: 200 points instead of 10,000.
set -euo pipefail

(($# == 3 || $# == 4)) || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1")
FLOWPLAN_CATALOGS=$(realpath "$2")/catalogs
export FLOWPLAN_CATALOGS
rm -rf "$3"
mkdir -p "$3"
cd "$3"
unset SLURM_ARRAY_TASK_ID SLURM_ARRAY_TASK_COUNT JOB_COMPLETION_INDEX JOB_COMPLETION_COUNT

counts=1:20:1 batches=64:3200:64
[[ ${4-} != small ]] || { counts=1:10:1 batches=256:512:256; }
cat >scenario.json <<EOF
{
  "cluster": {"instance": "p5.48xlarge", "count": 8},
  "workload": {"kind": "pretraining", "model": "llama3-8b", "tokens": "1T",
               "recompute": "none", "parallelism": {"tp": 4, "pp": 1}},
  "sweep": {"vary": {"cluster.count": "$counts", "workload.global_batch": "$batches",
                     "workload.micro_batch": [1, 2], "workload.parallelism.tp": [1, 2, 4, 8, 3]}}
}
EOF

# Of a shard all points may be invalid or too large (3, 4): their rows say so.
sweep() {
  "$program" sweep "$@" || (($? == 3 || $? == 4))
}

rows() { # FILE: how many whole lines it has
  if [[ -e $1 ]]; then wc -l <"$1"; else echo 0; fi
}

started=${EPOCHREALTIME/[.,]/}
sweep scenario.json -o jsonl=whole.jsonl >summary.txt
whole_ms=$(((${EPOCHREALTIME/[.,]/} - started) / 1000))
all=$(rows whole.jsonl)

# killed_at ROWS FILE ARGUMENT...: a sweep into FILE that gets kill -9 once ROWS lines stand there.
killed_at() {
  local wanted=$1 file=$2 pid
  "$program" sweep scenario.json -o "jsonl=$file" --resume "${@:3}" >/dev/null &
  pid=$!
  while kill -0 "$pid" 2>/dev/null && (($(rows "$file") < wanted)); do sleep 0.01; done
  kill -9 "$pid" 2>/dev/null || return 0  # it was faster
  wait "$pid" 2>/dev/null || true
  kills=$((kills + 1))
}

kills=0
for part in 1 2 3; do
  killed_at $((all * part / 4)) killed.jsonl
  # Not all kills fall into a row's writing: this is what is left of one that does.
  truncate -s -5 killed.jsonl
done
sweep scenario.json -o jsonl=killed.jsonl --resume >summary-killed.txt
cmp whole.jsonl killed.jsonl
cmp summary.txt summary-killed.txt
[[ $(sed -n 's/^{"point":\([0-9]*\),.*/\1/p' killed.jsonl) == "$(seq 0 $((all - 2)))" ]] ||
  { echo "points are lost or repeated"; exit 1; }
((kills > 0)) || { echo "no sweep was slow enough to be killed"; exit 1; }

for shards in 1 2 7; do
  files=()
  for ((shard = 0; shard < shards; ++shard)); do
    file=part-$shards-$shard.jsonl
    ((shard != shards / 2)) || killed_at $((all / shards / 2)) "$file" --shard "$shard/$shards"
    sweep scenario.json -o "jsonl=$file" --resume --shard "$shard/$shards" >/dev/null
    files+=("$file")
  done
  sweep --merge "${files[@]}" -o jsonl=merged.jsonl >/dev/null
  cmp whole.jsonl merged.jsonl
done
echo "$((all - 1)) points in $whole_ms ms; killed $kills times; alone, resumed and of 1, 2, 7 shards the same bytes"
