#!/usr/bin/env bash
# Reads every #include of the tree (or of the tree given) and fails on one that points the wrong way,
# sim <- topologies <- strategies <- tools/app <- tools/lockstep <- tools/python <- tests, and on folders
# that include each other, one by one or as rooms with all folders inside them. Also keeps Boost.Graph
# inside topologies, CLI11 inside tools/lockstep, pybind11 inside tools/python, and nlohmann out of headers
# (those of tests may have it).
set -euo pipefail
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/..}"

folders=()
for folder in sim topologies strategies tools tests; do
  if [[ -d $folder ]]; then folders+=("$folder"); fi
done

find "${folders[@]}" -type f \( -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) \
  -print0 | sort -z | { xargs -0 -r grep -HnE '^[[:space:]]*#[[:space:]]*include' || true; } | awk '
function complain(why) {
  printf "%s:%s: error: includes %s: %s\n", file, line, target, why
  errors++
}
function folder(path) { sub(/\/[^\/]*$/, "", path); return path }
# A room of a layer with all folders inside it, as sim/network/*.
function whole_room(path,    part, depth) {
  path = folder(path)
  depth = split(path, part, "/")
  if (part[1] == "tools") return part[1] "/" part[2] (depth > 2 ? "/" part[3] : "") "/*"
  return part[1] (depth > 1 ? "/" part[2] : "") "/*"
}
function note_edge(a, b) {
  if (a == b) return
  if (!((a, b) in edge)) why[a, b] = file ":" line
  edge[a, b] = rooms[a] = rooms[b] = 1
}
# Depth first; `state` is 1 while a folder is on the way, 2 once all behind it is done.
function visit(room,    next_room) {
  state[room] = 1
  for (next_room in rooms) {
    if (!((room, next_room) in edge)) continue
    if (state[next_room] == 1) {
      printf "%s: error: the folders %s and %s include each other, directly or through others\n",
             why[room, next_room], room, next_room
      errors++
    }
    if (!state[next_room]) visit(next_room)
  }
  state[room] = 2
}
function top(path) { return substr(path, 1, index(path, "/") - 1) }

BEGIN {
  below["sim"] = " sim "
  below["topologies"] = " sim topologies "
  below["strategies"] = " sim topologies strategies "
  below["tools"] = " sim topologies strategies tools "
  quote = sprintf("%c", 34)
}
{
  split($0, part, ":")
  file = part[1]; line = part[2]
  if (!match($0, /[<"][^>"]+[>"]/)) next
  target = substr($0, RSTART + 1, RLENGTH - 2)
  is_ours = substr($0, RSTART, 1) == quote
  layer = top(file)
  is_header = file ~ /\.(hpp|cuh)$/

  if (is_ours && layer in below && index(below[layer], " " top(target) " ") == 0)
    complain(layer " may include only" below[layer] "by path")
  if (target ~ /^CLI\// && file !~ /^tools\/lockstep\//) complain("CLI11 stays inside tools/lockstep")
  if (is_ours && file ~ /^tools\/app\// && target ~ /^tools\// && target !~ /^tools\/app\//)
    complain("use cases know nothing of the command line")
  if (is_ours && file !~ /^(tools\/python|tests)\// && target ~ /^tools\/python\//)
    complain("nothing below knows of the Python module")
  if (target ~ /^pybind11\// && file !~ /^tools\/python\//)
    complain("pybind11 stays inside tools/python")
  if (target ~ /^nlohmann\// && is_header && layer != "tests") complain("JSON stays in .cpp files")
  if (target ~ /^boost\/(graph|property_map)\// && layer != "topologies")
    complain("Boost.Graph stays inside topologies")

  if (target ~ /^boost\/graph\// && is_header) brings_graph[file] = 1
  if (is_ours) { n++; from[n] = file; at[n] = line; to[n] = target }
  if (is_ours && layer in below) {
    note_edge(folder(file), folder(target))
    note_edge(whole_room(file), whole_room(target))
  }
}
END {
  # A header that includes one with Boost.Graph brings it along.
  do {
    grown = 0
    for (i = 1; i <= n; i++)
      if (to[i] in brings_graph && from[i] ~ /\.hpp$/ && !(from[i] in brings_graph)) {
        brings_graph[from[i]] = 1
        grown = 1
      }
  } while (grown)
  for (i = 1; i <= n; i++)
    if (to[i] in brings_graph && from[i] !~ /^(tests\/)?topologies\//) {
      file = from[i]; line = at[i]; target = to[i]
      complain("it brings Boost.Graph, which stays inside topologies")
    }
  for (room in rooms) if (!state[room]) visit(room)
  exit errors > 0
}'
