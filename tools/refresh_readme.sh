#!/usr/bin/env bash
# Writes what the commands in README.md and docs print between the marks that follow them:
#   <!-- output of the command above: begin -->            all of it
#   <!-- first 20 lines of the output of the command above: begin -->
#   <!-- output of the command above: end -->
# A test fails while they differ. The argument, if any, is the lockstep to run.
set -euo pipefail
lockstep=$(realpath "${1:-$(dirname "${BASH_SOURCE[0]}")/../build/release/lockstep}")
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT

refresh() {
  local inside=no command= line lines
  while IFS= read -r line; do
    case $line in
      "    lockstep "*) command=${line#"    lockstep "} ;;
      "<!-- output of the command above: end -->") inside=no ;;
    esac
    [[ $inside == yes ]] || printf '%s\n' "$line"
    if [[ $line =~ ^"<!-- "(first ([0-9]+) lines of the )?"output of the command above: begin -->"$ ]]; then
      inside=yes
      lines=${BASH_REMATCH[2]}
      printf '```text\n'
      # The command's words, quotes included, as a user types them.
      eval "\"\$lockstep\" $command" | if [[ -n $lines ]]; then sed -n "1,${lines}p"; else cat; fi
      printf '```\n'
    fi
  done <"$1" >"$fresh"
  cat "$fresh" >"$1"
}

while IFS= read -r -d '' file; do refresh "$file"; done < <(find README.md docs -name '*.md' -print0 | sort -z)
