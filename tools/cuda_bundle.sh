#!/usr/bin/env bash
# Makes a folder that can be carried to a machine with GPUs that has a driver and nothing else: the
# command, its CUDA backend with the CUDA runtime libraries that it needs, the configs, the tests that
# need a GPU, and a script that calibrates the box, compares and checks.
#
#   tools/cuda_bundle.sh DIR          # builds first; DIR must not exist
#   tools/cuda_bundle.sh DIR --no-libraries   # leaves CUDA's libraries out: about 0.8 GB less
#
# On the GPU machine (Debian 12, or as new a glibc):
#
#   DIR/run.sh NAME                   # calibrates, compares, checks the numbers: a few minutes
#
# which writes DIR/results/NAME.json (for configs/calibration and `lockstep run --calibration`),
# DIR/results/NAME.txt, the table of measured beside simulated, and DIR/results/NAME.log, the checks of
# numbers.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${1:-}
libraries=${2:-}
if [[ $folder == -h || $folder == --help ]]; then
  sed -n "2,/^set /{s/^# \{0,1\}//p}" "$0"
  exit 0
fi
if [[ -z $folder || $folder == -* || ( -n $libraries && $libraries != --no-libraries ) ]]; then
  echo "usage: tools/cuda_bundle.sh DIR [--no-libraries]" >&2
  exit 2
fi
if [[ -e $folder ]]; then
  echo "tools/cuda_bundle.sh: $folder exists already" >&2
  exit 2
fi
build=${LOCKSTEP_BUILD:-$root/build/release}
if [[ ! -f $build/CMakeCache.txt ]]; then
  cmake -S "$root" --preset release
fi
cmake --build "$build" --target lockstep lockstep_cuda tests_cuda > /dev/null || {
  echo "tools/cuda_bundle.sh: no backend was built; it takes a CUDA toolkit with cuBLAS and NCCL" >&2
  exit 1
}

mkdir -p "$folder/lib" "$folder/results"
cp "$build/lockstep" "$build/liblockstep_cuda.so" "$folder/"
cp "$build/tests/strategies/tests_cuda" "$folder/"
cp -r "$root/configs" "$folder/configs"

# Debian's libraries, except those of the compiler and of C, which every machine has; CUDA's own are
# large but nothing else is needed then.
needed() { ldd "$1" | awk '$3 ~ /^\// {print $3}'; }
of_the_system='/(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)\.so'
for program in lockstep tests_cuda; do
  for library in $(needed "$folder/$program" | grep -vE "$of_the_system"); do
    cp -L "$library" "$folder/lib/"
  done
done
if [[ $libraries != --no-libraries ]]; then
  for library in $(needed "$folder/liblockstep_cuda.so" | grep -E 'libcublas|libnccl|libcudart|libfmt'); do
    cp -L "$library" "$folder/lib/"
  done
fi

cat > "$folder/run.sh" <<'RUN'
#!/usr/bin/env bash
# Calibrates this machine's GPUs, holds the simulator against them, checks numbers on them: every
# kernel, algorithm and shipped scenario, with several GPUs also by NCCL.
#   run.sh NAME [further options of `lockstep calibrate`, such as --devices 1]
# Exit code 1 where there is no GPU, or where some numbers are wrong: results/NAME.log says which.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n "2,/^set /{s/^# \{0,1\}//p}" "$0"
  exit 0
fi
if [[ $# -eq 0 || $1 == -* ]]; then
  echo "usage: run.sh NAME [options of lockstep calibrate], NAME such as h200" >&2
  exit 2
fi
name=$1
shift
export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export LOCKSTEP_CUDA_LIBRARY="$here/liblockstep_cuda.so"
export LOCKSTEP_CONFIGS="$here/configs"
cd "$here"
mkdir -p results
log=results/$name.log
: > "$log"
./lockstep verify collective all_reduce -n 2 --backend cuda >> "$log"  # whether there is a GPU
./lockstep calibrate --backend cuda --output "results/$name.json" --compare "$@" \
  | tee "results/$name.txt"
failed=0
check() {
  echo "== lockstep $*" | tee -a "$log" >&2
  ./lockstep "$@" --backend cuda >> "$log" 2>&1 && return
  echo "failed: lockstep $* --backend cuda" >&2
  failed=1
}
echo "== tests_cuda: every kernel, algorithm and scenario" | tee -a "$log" >&2
if ! ./tests_cuda >> "$log" 2>&1; then
  echo "failed: tests_cuda" >&2
  failed=1
fi
check verify collective all -n 2..8
check verify strategy data-parallel-from-scratch
if [[ $(nvidia-smi -L 2> /dev/null | wc -l) -gt 1 ]]; then
  check verify collective all -n 2..8 --transport nccl
  check verify strategy data-parallel-from-scratch --transport nccl
fi
echo "figures: $here/results/$name.json; table: $here/results/$name.txt; checks: $here/$log" >&2
exit $failed
RUN
chmod +x "$folder/run.sh"
du -sh "$folder" | cut -f1 | xargs -I{} echo "$folder: {}; carry it to the GPU machine and run run.sh NAME there"
