#!/usr/bin/env bash
# package.sh BUILD: makes the tarball and, with dpkg, the Debian packages, and runs the command of each
# from a clean folder: with its own configs, the tarball with its own libraries.
set -euo pipefail
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "package: $*" >&2; exit 1; }
generators=TGZ
command -v dpkg-deb > /dev/null && generators="TGZ;DEB"
(cd "$build" && cpack -G "$generators" -B "$work/packages" > "$work/cpack.txt") || { cat "$work/cpack.txt"; exit 1; }

# check ROOT: the command below ROOT simulates, with a scenario that only these configs have
check() {
  cp "$1/share/lockstep/configs/scenarios/mlp-two-gpus.json" "$1/share/lockstep/configs/scenarios/clean.json"
  (cd "$work" && env -i "$1/bin/lockstep" run clean --format csv > "$work/step.csv") || fail "$1: run fails"
  [[ $(wc -l < "$work/step.csv") -eq 2 ]] || fail "$1: no row"
}

mkdir "$work/tarball"
tar xf "$work"/packages/lockstep-*.tar.gz -C "$work/tarball"
folder=$(echo "$work"/tarball/*)
check "$folder"
ldd "$folder/bin/lockstep" > "$work/libraries.txt"
foreign=$(grep '=> /' "$work/libraries.txt" | grep -v "$folder" | grep -vE 'lib(c|m)\.so' || true)
[[ -z $foreign ]] || fail "the tarball needs libraries of this machine: $foreign"

if [[ $generators == *DEB ]]; then
  dpkg-deb -x "$work"/packages/lockstep_*.deb "$work/debian"
  check "$work/debian/usr"
  dpkg-deb -f "$work"/packages/lockstep_*.deb Depends | grep -q libfmt || fail "the package depends on no libfmt"
  dpkg-deb -c "$work"/packages/lockstep-dev_*.deb > "$work/files.txt"
  grep -q lockstepConfig.cmake "$work/files.txt" || fail "no CMake package"
fi
