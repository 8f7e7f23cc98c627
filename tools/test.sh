#!/usr/bin/env bash
# Sets up, builds the release preset and runs every test; ctest's summary comes last and its exit
# status is this script's. With --sanitize the fast tests run first under ASan and UBSan (preset
# dev); further arguments go to the release ctest: tools/test.sh -R format
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

sanitize=no
if [[ "${1:-}" == --sanitize ]]; then
  sanitize=yes
  shift
fi
jobs=$(nproc)

build() {
  cmake --preset "$1" -DLOCKSTEP_TESTS=ON "${@:2}"
  cmake --build --preset "$1" --parallel "$jobs"
}

run_tests() {
  local preset=$1
  shift
  ctest --preset "$preset" --parallel "$jobs" --no-tests=error --no-label-summary "$@"
}

tools/setup.sh --tests
build release -DLOCKSTEP_BENCHES=ON
status=0
if [[ $sanitize == yes ]]; then
  build dev
  run_tests dev -L fast || status=$?
fi
run_tests release "$@" || status=$?
exit "$status"
