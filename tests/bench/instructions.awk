# Compares lines "name count": recorded ones (first file) with measured ones (second file). Prints a
# table; exit status 1, naming the workloads, where one differs by more than 3 % or is not recorded.
NR == FNR { recorded[$1] = $2; next }
FNR == 1 { printf "%-20s %15s %15s %9s\n", "workload", "recorded", "instructions", "change" }
{
  if (!($1 in recorded)) {
    printf "%-20s %15s %15.0f %9s\n", $1, "-", $2, "-"
    beyond = beyond " " $1
    next
  }
  change = ($2 - recorded[$1]) / recorded[$1] * 100
  printf "%-20s %15.0f %15.0f %+7.2f %%\n", $1, recorded[$1], $2, change
  if (change > 3 || change < -3) beyond = beyond " " $1
}
END {
  if (beyond == "") exit 0
  printf "instructions: more than 3 %% from the recorded count:%s; --record accepts it\n", beyond
  exit 1
}
