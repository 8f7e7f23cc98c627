#!/usr/bin/env bash
# moved.sh PREFIX: the installed command works where its folder is moved to, with the configs that moved
# along and no others; $LOCKSTEP_CONFIGS overrides them; manual pages and completion are in place.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$1" "$work/elsewhere"
cp -r "$1/share/lockstep/configs" "$work/other"
cd "$work"
unset LOCKSTEP_CONFIGS
fail() { echo "moved: $*" >&2; exit 1; }

# A cluster that only the moved folder has, and one that only the other folder has.
cp elsewhere/share/lockstep/configs/clusters/star.json elsewhere/share/lockstep/configs/clusters/moved-star.json
cp other/clusters/star.json other/clusters/other-star.json

lockstep=elsewhere/bin/lockstep
"$lockstep" list clusters | grep moved-star >/dev/null || fail "other configs than those of the moved folder"
"$lockstep" run mlp-two-gpus > step.txt || fail "run fails"
ln -s "$PWD/$lockstep" link
./link list clusters | grep moved-star >/dev/null || fail "other configs through a symbolic link"
LOCKSTEP_CONFIGS=other "$lockstep" list clusters | grep other-star >/dev/null || fail "LOCKSTEP_CONFIGS is not used"
status=0
LOCKSTEP_CONFIGS=absent "$lockstep" list clusters 2> error.txt || status=$?
[[ $status -eq 2 ]] && grep -q 'LOCKSTEP_CONFIGS=absent' error.txt || fail "LOCKSTEP_CONFIGS=absent: exit code $status"
for file in bash-completion/completions/lockstep zsh/site-functions/_lockstep \
    fish/vendor_completions.d/lockstep.fish man/man1/lockstep.1 man/man1/lockstep-collective.1 \
    doc/lockstep/README.md doc/lockstep/docs/SECURITY.md doc/lockstep/docs/images/pipeline-1f1b.svg; do
  [[ -s elsewhere/share/$file ]] || fail "no share/$file"
done
# Every header that an installed header includes is installed.
(cd elsewhere/include/lockstep && grep -rhoE '^#include "[^"]+"' . | sort -u | cut -d'"' -f2) |
  while read -r header; do
    [[ -f elsewhere/include/lockstep/$header ]] || fail "an installed header includes $header"
  done
"$lockstep" man collective | cmp - elsewhere/share/man/man1/lockstep-collective.1
