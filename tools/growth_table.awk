# From points (curve,gpus,time_s,peak_bytes) to a Markdown table per curve, with the exponents a of
# time ~ gpus^a and memory ~ gpus^a: least squares of the logarithms over the larger half of each
# curve's sizes, since starting the program costs more than small ones do.
BEGIN {
  FS = ","
  print "# Growth curves\n"
  print "CPU time and peak memory of one process a row, topology building included. Exponents are"
  print "fitted over the larger half of a curve's sizes.\n"
}
NR == 1 { next }
!($1 in count) { names[++curves] = $1 }
{
  i = ++count[$1]
  gpus[$1, i] = $2
  time[$1, i] = $3
  bytes[$1, i] = $4
}
function exponent(curve, y,    i, n, x, v, sx, sy, sxx, sxy) {
  for (i = int(count[curve] / 2) + (count[curve] < 3 ? 0 : 1); i <= count[curve]; ++i) {
    if (i < 1) continue
    x = log(gpus[curve, i])
    v = log(y[curve, i])
    ++n
    sx += x
    sy += v
    sxx += x * x
    sxy += x * v
  }
  if (n < 2) return "-"
  return sprintf("%.2f", (n * sxy - sx * sy) / (n * sxx - sx * sx))
}
END {
  print "| curve | sizes | largest | time | peak memory | exponent of time | of memory |"
  print "|---|---:|---:|---:|---:|---:|---:|"
  for (c = 1; c <= curves; ++c) {
    k = names[c]
    last = count[k]
    printf "| `%s` | %d | %d | %.2f s | %.1f MiB | %s | %s |\n", k, last, gpus[k, last],
      time[k, last], bytes[k, last] / 1048576, exponent(k, time), exponent(k, bytes)
  }
  for (c = 1; c <= curves; ++c) {
    k = names[c]
    printf "\n## %s\n\n| GPUs | time | peak memory |\n|---:|---:|---:|\n", k
    for (i = 1; i <= count[k]; ++i)
      printf "| %d | %.2f s | %.1f MiB |\n", gpus[k, i], time[k, i], bytes[k, i] / 1048576
  }
}
