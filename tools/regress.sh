#!/usr/bin/env bash
# Compares the answers of two revisions: every shipped scenario with its variants, every shipped space
# of layouts and every row of measured data. Run it before a change of cost models is merged.
#   tools/regress.sh REV [OTHER] [-- MEASURED.json ...]     # OTHER: by default the working tree
# Prints which times and memory changed by more than 1e-4, and which points went from answered to refused
# or back. Exit status 1: something that REV answers is refused by OTHER; 2: wrong usage.
# Each revision is built in build/regress (kept, so that it is built once) and reads its own configs;
# measured data are those of REV's tests, or the files named. LOCKSTEP_REGRESS_BUDGET (20) is the number of
# layouts that are simulated of each space, `none` leaves spaces out. Takes minutes, and the time to build REV.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
usage() { sed -n '4s/^# *//p' "$0" >&2; exit 2; }

revisions=()
measured=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --) shift; measured=("$@"); break ;;
    -*) usage ;;
    *) revisions+=("$1"); shift ;;
  esac
done
[[ ${#revisions[@]} -ge 1 && ${#revisions[@]} -le 2 ]] || usage
for i in "${!measured[@]}"; do
  [[ -r ${measured[i]} ]] || { echo "regress: cannot read ${measured[i]}" >&2; exit 2; }
  measured[i]=$(realpath "${measured[i]}")
done
budget=${LOCKSTEP_REGRESS_BUDGET:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build_revision REV: prints the folder of its sources; empty REV: the working tree.
build_revision() {
  local tree=$root options=() sha
  if [[ -n $1 ]]; then
    sha=$(git rev-parse --verify --quiet "$1^{commit}") || { echo "regress: no revision $1" >&2; exit 2; }
    tree=$root/build/regress/$sha
    [[ -e $tree/CMakeLists.txt ]] || { git worktree prune; git worktree add --quiet --detach "$tree" "$sha" >&2; }
  fi
  [[ -e $tree/build/release/CMakeCache.txt ]] || options=(-DLOCKSTEP_TESTS=OFF -DLOCKSTEP_BENCHES=OFF)
  (cd "$tree" && cmake --preset release "${options[@]}" && cmake --build --preset release --target lockstep) \
    > "$work/build.log" 2>&1 || { tail -20 "$work/build.log" >&2; echo "regress: $tree does not build" >&2; exit 2; }
  echo "$tree"
}

# columns KEY,... VALUE,...: of CSV with a header: "name TAB value of each", by quoted fields too.
columns() {
  awk -v keys="$1" -v values="$2" -v kind="$3" '
    function split_csv(line, out,    n, i, c, quoted, field) {
      n = 0; field = ""; quoted = 0
      for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) { out[++n] = field; field = "" }
        else field = field c
      }
      out[++n] = field
      return n
    }
    { sub(/\r$/, "") }
    NR == 1 {
      n = split_csv($0, head)
      for (i = 1; i <= n; i++) at[head[i]] = i
      nk = split(keys, k, ","); nv = split(values, v, ",")
      next
    }
    {
      split_csv($0, field)
      name = kind
      for (i = 1; i <= nk; i++) if (k[i] in at && field[at[k[i]]] != "") name = name " " field[at[k[i]]]
      for (i = 1; i <= nv; i++) if (v[i] in at) print name " " v[i] "\t" field[at[v[i]]]
    }'
}

# answers TREE: a line for each answer, "name TAB value"; without a value: refused.
answers() {
  local lockstep=$1/build/release/lockstep file name
  cd "$1"
  for file in configs/scenarios/*.json; do
    name=$(basename "$file" .json)
    "$lockstep" run "$file" --format csv 2> /dev/null > "$work/out" || true
    if [[ -s $work/out ]]; then
      columns variant step_time_s,peak_memory_bytes "scenario $name" < "$work/out"
    else
      printf 'scenario %s step_time_s\t\n' "$name"
    fi
  done
  if [[ $budget != none ]]; then
    for file in configs/spaces/*.json; do
      name=$(basename "$file" .json)
      "$lockstep" plan --space "$file" --top 1 --budget "$budget" --format csv 2> /dev/null |
        head -2 > "$work/out" || true
      if [[ -s $work/out ]]; then
        columns "" step_time_s "space $name" < "$work/out"
      else
        printf 'space %s step_time_s\t\n' "$name"
      fi
    done
  fi
  "$lockstep" validate "${measured[@]}" --rows --format csv 2> /dev/null |
    columns id,quantity simulated row || true
}

first=$(build_revision "${revisions[0]}")
second=$(build_revision "${revisions[1]:-}")
if [[ ${#measured[@]} -eq 0 ]]; then measured=("$first"/tests/data/validation/*.json); fi
(answers "$first") > "$work/first"
(answers "$second") > "$work/second"

awk -F'\t' -v first="${revisions[0]}" -v second="${revisions[1]:-the working tree}" '
  function refused(value) { return value == "" }
  # Rows of equal names are told apart by their number.
  function numbered(name, count) { return count > 1 ? name " #" count : name }
  FNR == NR { before[numbered($1, ++seen[$1])] = $2; next }
  {
    name = numbered($1, ++met[$1])
    after[name] = $2
    if (!(name in before)) { added++; next }
    total++
    a = before[name]; b = $2
    if (refused(a) && refused(b)) next
    if (refused(b)) { print "refused now: " name " (was " a ")"; worse++; next }
    if (refused(a)) { print "answered now: " name " = " b; better++; next }
    difference = a == 0 ? (b == 0 ? 0 : 1) : b / a - 1
    if (difference > 1e-4 || difference < -1e-4) {
      printf "changed by %+.3f %%: %s, %s to %s\n", 100 * difference, name, a, b
      changed++
    }
  }
  END {
    for (name in before) if (!(name in after)) {
      if (refused(before[name])) continue
      print "gone: " name " (was " before[name] ")"; worse++
    }
    printf "%s against %s: %d answers, %d changed, %d refused or gone, %d answered now, %d new\n",
           second, first, total, changed, worse, better, added
    exit worse > 0 ? 1 : 0
  }' "$work/first" "$work/second"
