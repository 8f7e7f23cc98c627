#!/usr/bin/env bash
# Writes what the commands in README.md print between the marks that follow them. A test fails while
# they differ. The argument, where given, is the lockstep to run.
set -euo pipefail
lockstep=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")/../build/release/lockstep}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
inside=no
command=
while IFS= read -r line; do
  case $line in
    "    lockstep "*) command=${line#"    lockstep "} ;;
    "<!-- output of the command above: end -->") inside=no ;;
  esac
  [[ $inside == yes ]] || printf '%s\n' "$line"
  if [[ $line == "<!-- output of the command above: begin -->" ]]; then
    inside=yes
    printf '```text\n'
    # shellcheck disable=SC2086  # the command's words
    "$lockstep" $command
    printf '```\n'
  fi
done <README.md >"$fresh"
cat "$fresh" >README.md
