#!/usr/bin/env bash
# Refuses two types of one name in one namespace: of two such definitions the linker keeps the code
# of one, silently. Looks at what is written at the beginning of lines of C++ and CUDA files.
# Also refuses test cases with a semicolon in their names: CMake cuts the name there, and ctest then
# runs no test and calls that passed.
# tools/check_names.sh [ROOT]; exit code 1 where there are any.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
folders=()
for folder in sim topologies strategies tools; do [[ -d $folder ]] && folders+=("$folder"); done
find "${folders[@]}" -name '*.hpp' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' | sort | xargs awk '
  FNR == 1 { space = ""; hidden = 0 }
  /^namespace \{/ { hidden = 1 }
  /^\}  \/\/ namespace$/ { hidden = 0 }
  /^namespace [a-z_:]+ \{/ { space = $2 }
  !hidden && match($0, /^(struct|class|enum class|enum) [A-Za-z0-9_]+/) {
    name = substr($0, RSTART, RLENGTH)
    sub(/.* /, "", name)
    rest = substr($0, RLENGTH + 1)
    if (rest !~ /^( final)?( :[^:].*)? *\{/ && rest !~ /^( final)? :[^:]/) next
    place = FILENAME ":" FNR
    if ((space, name) in known) {
      print place ": error: " space "::" name " is also defined in " known[space, name]
      bad = 1
    } else {
      known[space, name] = place
    }
  }
  END { exit bad }
' || exit 1
if [[ -d tests ]]; then
  if grep -rnE --include='*.cpp' 'TEST_CASE(_TEMPLATE)?\(\s*"[^"]*;' tests ||
    grep -rn -A1 --include='*.cpp' 'TEST_CASE($' tests | grep -E '^\S+-[0-9]+-\s*"[^"]*;'; then
    echo "error: a semicolon in the name of a test: ctest runs no such test; write a comma" >&2
    exit 1
  fi
fi
