#!/usr/bin/env bash
# docs/reference is what tools/refresh_reference.sh writes today.
#   reference_test.sh SOURCE_FOLDER LOCKSTEP
set -euo pipefail
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$1/tools/refresh_reference.sh" "$2" "$fresh"
diff -ru "$1/docs/reference" "$fresh" || { echo "stale: run tools/refresh_reference.sh" >&2; exit 1; }
