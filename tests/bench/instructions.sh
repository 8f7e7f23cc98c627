#!/usr/bin/env bash
# Counts the instructions of six fixed workloads under callgrind and compares them with
# instructions.txt: a regression shows on a machine too noisy for a stopwatch.
#
#     tests/bench/instructions.sh [--record] PROGRAM
#
# PROGRAM is the command line of a release build; --record writes the counts down instead. Exit
# status: 0; 1 where a count lies more than 3 % from the recorded one or a run fails; 2 for wrong
# usage; 77 without valgrind.
set -euo pipefail
folder="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
recorded=${RECORDED:-$folder/instructions.txt}

record=no
if [[ "${1:-}" == --record ]]; then
  record=yes
  shift
fi
program=${1:?usage: tests/bench/instructions.sh [--record] PROGRAM}
[[ -x "$program" ]] || { echo "instructions: $program is no program" >&2 && exit 2; }
command -v valgrind >/dev/null || { echo "instructions: valgrind is not installed" >&2 && exit 77; }

names=(ring_256_star all_to_all_48_tree ring_16384_folded double_tree_128_gpus double_tree_512_star
  step_4_gpus)
ring_256_star=(collective all_reduce --cluster star --ranks 256 --algorithm ring --fold off)
all_to_all_48_tree=(collective all_to_all --cluster fat-tree --ranks 48 --algorithm direct
  --skew "100 us" --seed 1 --fold off)
ring_16384_folded=(collective all_reduce --cluster rail-optimised --nodes 2048 --algorithm ring)
double_tree_128_gpus=(collective all_reduce --cluster rail-optimised --nodes 16 --algorithm
  double_binary_tree --size 64M)
double_tree_512_star=(collective all_reduce --cluster star --ranks 512 --algorithm
  double_binary_tree --size 64M)
step_4_gpus=(run pipeline-1f1b --fidelity all --fold off --suggest 0)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

count() {  # name: instructions that the workload takes
  local -n arguments=$1
  valgrind --tool=callgrind --callgrind-out-file="$scratch/out" "$program" "${arguments[@]}" \
    >/dev/null 2>"$scratch/errors" || { cat "$scratch/errors" >&2 && return 1; }
  awk '$1 == "summary:" || $1 == "totals:" { print $2; exit }' "$scratch/out"
}

for name in "${names[@]}"; do
  echo "$name $(count "$name")"
done >"$scratch/counts"

if [[ $record == yes ]]; then
  cp "$scratch/counts" "$recorded"
  cat "$recorded"
  exit
fi
awk -f "$folder/instructions.awk" "$recorded" "$scratch/counts"
