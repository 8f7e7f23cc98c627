# From points (curve,gpus,time_s,peak_bytes) to a gnuplot script that draws time and peak memory
# over GPUs, both on logarithmic scales, as SVG on standard output.
BEGIN { FS = "," }
NR == 1 { next }
!($1 in data) { names[++curves] = $1 }
{ data[$1] = data[$1] sprintf("%d %.6f %.3f\n", $2, $3, $4 / 1048576) }
function panel(title, column,    c) {
  printf "set ylabel '%s'\nplot ", title
  for (c = 1; c <= curves; ++c)
    printf "%s$d%d using 1:%d with linespoints pointtype %d title '%s'", (c == 1 ? "" : ", "), c,
      column, c + 3, names[c]
  print ""
}
END {
  print "set terminal svg size 900,900 dynamic enhanced font 'sans,13' background '#ffffff'"
  for (c = 1; c <= curves; ++c) printf "$d%d << end\n%send\n", c, data[names[c]]
  print "set logscale xy\nset grid\nset key outside right center noenhanced\nset format x '%.0f'"
  print "set xtics 8, 8\nset xlabel 'GPUs'\nset multiplot layout 2,1"
  panel("CPU time, s", 2)
  panel("peak memory, MiB", 3)
  print "unset multiplot"
}
