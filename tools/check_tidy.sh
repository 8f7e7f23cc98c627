#!/usr/bin/env bash
# Runs clang-tidy, warnings as errors, on the C++ sources that changed since BASE and on what is not
# committed, the newest first, for as long as the time allows (some ten seconds a file).
#   tools/check_tidy.sh BUILD [BASE]      # BUILD: a build folder with compile_commands.json
# BASE is by default where this branch left origin/main, on origin/main itself the last tag, without a
# tag the commit before. LOCKSTEP_TIDY_SECONDS (240) limits the time in which files are begun.
# Succeeds where nothing changed or there is no history, and says so. Exit status 77: no clang-tidy.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:?usage: tools/check_tidy.sh BUILD [BASE]}
seconds=${LOCKSTEP_TIDY_SECONDS:-240}
cd "$root"

tidy=$(command -v clang-tidy || command -v clang-tidy-14) || { echo "tidy: no clang-tidy here"; exit 77; }
commit() { git rev-parse --verify --quiet "$1^{commit}" 2> /dev/null; }

find_base() {
  local head fork tag
  head=$(commit HEAD) || return 1
  fork=$(git merge-base HEAD origin/main 2>/dev/null) || fork=$head
  if [[ $fork != "$head" ]]; then echo "$fork"; return; fi
  tag=$(git describe --tags --abbrev=0 2>/dev/null) || tag=""
  if [[ -n $tag && $(commit "$tag") != "$head" ]]; then echo "$tag"; return; fi
  commit HEAD~1
}

if [[ -n ${2:-} ]]; then
  base=$2
  commit "$base" > /dev/null || { echo "tidy: no commit $base" >&2; exit 2; }
elif ! base=$(find_base); then
  echo "tidy: no history to compare with; nothing checked"
  exit 0
fi

folders=(sim topologies strategies tools)
mapfile -t changed < <(
  {
    git diff --name-only HEAD -- "${folders[@]}"
    git ls-files --others --exclude-standard -- "${folders[@]}"
    git log --format= --name-only "$base..HEAD" -- "${folders[@]}"
  } | awk '/\.cpp$/ && !seen[$0]++' | while IFS= read -r file; do
    if [[ -f $file ]] && ! git diff --quiet "$base" -- "$file"; then
      echo "$file"
    elif [[ -f $file ]] && ! git ls-files --error-unmatch -- "$file" > /dev/null 2>&1; then
      echo "$file"
    fi
  done)
if [[ ${#changed[@]} -eq 0 ]]; then
  echo "tidy: nothing changed since $base"
  exit 0
fi

# A batch's command serves each of its files; without precompiled headers and what only g++ knows.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -F'"' '
  function entry(file,    at, text) {
    at = index(command, " -c " batch)
    text = at ? substr(command, 1, at + 3) file substr(command, at + 4 + length(batch)) : command
    printf "%s{\"directory\": \"%s\", \"command\": \"%s\", \"file\": \"%s\"}",
           (n++ ? ",\n" : "[\n"), directory, text, file
  }
  /^  "directory"/ { directory = $4 }
  /^  "command"/ { command = $0; sub(/^  "command": "/, "", command); sub(/",?$/, "", command) }
  /^  "file"/ && command !~ /nvcc/ {
    batch = $4
    entry(batch)
    if (batch ~ /\/unity_batch_[0-9]*_cxx\.cxx$/)
      while ((getline line < batch) > 0)
        if (split(line, part, "\"") == 3 && line ~ /^#include/) entry(part[2])
  }
  END { print "\n]" }' "$build/compile_commands.json" |
  sed -E 's/ -Winvalid-pch//; s/ -include [^ ]*cmake_pch\.hxx//;
          s/ -Wno-(maybe-uninitialized|subobject-linkage)//g' > "$work/compile_commands.json"

check_one() {
  [[ $(date +%s) -lt $deadline ]] || return 0
  echo "$1" >> "$work/checked"
  "$tidy" -p "$work" --quiet --warnings-as-errors='*' "$1"
}
export -f check_one
export tidy work
deadline=$(($(date +%s) + seconds))
export deadline
status=0
touch "$work/checked"
printf '%s\0' "${changed[@]}" |
  xargs -0 -n 1 -P "$(nproc)" bash -c 'check_one "$1"' check_one || status=1
echo "tidy: checked $(wc -l < "$work/checked") of ${#changed[@]} files that changed since $base"
exit "$status"
