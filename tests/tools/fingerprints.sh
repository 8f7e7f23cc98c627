#!/usr/bin/env bash
# Prints the fingerprint of what every shipped cluster does with 8 bytes and with 1 MiB, and of every
# shipped scenario's step, by the `lockstep` on the PATH. fingerprints.txt is its output; the test
# compares them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

only_fingerprint() { sed -n 's/^  "fingerprint": "\(.*\)",$/\1/p'; }

fingerprint() {
  lockstep collective all_reduce --cluster "$1" --algorithm "$2" --network "$3" \
    -b 8 -e 1M -f 131072 --format json | only_fingerprint
}

for cluster in configs/clusters/*.json; do
  for algorithm in ring recursive_doubling halving_doubling; do
    for network in fluid alpha-beta queue; do
      echo "$cluster $algorithm $network $(fingerprint "$cluster" "$algorithm" "$network")"
    done
  done
done

for scenario in configs/scenarios/*.json; do
  echo "$scenario $(lockstep run "$scenario" --ignore-memory --format json | only_fingerprint)"
done
