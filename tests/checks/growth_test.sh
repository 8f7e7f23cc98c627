#!/usr/bin/env bash
# Growth curves of a few GPUs: the files are whole and have the rows asked for; exponents of known
# curves are theirs. Usage: growth_test.sh SOURCE_FOLDER PROGRAM
set -euo pipefail
source_folder=$1
export LOCKSTEP=$2
for tool in gnuplot /usr/bin/time; do
  command -v "$tool" >/dev/null || { echo "growth_test: no $tool here" && exit 77; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "growth_test: $*" && exit 1; }
expect() { grep -qE -- "$2" "$1" || fail "no \"$2\" in $(basename "$1")"; }

"$source_folder/tools/growth.sh" --largest 32 "$scratch/out" 2>"$scratch/narration"
for curve in ring halving_doubling double_binary_tree hierarchical step-8b ring-late halving_doubling-late; do
  expect "$scratch/out/growth.md" "^\| \`$curve\` \| 2 \| 32 \| [0-9.]+ s \| [0-9.]+ MiB \| -?[0-9.]+ \| -?[0-9.]+ \|$"
  expect "$scratch/out/growth.md" "^## $curve$"
  expect "$scratch/out/growth.svg" "<title>$curve</title>"
  for gpus in 8 32; do expect "$scratch/out/growth.csv" "^$curve,$gpus,[0-9.]+,[0-9]+$"; done
done
[[ $(grep -cE '^\| (8|32) \| [0-9.]+ s \| [0-9.]+ MiB \|$' "$scratch/out/growth.md") == 16 ]] ||
  fail "not two sizes of seven curves and one of the two of a failed NIC, which begin at 16"
for curve in ring-failed halving_doubling-failed; do
  for gpus in 16 32; do expect "$scratch/out/growth.csv" "^$curve,$gpus,[0-9.]+,[0-9]+$"; done
done
! grep -q step-405b "$scratch/out/growth.csv" || fail "a curve that begins beyond the largest size"
[[ $(head -c 5 "$scratch/out/growth.svg") == "<?xml" ]] || fail "no XML"
[[ $(grep -c '</svg>' "$scratch/out/growth.svg") == 1 ]] || fail "the SVG has no end"
[[ $(grep -c '<g id="gnuplot_plot_' "$scratch/out/growth.svg") == 18 ]] || fail "not nine curves, twice"

# Starting takes 1 s up to 32 GPUs and then time is n / 64 s: exponent 1. Memory is 1 MiB times the
# square root of n / 32: exponent 0.5.
cat >"$scratch/known.csv" <<END
curve,gpus,time_s,peak_bytes
known,8,1,1048576
known,32,1,1048576
known,128,2,2097152
known,512,8,4194304
END
awk -f "$source_folder/tools/growth_table.awk" "$scratch/known.csv" >"$scratch/known.md"
expect "$scratch/known.md" '^\| `known` \| 4 \| 512 \| 8.00 s \| 4.0 MiB \| 1.00 \| 0.50 \|$'

# A run that fails ends its curve, and the whole with status 1.
status=0
LOCKSTEP=false "$source_folder/tools/growth.sh" --only ring "$scratch/failed" 2>/dev/null || status=$?
[[ $status == 1 ]] || fail "status $status although every run failed"
