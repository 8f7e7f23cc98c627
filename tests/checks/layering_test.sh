#!/usr/bin/env bash
# Plants one include per rule in a tree of its own; the check must refuse each, naming file and line,
# and must accept what the rules allow.
set -euo pipefail
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

plant() {  # file, include
  mkdir -p "$tree/$(dirname "$1")"
  printf '#pragma once\n#include %s\n' "$2" >> "$tree/$1"
}

clear_tree() { rm -rf "${tree:?}"/*; }

expect_refused() {  # file, include
  clear_tree
  plant "$1" "$2"
  local output
  if output=$("$check" "$tree") || [[ $output != "$1:2: error: "* ]]; then
    echo "not refused: $1 including $2"
    failures=$((failures + 1))
  fi
}

expect_accepted() {
  if ! "$check" "$tree"; then
    echo "refused what is allowed: $1"
    failures=$((failures + 1))
  fi
}

expect_refused sim/a.hpp '"topologies/b.hpp"'
expect_refused sim/a.cpp '"strategies/b.hpp"'
expect_refused sim/a.cpp '"b.hpp"'
expect_refused topologies/a.cpp '"strategies/b.hpp"'
expect_refused strategies/a.cpp '"tools/lockstep/b.hpp"'
expect_refused tools/lockstep/a.cpp '"tests/b.hpp"'
expect_refused sim/a.cpp '<boost/graph/adjacency_list.hpp>'
expect_refused strategies/a.cpp '<CLI/CLI.hpp>'
expect_refused strategies/a.cpp '"tools/app/b.hpp"'
expect_refused tools/app/a.cpp '"tools/lockstep/b.hpp"'
expect_refused tools/app/a.cpp '<CLI/CLI.hpp>'
expect_refused topologies/a.hpp '<nlohmann/json.hpp>'
expect_refused tools/lockstep/a.cpp '"tools/python/b.hpp"'
expect_refused tools/lockstep/a.cpp '<pybind11/pybind11.h>'

clear_tree
plant topologies/graph/graph.hpp '<boost/graph/adjacency_list.hpp>'
plant topologies/route.hpp '"topologies/graph/graph.hpp"'
plant topologies/route.cpp '"topologies/route.hpp"'
plant topologies/read.cpp '<nlohmann/json.hpp>'
plant tools/lockstep/main.cpp '<CLI/CLI.hpp>'
plant tools/lockstep/main.cpp '"strategies/b.hpp"'
plant tools/lockstep/main.cpp '"tools/app/b.hpp"'
plant tools/app/a.cpp '"strategies/b.hpp"'
plant tools/app/a.cpp '"tools/app/b.hpp"'
plant tools/python/a.cpp '"tools/lockstep/b.hpp"'
plant tools/python/a.hpp '<pybind11/pybind11.h>'
expect_accepted "each library where it belongs"

plant strategies/a.cpp '"topologies/route.hpp"'
if "$check" "$tree" >/dev/null; then
  echo "not refused: Boost.Graph brought along by a header"
  failures=$((failures + 1))
fi

clear_tree
plant sim/a/x.hpp '"sim/b/y.hpp"'
plant sim/b/y.cpp '"sim/c/z.hpp"'
expect_accepted "folders in a row"
plant sim/c/z.cpp '"sim/a/x.hpp"'
if "$check" "$tree" >/dev/null; then
  echo "not refused: a circle of three folders"
  failures=$((failures + 1))
fi

clear_tree
plant sim/a/low/x.cpp '"sim/b/y.hpp"'
expect_accepted "a folder of a room"
plant sim/b/y.cpp '"sim/a/high/z.hpp"'
if "$check" "$tree" >/dev/null; then
  echo "not refused: a circle of two rooms by different folders"
  failures=$((failures + 1))
fi
exit $((failures > 0))
