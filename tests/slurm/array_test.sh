#!/usr/bin/env bash
# Runs a sweep as an array job of a real Slurm of one node, started here and ended here, and holds
# the merged rows against those of one process: the same bytes.
#
#   array_test.sh PROGRAM SOURCE_FOLDER WORK_FOLDER
#
# Exit code 77: Slurm is not there or cannot start (the reason is printed); ctest says "skipped".
set -euo pipefail

(($# == 3)) || { sed -n '2,6s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1") source=$(realpath "$2")
rm -rf "$3"
mkdir -p "$3"
work=$(realpath "$3")
cd "$work"
shards=7
patience_s=240

skip() {
  echo "skipped: $1"
  exit 77
}
PATH=$PATH:/usr/sbin
((EUID == 0)) || skip "a Slurm of its own needs root"
for tool in slurmctld slurmd sbatch squeue scontrol munged mungekey; do
  command -v "$tool" >/dev/null && continue
  [[ -z ${FLOWPLAN_REQUIRE_TOOLS-} ]] || { echo "$tool is not installed"; exit 1; }
  skip "$tool is not installed (slurmctld slurmd slurm-client munge)"
done

started=()
end_all() {
  local pid
  for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
}
trap end_all EXIT

start() { # NAME COMMAND...
  "${@:2}" >"$1.out" 2>&1 &
  started+=($!)
}

# until_true SECONDS COMMAND...: whether it succeeds in time.
until_true() {
  local end=$((SECONDS + $1))
  until "${@:2}" >/dev/null 2>&1; do
    ((SECONDS < end)) || return 1
    sleep 0.2
  done
}

free_port() {
  local port
  for port in $(shuf -i 20000-60000 -n 20); do
    (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
  return 1
}

host=$(hostname -s)
mkdir -p munge state spool
chmod 700 munge
mungekey --create --keyfile=munge/key 2>mungekey.out || skip "mungekey: $(<mungekey.out)"
munge_socket=$work/munge/socket
start munged munged --foreground --force --key-file=munge/key --socket="$munge_socket" \
  --pid-file=munge/pid --log-file=munge/log --seed-file=munge/seed
until_true 10 test -S "$munge_socket" || skip "munged did not start: $(tail -n 3 munged.out)"

cat >slurm.conf <<EOF
ClusterName=flowplan-test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$munge_socket
CryptoType=crypto/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=0
ReturnToService=2
MpiDefault=none
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
EOF
echo "CgroupAutomount=no" >cgroup.conf
export SLURM_CONF=$work/slurm.conf
start slurmctld slurmctld -D -f slurm.conf
until_true 20 scontrol ping || skip "slurmctld did not start: $(tail -n 3 slurmctld.log slurmctld.out)"
start slurmd slurmd -D -f slurm.conf -N "$host"
idle() { [[ $(sinfo -h -o %T) == idle ]]; }
until_true 30 idle || skip "slurmd did not start: $(tail -n 3 slurmd.log slurmd.out)"

# The array job as it was exported: `flowplan` is found as users have it, and so is the catalog.
mkdir bin job
ln -s "$program" bin/flowplan
export PATH=$work/bin:$PATH FLOWPLAN_CATALOGS=$source/catalogs
cat >job/scenario.json <<'EOF'
{
  "name": "A sweep on Slurm",
  "cluster": {"instance": "p5.48xlarge", "count": 8},
  "workload": {"kind": "pretraining", "model": "llama3-8b", "tokens": "1T", "global_batch": 512,
               "parallelism": {"tp": 4, "pp": 1}, "recompute": "none"},
  "sweep": {"vary": {"cluster.count": "4:16:x2", "workload.micro_batch": [1, 2],
                     "workload.parallelism.tp": [2, 4, 8]}}
}
EOF
cd job
flowplan export slurm-array scenario.json --shards "$shards" -o sweep.sbatch
flowplan sweep scenario.json -o jsonl=whole.jsonl >/dev/null

array=$(sbatch --parsable --export=ALL sweep.sbatch)
ended() { [[ -z $(squeue -h -j "$array") ]]; }
until_true "$patience_s" ended || {
  squeue
  tail -n 20 ../slurmctld.log
  echo "the array job did not end within $patience_s s"
  exit 1
}
for ((shard = 0; shard < shards; ++shard)); do
  [[ -s rows-$shard.jsonl ]] || {
    echo "shard $shard wrote no rows"
    cat ./*.log
    exit 1
  }
done
flowplan sweep --merge rows-*.jsonl -o jsonl=merged.jsonl >/dev/null
cmp whole.jsonl merged.jsonl

# The job again, after one shard was cut off in the middle of a row: it goes on where it was.
size=$(stat -c %s rows-3.jsonl)
truncate -s $((size * 2 / 3)) rows-3.jsonl
array=$(sbatch --parsable --export=ALL sweep.sbatch)
until_true "$patience_s" ended
flowplan sweep --merge rows-*.jsonl -o jsonl=again.jsonl >/dev/null
cmp whole.jsonl again.jsonl
echo "$(($(wc -l <whole.jsonl) - 1)) points in $shards tasks of a Slurm array: the same bytes, twice"
