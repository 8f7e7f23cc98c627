#!/usr/bin/env bash
# Writes what the main job of tools/run.sh prints into README.md, between its markers. A test fails
# while they differ. The argument, where given, is the lockstep to run.
set -euo pipefail
lockstep=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")/../build/release/lockstep}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
eval "$(sed -n '/^main_job=(/,/)$/p' tools/run.sh)"
{
  echo '```text'
  "$lockstep" "${main_job[@]}"
  echo '```'
} >"$scratch/block"
awk -v block="$scratch/block" '
  /^<!-- output of tools\/run.sh: end -->$/ { inside = 0 }
  !inside { print }
  /^<!-- output of tools\/run.sh: begin -->$/ {
    inside = 1
    while ((getline line < block) > 0) print line
  }' README.md >"$scratch/README.md"
cat "$scratch/README.md" >README.md
