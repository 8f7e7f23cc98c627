#!/usr/bin/env bash
# Sets up, builds the release preset and runs the main job: an all-reduce on four DGX H100 nodes.
# Arguments, where given, take the place of the main job's: tools/run.sh collective --help
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

main_job=(collective all_reduce --cluster configs/clusters/dgx-h100.json --nodes 4
  --algorithm ring,halving_doubling -b 8 -e 1G -f 2)

tools/setup.sh
{
  cmake --preset release
  cmake --build --preset release --target lockstep
} >&2
if [[ $# -eq 0 ]]; then set -- "${main_job[@]}"; fi
exec build/release/lockstep "$@"
