#!/usr/bin/env bash
# Runs clang-tidy, warnings as errors, on the C++ sources that changed since BASE (default: the commit
# before this one, and what is not committed). At most 24 of them, evenly chosen: it takes some ten
# seconds each.
#   tools/check_tidy.sh BUILD [BASE]      # BUILD: a build folder with compile_commands.json
# Exit status 77: no clang-tidy, no history or nothing changed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${1:?usage: tools/check_tidy.sh BUILD [BASE]}
base=${2:-HEAD~1}
cd "$root"

tidy=$(command -v clang-tidy || command -v clang-tidy-14) || exit 77
git rev-parse --verify --quiet "$base" >/dev/null || exit 77
mapfile -t changed < <(git diff --name-only --diff-filter=AM "$base" -- sim topologies strategies tools |
  grep -E '\.cpp$' || true)
[[ ${#changed[@]} -gt 0 ]] || exit 77

most=24
files=()
for ((i = 0; i < ${#changed[@]} && i < most; ++i)); do
  if ((${#changed[@]} > most)); then
    files+=("${changed[i * ${#changed[@]} / most]}")
  else
    files+=("${changed[i]}")
  fi
done
((${#changed[@]} > most)) && echo "tidy: $most of ${#changed[@]} changed files" >&2

# Without the precompiled headers and the warning option that only g++ knows.
commands=$(mktemp -d)
trap 'rm -rf "$commands"' EXIT
sed -E 's/ -Winvalid-pch//; s/ -include [^ ]*cmake_pch\.hxx//;
        s/ -Wno-maybe-uninitialized//' "$build/compile_commands.json" \
  > "$commands/compile_commands.json"
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" "$tidy" -p "$commands" --quiet --warnings-as-errors='*'
