#!/usr/bin/env bash
# Plants types of one name in a tree of its own; the check must refuse those of one namespace, with
# both places, and accept those of others and of unnamed ones.
set -euo pipefail
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/sim" "$tree/tools"
printf 'namespace lockstep {\nstruct Plan {\n};\n}\n' > "$tree/sim/a.hpp"
printf 'namespace lockstep::cuda {\nstruct Plan {\n};\n}\n' > "$tree/sim/b.hpp"
printf 'namespace lockstep {\nnamespace {\nstruct Plan {\n};\n}  // namespace\n}\n' > "$tree/sim/c.cpp"
printf 'namespace lockstep {\nstruct Plan;\ntemplate <>\nstruct Plan<int> {\n};\n}\n' > "$tree/sim/d.cpp"
"$check" "$tree"

printf 'namespace lockstep {\nclass Plan final : public Base {\n};\n}\n' > "$tree/tools/e.cpp"
if output=$("$check" "$tree"); then
  echo "not refused: two types of one name"
  exit 1
fi
[[ $output == "tools/e.cpp:2: error: lockstep::Plan is also defined in sim/a.hpp:2" ]]

rm "$tree/tools/e.cpp"
mkdir "$tree/tests"
printf 'TEST_CASE("one, two") {}\n' > "$tree/tests/f.cpp"
"$check" "$tree"
printf 'TEST_CASE("one; two") {}\n' > "$tree/tests/f.cpp"
if "$check" "$tree" > /dev/null 2>&1; then
  echo "not refused: a semicolon in the name of a test"
  exit 1
fi
