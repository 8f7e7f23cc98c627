#!/usr/bin/env bash
# Builds the scripts of the pages into tools/page/dist, which is committed: building Lockstep needs no
# npm. `build.sh report` builds one of them, `build.sh` all.
# teach is a page of its own, dist/teach.html, with the engine, dist/engine.js and engine.b64, which
# tools/page/wasm/build.sh builds; its sources are the files here, not those of the engine.
#   build.sh --hash report    prints the hash of the sources, without npm
#   build.sh --check report   exit code 1 if dist/report.js is not the build of the sources; without
#                             npm packages only the hash of the sources in its first line is compared
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

# What a built file depends on. Versions of the tools are in package-lock.json: --check builds again.
hash_of() {
  local engine=()
  if [[ $1 == teach ]]; then engine=(wasm dist/engine.js); fi
  find "$1" "${engine[@]}" tsconfig.json -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -c1-64
}

has_packages() {
  command -v node >/dev/null && [[ -x node_modules/.bin/vite && -x node_modules/.bin/tsc ]]
}

install_packages() {
  has_packages && return
  command -v npm >/dev/null || { echo "build.sh: expected node 18.19 or later with npm (tools/setup.sh --tests)" >&2; exit 2; }
  npm ci --no-audit --no-fund >&2
}

# The built file of a page.
file_of() {
  if [[ $1 == teach ]]; then echo teach.html; else echo "$1.js"; fi
}

# build PAGE FOLDER: the page's file in FOLDER, its first line the hash of its sources.
build() {
  local page=$1 out=$2
  local file begin='//' end=''
  file=$(file_of "$page")
  if [[ $page == teach ]]; then begin='<!--' end=' -->'; fi
  local config=tsconfig.json
  if [[ -f $page/tsconfig.json ]]; then config=$page/tsconfig.json; fi
  node_modules/.bin/tsc -p "$config"
  PAGE_OUT=$out node_modules/.bin/vite build --config "$page/vite.config.mjs" >&2
  if [[ $page != teach ]] && grep -qi '</script' "$out/$file"; then
    echo "build.sh: $page.js contains </script, which would end it inside a page" >&2
    exit 1
  fi
  printf '%s Built by tools/page/build.sh from sources %s%s\n%s\n' "$begin" "$(hash_of "$page")" "$end" "$(cat "$out/$file")" >"$out/$page.new"
  mv "$out/$page.new" "$out/$file"
}

check() {
  local page=$1
  local file
  file=$(file_of "$page")
  if [[ "$(head -n1 "dist/$file")" != *" $(hash_of "$page")"* ]]; then
    echo "stale: dist/$file is not built from tools/page/$page; run tools/page/build.sh" >&2
    exit 1
  fi
  if ! has_packages; then
    echo "build.sh: npm packages are missing (tools/setup.sh --tests): compared the hash of the sources only" >&2
    return
  fi
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"' EXIT
  build "$page" "$fresh"
  cmp "$fresh/$file" "dist/$file" ||
    { echo "stale: dist/$file is not what building it gives; run tools/page/build.sh" >&2; exit 1; }
}

action=build
case "${1:-}" in
  --hash | --check) action=${1#--}; shift ;;
esac
pages=("$@")
[[ ${#pages[@]} -gt 0 ]] || pages=(report teach)
for page in "${pages[@]}"; do
  [[ -f $page/vite.config.mjs ]] || { echo "build.sh: expected a page such as report, got \"$page\"" >&2; exit 2; }
  case $action in
    hash) hash_of "$page" ;;
    check) check "$page" ;;
    build)
      install_packages
      mkdir -p dist
      build "$page" "$PWD/dist"
      ;;
  esac
done
