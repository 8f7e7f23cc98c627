#!/usr/bin/env bash
# Fails where a C++ source is not as clang-format lays it out. Exit status 77: no clang-format here.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

command -v clang-format >/dev/null || exit 77
folders=(sim topologies strategies tools tests)

list_sources() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --deduplicate -- "${folders[@]}"
  else
    find "${folders[@]}" -type f -print0
  fi
}

list_sources | grep -zE '\.(cpp|hpp)$' | xargs -0 -r clang-format --dry-run -Werror
