#!/usr/bin/env bash
# package.sh BUILD: makes the tarball and, with dpkg, the Debian packages, and runs the command of each
# and the Python module of each from a clean folder: with its own configs, the tarball with its own libraries.
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

# check_python FOLDER ROOT: the module in FOLDER simulates, with a scenario that only the configs below ROOT have
check_python() {
  (cd "$work" && env -i PYTHONPATH="$1" PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 -c \
    "import lockstep; assert lockstep.run('clean').fits; print(lockstep.__file__)") > "$work/python.txt" ||
    fail "$1: the Python module fails"
  grep -q "^$1/" "$work/python.txt" || fail "another Python module was imported: $(cat "$work/python.txt")"
  [[ -f $1/lockstep/py.typed && -f $1/lockstep/_native.pyi ]] || fail "$1: no types"
}
has_python=$(compgen -G "$build/python/lockstep/_native.*.so" || true)

mkdir "$work/tarball"
tar xf "$work"/packages/lockstep-*.tar.gz -C "$work/tarball"
folder=$(echo "$work"/tarball/*)
check "$folder"
ldd "$folder/bin/lockstep" > "$work/libraries.txt"
foreign=$(grep '=> /' "$work/libraries.txt" | grep -v "$folder" | grep -vE 'lib(c|m)\.so' || true)
[[ -z $foreign ]] || fail "the tarball needs libraries of this machine: $foreign"
if [[ -n $has_python ]]; then
  python=$(echo "$folder"/lib/python3*/*-packages)
  check_python "$python"
  foreign=$(ldd "$python"/lockstep/_native.*.so | grep '=> /' | grep -v "$folder" | grep -vE 'lib(c|m)\.so' || true)
  [[ -z $foreign ]] || fail "the tarball's Python module needs libraries of this machine: $foreign"
fi

if [[ $generators == *DEB ]]; then
  dpkg-deb -x "$work"/packages/lockstep_*.deb "$work/debian"
  check "$work/debian/usr"
  dpkg-deb -f "$work"/packages/lockstep_*.deb Depends | grep -q libfmt || fail "the package depends on no libfmt"
  dpkg-deb -c "$work"/packages/lockstep-dev_*.deb > "$work/files.txt"
  grep -q lockstepConfig.cmake "$work/files.txt" || fail "no CMake package"
  if [[ -n $has_python ]]; then
    dpkg-deb -x "$work"/packages/python3-lockstep_*.deb "$work/debian"
    check_python "$work/debian/usr/lib/python3/dist-packages"
    depends=$(dpkg-deb -f "$work"/packages/python3-lockstep_*.deb Depends)
    for needed in "lockstep (= " "python3 (>= 3" "python3 (<< 3" libfmt; do
      [[ $depends == *"$needed"* ]] || fail "python3-lockstep depends on no $needed: $depends"
    done
  fi
fi
