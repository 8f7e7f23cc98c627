#!/usr/bin/env bash
# Simulates files of measured results and writes what came of it: the tables between the marks of
# configs/validation/README.md, and configs/validation/residuals.json. Then README, docs and notebooks, which print
# intervals. Needs jq and the Python module.
#   tools/refresh_validation.sh FILE...          LOCKSTEP=path names another lockstep
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lockstep=${LOCKSTEP:-$root/build/release/lockstep}
[[ $# -gt 0 ]] || { echo "usage: $0 FILE..." >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$lockstep" validate "$@" --format json --residuals "$root/configs/validation/residuals.json" \
  >"$work/all.json"

readonly functions='
  def f: . * 1000 | round / 10 | tostring | if test("\\.") then . else . + ".0" end;
  def s: if . >= 0 then "+" + f else f end;
  def part: if .count > 0 then "\(.count): \(.median_fraction | f)" else "" end;
  def line: "| " + (map(tostring) | join(" | ")) + " |";'

step_times() {
  echo "| group | rows | median | mean | p90 | worst | bias | printed rows: median | assumed rows: median | flat utilization | its median | its p90 |"
  echo "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
  jq -r "$functions"'
    (.groups[] | select(.quantity == "step_time") |
     [.group, .all.count, (.all.median_fraction | f), (.all.mean_fraction | f), (.all.p90_fraction | f), (.all.worst_fraction | f),
      (.all.bias_fraction | s), (.printed | part), (.assumed | part), (.flat_utilisation.peak_fraction | f),
      (.flat_utilisation.errors.median_fraction | f), (.flat_utilisation.errors.p90_fraction | f)] | line),
    (.overall[] | select(.quantity == "step_time") |
     ["**mean of the groups**", .all.count, "**\(.all.median_fraction | f)**", (.all.mean_fraction | f),
      "**\(.all.p90_fraction | f)**", (.all.worst_fraction | f), (.all.bias_fraction | s), (.printed.median_fraction | f),
      (.assumed.median_fraction | f), "", (.flat_utilisation.median_fraction | f), (.flat_utilisation.p90_fraction | f)] |
     line)' "$work/all.json"
}

everything() {
  echo "| quantity | groups | rows | median | mean | p90 | worst | bias |"
  echo "|---|---:|---:|---:|---:|---:|---:|---:|"
  jq -r "$functions"'.overall[] |
    [.quantity, .groups, .all.count, (.all.median_fraction | f), (.all.mean_fraction | f), (.all.p90_fraction | f),
     (.all.worst_fraction | f), (.all.bias_fraction | s)] | line' "$work/all.json"
}

collectives() {
  echo "| table | points | median | mean | p90 | worst | bias |"
  echo "|---|---:|---:|---:|---:|---:|---:|"
  jq -r "$functions"'.groups[] | select(.quantity | . == "collective_time" or . == "bus_bandwidth") |
    [.group, .all.count, (.all.median_fraction | f), (.all.mean_fraction | f), (.all.p90_fraction | f), (.all.worst_fraction | f),
     (.all.bias_fraction | s)] | line' "$work/all.json"
}

ranking() {
  echo "| group | sets | rows | Kendall's tau | cost of the pick | worst |"
  echo "|---|---:|---:|---:|---:|---:|"
  jq -r "$functions"'.groups[] | select(.ranking) |
    [.group, .ranking.sets, .ranking.rows, (.ranking.kendall_tau * 100 | round / 100),
     (.ranking.regret_fraction | f), (.ranking.worst_regret_fraction | f)] | line' "$work/all.json"
}

coverage() {
  echo "| group | runs | inside | share |"
  echo "|---|---:|---:|---:|"
  jq -r "$functions"'.coverage[] | [.group, .runs, .inside, (.inside_fraction * 100 | round)] | line' \
    "$work/all.json"
}

readme=$root/configs/validation/README.md
skip=no
while IFS= read -r text; do
  [[ $text == "<!-- end of the table -->" ]] && skip=no
  [[ $skip == yes ]] || printf '%s\n' "$text"
  if [[ $text =~ ^'<!-- table: '(.*)' -->'$ ]]; then
    skip=yes
    "${BASH_REMATCH[1]}"
  fi
done <"$readme" >"$work/README.md"
cat "$work/README.md" >"$readme"

# Intervals follow the residuals; README and the notebooks print some.
"$root/tools/refresh_readme.sh" "$lockstep"
"$root/tools/refresh_notebooks.sh"
