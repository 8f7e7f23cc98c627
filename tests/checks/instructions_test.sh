#!/usr/bin/env bash
# What counts of instructions are let through: usage instructions_test.sh SOURCE_FOLDER
set -euo pipefail
compare=$1/tests/bench/instructions.awk
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "instructions_test: $*" && exit 1; }
# Of recorded 1e9 and 4e9, the first measured as $1; prints, and returns the comparison's status.
compared() {
  printf 'first 1000000000\nsecond 4000000000\n' >"$scratch/recorded"
  printf '%s %s\nsecond 4000000000\n' "${2:-first}" "$1" >"$scratch/measured"
  awk -f "$compare" "$scratch/recorded" "$scratch/measured" >"$scratch/table"
}

for same in 1000000000 1029999999 970000001; do
  compared $same || fail "$same is within 3 % of 1e9"
  grep -q "^first .* $same " "$scratch/table" || fail "no row for $same"
done
for beyond in 1030000002 969999998; do
  ! compared $beyond || fail "$beyond is more than 3 % from 1e9"
  grep -q "recorded count: first;" "$scratch/table" || fail "does not name the workload"
done
! compared 1000000000 third || fail "what is not recorded passes"
