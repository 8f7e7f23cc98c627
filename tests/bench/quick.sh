#!/usr/bin/env bash
# What users type and should not have to wait for: user CPU time and peak memory of each command, of
# three runs the fastest. tests/bench/quick.sh PROGRAM [WORD]: only those that contain WORD.
set -euo pipefail
program=${1:?usage: tests/bench/quick.sh PROGRAM [WORD]}
word=${2:-}
commands=(
  "collective broadcast --cluster star --ranks 65536 --algorithm chain:chunks=1"
  "collective reduce --cluster star --ranks 65536 --algorithm chain:chunks=1"
  "collective all_reduce --cluster star --ranks 4096 --algorithm direct"
  "collective all_reduce --cluster star --ranks 65536 --algorithm one_shot"
  "collective all_to_all --cluster star --ranks 4096 --algorithm pairwise"
  "collective all_to_all --cluster star --ranks 16384 --algorithm bruck"
  "collective all_gather --cluster star --ranks 16384 --algorithm neighbour_exchange"
  "collective all_reduce --cluster star --ranks 262144 --algorithm naive"
  "collective all_reduce --cluster star --ranks 2048 --algorithm torus"
  "collective all_reduce --cluster rail-optimised --nodes 512 --algorithm double_binary_tree --size 1G"
  "topology show --cluster rail-optimised --nodes 65536"
  "verify collective all_reduce --ranks 512"
  "complexity all_reduce --ranks 2..4096"
  "run gpt3-a100-memory --set model.layers=10000"  # does not fit: refused, with exit code 1
)
measured=$(mktemp)
errors=$(mktemp)
trap 'rm -f "$measured" "$errors"' EXIT
printf '| command | user CPU (s) | memory (MB) |\n|---|---:|---:|\n'
for command in "${commands[@]}"; do
  [[ $command == *"$word"* ]] || continue
  read -ra arguments <<<"$command"
  for _ in 1 2 3; do
    /usr/bin/time -q -o "$measured" -a -f '%U %M' "$program" "${arguments[@]}" >/dev/null 2>"$errors" || [[ $? == 1 ]] || {
      printf 'failed: %s %s\n%s\n' "$program" "$command" "$(<"$errors")" >&2
      exit 1
    }
  done
  sort -n "$measured" | awk -v command="$command" \
    'NR == 1 { printf "| `%s` | %.2f | %.0f |\n", command, $1, $2 / 1024 }'
  : >"$measured"
done
