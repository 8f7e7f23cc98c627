#!/usr/bin/env bash
# Random folds against unfolded runs, to the picosecond: training steps of every strategy, collectives,
# double binary trees, collectives at once, and replayed streams, with stragglers that stay or come and
# go, slow and failed links, late ranks and uneven placements.
#
#     tools/random_folds.sh [CASES] [SEED]
#
# CASES: of every kind (1,500: more than 20,000 cases in all; collectives with several algorithms draw
# them for every algorithm, and what does not go together is left out). SEED: added to the seeds of the
# fast tests (0: the same first cases). Prints how many cases of each kind were compared, how many
# folded (fewer classes than ranks, or rows of ranks advanced one by one) and how many differed.
#
# LOCKSTEP_BUILD names the build folder; where it is not set, the release preset is built.
# LOCKSTEP_FOLD_ONLY=PATTERN: only tests whose file matches, such as '*rank_fold_test.cpp'.
# Exit status: 0, or 1 where a case differed or a test failed otherwise.
set -uo pipefail
source_folder="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
[[ ${1:-} != --help ]] || { sed -n '2,/^set /{/^set /d;s/^# \?//;p}' "$0" && exit 0; }
export LOCKSTEP_FOLD_CASES=${1:-1500}
export LOCKSTEP_FOLD_SEED=${2:-0}
for number in "$LOCKSTEP_FOLD_CASES" "$LOCKSTEP_FOLD_SEED"; do
  [[ $number =~ ^[0-9]+$ ]] || { echo "random_folds: no number: $number; see the head of $0" >&2 && exit 2; }
done
if [[ -z "${LOCKSTEP_BUILD:-}" ]]; then
  (cd "$source_folder" && cmake --preset release &&
    cmake --build --preset release --target tests_strategies tests_step_fold tests_sim) >&2 || exit 1
  LOCKSTEP_BUILD=$source_folder/build/release
fi
files=('*/stream_fold_test.cpp' '*/collectives/fold/fold_test.cpp' '*/rank_fold_test.cpp' '*/concurrent_fold_test.cpp'
  '*/double_binary_tree_fold_test.cpp' '*/stream_collectives_fold_test.cpp' '*/fold_random_test.cpp')
log=$(mktemp) && lines=$(mktemp) && trap 'rm -f "$log" "$lines"' EXIT
failed=0
for file in "${files[@]}"; do
  # shellcheck disable=SC2053
  [[ -z "${LOCKSTEP_FOLD_ONLY:-}" || $file == $LOCKSTEP_FOLD_ONLY ]] || continue
  case $file in
    */stream_fold_test.cpp) program=sim/tests_sim ;;
    */fold_random_test.cpp) program=strategies/tests_step_fold ;;
    *) program=strategies/tests_strategies ;;
  esac
  if ! "$LOCKSTEP_BUILD/tests/$program" --source-file="$file" --no-colors=true >"$log" 2>&1; then
    failed=1
    grep -vE 'MESSAGE|folds:' "$log" | head -60 >&2
  fi
  grep -oE 'folds: .*' "$log" | tee -a "$lines" >&2
done
awk 'BEGIN { printf "%-42s %8s %8s %8s\n", "kind", "cases", "folded", "differ" }
  { split(substr($0, 8), part, ": ")
    split(part[2], words, /[ ,]+/)
    printf "%-42s %8d %8d %8d\n", part[1], words[1], words[3], words[5]
    cases += words[1]; folded += words[3]; differ += words[5] }
  END { printf "%-42s %8d %8d %8d\n", "all", cases, folded, differ
        exit cases == 0 || differ > 0 }' "$lines" || failed=1
exit $failed
