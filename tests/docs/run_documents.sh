#!/usr/bin/env bash
# Runs every `flowplan` command of documents, in order, in a folder of its own for each document.
#
#   run_documents.sh PROGRAM SOURCE_FOLDER WORK_FOLDER DOCUMENT...
#
# Commands are the lines of ```sh blocks that begin with "flowplan" (a trailing \ goes on in the next
# line). A comment "# exit code N" says what the command ends with when it is not 0. A block such as
#   ```json file=fleet.json
# is written to that file first. scenarios/ and tests/ of the source are there, and files that a
# reader would have (scenario.json, all_reduce.log, ...).
#
# Prints one line a document, and what failed. Exit code 1: a command did not do what is written.
set -uo pipefail

(($# >= 4)) || { sed -n '2,13s/^# \{0,1\}//p' "$0" >&2; exit 2; }
program=$(realpath "$1") source=$(realpath "$2")
rm -rf "$3"
mkdir -p "$3/bin"
root=$(realpath "$3")
shift 3
ln -s "$program" "$root/bin/flowplan"
export PATH=$root/bin:$PATH HOME=$root/home FLOWPLAN_CATALOGS=$source/catalogs
unset SLURM_ARRAY_TASK_ID JOB_COMPLETION_INDEX GITHUB_ACTIONS GITHUB_STEP_SUMMARY
mkdir -p "$HOME/.zfunc" "$HOME/.config/fish/completions" "$HOME/.local/share/bash-completion/completions"
slow_s=5 once_s=2
declare -A known=()  # commands that took long and were right, which are not run again

# What a reader of the document has.
prepare() { # FOLDER
  mkdir -p "$1"
  cd "$1" || exit 2
  ln -s "$source/scenarios" "$source/tests" .
  cp "$source/scenarios/pretrain-llama3-70b-p5.json" scenario.json
  cp scenario.json old.json
  sed 's/"tp": 4/"tp": 8/' scenario.json >new.json
  cp "$source/tests/accuracy/logs/all_reduce-p5-4nodes.log" all_reduce.log
  cp "$source/tests/topology/files/ec2.json" topology.json
  cp "$source/tests/docs/nccl-topo.xml" nccl-topo.xml
  cp "$source/tests/replay/files/two-node.0.et" llama.0.et
  cp "$source/tests/replay/files/workload-text.txt" workload.txt
  cp "$source/tests/replay/files/profile.json" rank0.pt.trace.json
  cp "$source/tests/catalog/files/instance-types.json" types.json
  cp "$source"/tests/docs/{train.log,offers.json} .
}

# The document's files and commands, as lines "FILE name", "TEXT line", "RUN line-number command".
extract() {
  awk '
    /^```/ {
      if (inside) { inside = 0; kind = ""; next }
      inside = 1
      kind = ($0 ~ /^```(sh|bash)/) ? "sh" : ""
      if (match($0, /file=[^ ]+/)) { kind = "file"; print "FILE " substr($0, RSTART + 5, RLENGTH - 5) }
      next
    }
    kind == "file" { print "TEXT " $0 }
    kind == "sh" {
      line = $0
      sub(/^\$ /, "", line)
      if (begun != "") { sub(/^ +/, " ", line); line = begun line; begun = "" } else { first = NR }
      if (line ~ /\\$/) { sub(/\\$/, "", line); begun = line; next }
      if (line ~ /^flowplan( |$)/) print "RUN " first " " line
    }
  ' "$1"
}

failed=0
for document in "$@"; do
  started=${EPOCHREALTIME/[.,]/} count=0 wrong=0 slow=''
  folder=$root/$(tr '/' '_' <<<"${document%.md}")
  (prepare "$folder") || exit 2
  cd "$folder" || exit 2
  file=''
  while IFS= read -r line; do
    case $line in
      'FILE '*) file=${line#FILE }; mkdir -p "$(dirname "$file")"; : >"$file" ;;
      'TEXT '*) printf '%s\n' "${line#TEXT }" >>"$file" ;;
      'RUN '*)
        rest=${line#RUN } place=${rest%% *} command=${rest#* } expected=0
        [[ $command =~ exit\ code\ ([0-9]) ]] && expected=${BASH_REMATCH[1]}
        count=$((count + 1))
        [[ -z ${known[$command]-} ]] || continue
        begun=${EPOCHREALTIME/[.,]/}
        bash -o pipefail -c "$command" >out 2>err </dev/null
        code=$?
        took=$(((${EPOCHREALTIME/[.,]/} - begun) / 1000000))
        ((took < once_s || code != expected)) || known[$command]=yes
        ((took < slow_s)) || slow+=$'\n'"  $took s: $command"
        if ((code != expected)); then
          wrong=$((wrong + 1))
          printf '%s:%s: %s\n  exit code %s, not %s\n' "$document" "$place" "$command" "$code" "$expected"
          sed 's/^/    /' err | head -n 12
        fi
        ;;
    esac
  done < <(extract "$source/$document")
  cd "$root" || exit 2
  printf '%s: %s commands, %s wrong, %s s%s\n' "$document" "$count" "$wrong" \
    $(((${EPOCHREALTIME/[.,]/} - started) / 1000000)) "$slow"
  failed=$((failed + wrong))
done
((failed == 0))
