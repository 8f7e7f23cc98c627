#!/usr/bin/env bash
# Sets up, builds the release preset and runs the main job: a training step of Llama 3 70B on 64 H100.
# Arguments, where given, take the place of the main job's: tools/run.sh collective --help
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

main_job=(run configs/scenarios/llama3-70b-dgx-h100.json)

tools/setup.sh
# Tests need packages of their own: tools/test.sh turns them on, and they stay on.
options=()
if [[ ! -e build/release/CMakeCache.txt ]]; then
  options=(-DLOCKSTEP_TESTS=OFF -DLOCKSTEP_BENCHES=OFF)
fi
{
  cmake --preset release "${options[@]}"
  python=()
  if grep -q '^LOCKSTEP_PYTHON:BOOL=ON' build/release/CMakeCache.txt; then python=(lockstep_python); fi
  cmake --build --preset release --target lockstep "${python[@]}"
} >&2
if [[ $# -eq 0 ]]; then set -- "${main_job[@]}"; fi
exec build/release/lockstep "$@"
