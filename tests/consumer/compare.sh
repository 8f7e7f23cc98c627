#!/usr/bin/env bash
# compare.sh EXAMPLES PREFIX SOURCE: every example of the consumer project prints the number that the
# installed command prints for the same question.
set -euo pipefail
examples=$1 lockstep=$2/bin/lockstep source=$3
cd "$(mktemp -d)"
failed=0
compared=" "

# The value of a column in the first row of CSV; fractions may say so in their name.
first() {
  awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name || $i == name "_fraction") column = i }
                        NR > 1 && column && $column != "" && !found { print $column; found = 1 } END { exit !found }'
}
# The value of a key in JSON with one key a line: the first of that name.
member() {
  awk -v key="\"$1\":" '$1 == key { sub(/,$/, "", $2); gsub(/"/, "", $2); print $2; found = 1; exit }
                        END { exit !found }'
}
# same EXAMPLE COMMAND'S [ARGUMENT OF THE EXAMPLE...]: equal as numbers, or as texts
same() {
  local name=$1 wanted=$2 got
  shift 2
  compared+="$name "
  got=$("$examples/$name" "$@" | head -n 1)
  if [[ -n $wanted ]] && awk -v a="$got" -v b="$wanted" 'BEGIN { exit !(a == b) }'; then
    echo "$name: $got"
  else
    echo "$name: the library gives \"$got\", the command \"$wanted\"" >&2
    failed=1
  fi
}

same collective "$("$lockstep" collective all_reduce --cluster dgx-h100 --nodes 2 --algorithm ring \
  --size 64M --format csv | first time_s)"
same crossover "$("$lockstep" collective all_reduce --cluster star --ranks 8 \
  --algorithm one_shot,ring --crossover -b 8 -e 64M --format csv | first size_bytes)"
same step "$("$lockstep" run pipeline-1f1b --set parallel.vpp=1 --format json | member step_time_s)"
same topology "$("$lockstep" topology show --cluster dgx-h100 --nodes 4 --format csv | first bisection_Bps)"
same explain "$("$lockstep" explain all_reduce --algorithm ring --ranks 4 --format json | member simulated_s)"
same complexity "$("$lockstep" complexity all_reduce --algorithms ring --ranks 2..32 --size-large 1M \
  --format csv | first rounds_exponent)"
same verify_collective "$("$lockstep" verify collective all_reduce --algorithm ring --ranks 4,5 \
  --format json | member fingerprint)"
same verify_strategy "$("$lockstep" verify strategy mlp-two-gpus --format csv | first weight_difference)"
same replay "$("$lockstep" replay "$source/tests/data/goal/pair.goal" --cluster star --ranks 2 \
  --format csv | first time_s)" "$source/tests/data/goal/pair.goal"
same validate "$("$lockstep" validate "$source/tests/data/validation/runs.json" --limit 1 \
  --format csv | first error)" "$source/tests/data/validation/runs.json"
same against "$("$lockstep" collective --against "$source/tests/data/nccl_tests/allreduce-2xA100.txt" \
  --format csv | first simulated_s)" "$source/tests/data/nccl_tests/allreduce-2xA100.txt"
same calibrate "$("$lockstep" calibrate --from "$source/tests/data/validation/tables.json" --split \
  --format csv | first median_abs_error)" "$source/tests/data/validation/tables.json"
same plan "$("$lockstep" plan --model llama3-8b --cluster dgx-h100 --nodes 1 --global-batch 16 --vary tp=2,4 \
  --fix pp=1 --fix overlap=none --top 1 --format csv | first step_time_s)"
same sweep "$("$lockstep" sweep pipeline-1f1b --vary micro_batch=2,4 --format csv | first step_time_s)"
same concurrent "$("$lockstep" collective --concurrent "$source/tests/data/concurrent/two-jobs.json" \
  --cluster dgx-h100 --format csv | first together_s)" "$source/tests/data/concurrent/two-jobs.json"
same export "$("$lockstep" schedule export all_reduce --algorithm ring --ranks 4 --size 1M \
  --format goal | wc -l)"

for example in "$source"/tests/consumer/project/examples/*.cpp; do
  name=$(basename "$example" .cpp)
  [[ $compared == *" $name "* ]] || { echo "$name: compared with nothing" >&2; failed=1; }
done
exit "$failed"
