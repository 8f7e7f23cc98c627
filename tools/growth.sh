#!/usr/bin/env bash
# Growth curves: runs folded collectives and training steps for growing numbers of GPUs, each in a
# process of its own, and writes their CPU time and peak memory, with exponents fitted on logarithmic
# scales, to growth.md and growth.svg in a folder (build/growth).
#
#     tools/growth.sh [--largest GPUS] [--only CURVE] [--limit SECONDS] [FOLDER]
#
# LOCKSTEP names the program; where it is not set, the release preset is built. A run beyond the
# limit ends its curve. Exit status: 0, or 1 where a run failed otherwise.
set -euo pipefail
source_folder="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"

largest=1048576
only=
limit=600
folder=$source_folder/build/growth
while [[ $# -gt 0 ]]; do
  case $1 in
    --largest) largest=${2:?} && shift 2 ;;
    --only) only=${2:?} && shift 2 ;;
    --limit) limit=${2:?} && shift 2 ;;
    --help) sed -n '2,/^set /{/^set /d;s/^# \?//;p}' "$0" && exit 0 ;;
    -*) echo "growth: no option $1; see the head of $0" >&2 && exit 2 ;;
    *) folder=$1 && shift ;;
  esac
done
if [[ -z "${LOCKSTEP:-}" ]]; then
  (cd "$source_folder" && cmake --preset release && cmake --build --preset release --target lockstep) >&2
  LOCKSTEP=$source_folder/build/release/lockstep
fi
mkdir -p "$folder"

# name, fewest GPUs, most
curves=(
  "ring 8 1048576"
  "halving_doubling 8 131072"
  "double_binary_tree 8 131072"
  "hierarchical 8 131072"
  "step-8b 8 16384"
  "step-405b 128 16384"
  "ring-late 8 1048576"
  "ring-failed 16 1048576"
  "halving_doubling-late 8 131072"
  "halving_doubling-failed 16 65536"
  "step-405b-slow 128 16384"
  "step-405b-slow-1% 128 16384"
  "step-405b-failed 128 16384"
)

# Sets `command`: 64 MiB all-reduced, by double binary trees in 8 chunks a tree; or a step of Llama 3 with tp 8, of the 8B model without
# pipeline, of the 405B one with pp 16, the rest of the GPUs data parallel. Not all equal: "late", rank 3
# begins 10 us later; "slow", rank 17 at 0.8 of its speed; "slow-1%", one rank of a hundred at 0.95; "failed",
# a NIC of node 1. Then a step simulates every rank.
choose_command() {  # curve, GPUs
  local nodes=$(($2 / 8))
  local base=$1 difference=()
  case $1 in
    *-late) difference=(--set-rank 3 "start=10 us") ;;
    *-slow) difference=(--set-rank 17 compute=0.8 --fidelity all) ;;
    *-slow-1%) difference=(--set-rank random:1% compute=0.95 --fidelity all) ;;
    step-*-failed) difference=(--fail node1/nic1 --fidelity all) ;;
    *-failed) difference=(--fail node1/nic1) ;;
  esac
  for suffix in -late -slow -slow-1% -failed; do base=${base%"$suffix"}; done
  local algorithm=$base
  [[ $base != double_binary_tree ]] || algorithm+=:chunks=8
  command=("$LOCKSTEP")
  case $base in
    step-8b)
      command+=(run llama3-405b-16k-h100 --set model=llama3-8b --set parallel.pp=1
        --set parallel.vpp=1 --set parallel.schedule=none --set parallel.short_edges=false
        --set parallel.dp=$nodes --set parallel.global_batch=$((16 * nodes))
        --set cluster.nodes=$nodes --ignore-memory) ;;
    step-405b)
      command+=(run llama3-405b-16k-h100 --set parallel.dp=$((nodes / 16))
        --set parallel.global_batch=$nodes --set cluster.nodes=$nodes --ignore-memory) ;;
    *)
      command+=(collective all_reduce --cluster rail-optimised --nodes $nodes --algorithm "$algorithm"
        --minbytes 64M --maxbytes 64M) ;;
  esac
  command+=("${difference[@]}")
}

# Prints seconds of CPU time and KiB of the process.
measured() {  # curve, GPUs
  local command status=0
  choose_command "$1" "$2"
  /usr/bin/time --quiet -f "%U %S %M" -o "$folder/peak.tmp" timeout "$limit" "${command[@]}" \
    >/dev/null 2>"$folder/errors.tmp" || status=$?
  tail -n 1 "$folder/peak.tmp" | awk '{ print $1 + $2, $3 }'
  return "$status"
}

points=$folder/growth.csv
echo "curve,gpus,time_s,peak_bytes" >"$points"
status=0
for curve in "${curves[@]}"; do
  read -r name gpus most <<<"$curve"
  [[ -z "$only" || "$only" == "$name" ]] || continue
  ((most <= largest)) || most=$largest
  while ((gpus <= most)); do
    failed=0
    figures=$(measured "$name" "$gpus") || failed=$?
    if ((failed != 0)); then
      echo "growth: $name on $gpus GPUs ended with status $failed" >&2
      ((failed == 124)) || { head -n 3 "$folder/errors.tmp" >&2 && status=1; }
      break
    fi
    read -r seconds kib <<<"$figures"
    awk -v n="$name" -v g="$gpus" -v t="$seconds" -v k="$kib" \
      'BEGIN { printf "%s,%d,%.2f,%.0f\n", n, g, (t > 0.01 ? t : 0.01), k * 1024 }' | tee -a "$points" >&2
    ((gpus < most)) || break
    gpus=$((4 * gpus < most ? 4 * gpus : most))
  done
done
rm -f "$folder/errors.tmp" "$folder/peak.tmp"

awk -f "$source_folder/tools/growth_table.awk" "$points" >"$folder/growth.md"
awk -f "$source_folder/tools/growth_plot.awk" "$points" |
  gnuplot --default-settings >"$folder/growth.svg"
echo "growth: wrote $folder/growth.md and $folder/growth.svg" >&2
exit "$status"
