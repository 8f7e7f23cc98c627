#!/usr/bin/env bash
# Installs what building Lockstep needs on Debian 12; with --tests also what its tests, benches and
# checks need. A machine that has it all is left alone, without network and without root.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache git                    # build
  libfmt-dev nlohmann-json3-dev libcli11-dev          # libraries of the product
  zlib1g-dev libboost-graph-dev libpugixml-dev libprotobuf-dev protobuf-compiler libeigen3-dev
  libsqlite3-dev                                      # stores of the planner
  libmimalloc-dev                                     # small allocations of large replays
  librsvg2-bin                                        # PDF and PNG figures of the command line
  pybind11-dev python3-dev                            # Python module
)
case "${1:-}" in
  "") ;;
  --tests)
    packages+=(
      doctest-dev libbenchmark-dev                    # tests and benches
      python3-numpy python3-pandas python3-matplotlib python3-networkx  # what the Python module works with
      mypy python3-nbclient python3-nbconvert python3-ipykernel  # its types and notebooks
      libsimgrid-dev libvalijson-dev
      slurm-wlm munge parallel                        # job arrays of the planner
      valgrind time gnuplot-nox                       # instruction counts, growth curves
      clang clang-format clang-tidy libclang-rt-14-dev  # format check, lint, fuzzing
      chromium poppler-utils                          # pages in a browser, and as PDF
      emscripten node-acorn zopfli                    # the engine of the page that teaches
    )
    ;;
  *)
    echo "setup: expected nothing or --tests, got \"$1\"" >&2
    exit 2
    ;;
esac

# Node with npm, as building and testing the pages needs them.
has_node() {
  command -v npm >/dev/null && command -v node >/dev/null &&
    node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 18 || (a === 18 && b >= 19) ? 0 : 1)'
}

# Debian's node, unless one from elsewhere is there.
if [[ "${1:-}" == --tests ]] && ! has_node; then packages+=(nodejs npm); fi

is_installed() {
  [[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

as_root() {
  if [[ $EUID -eq 0 ]]; then "$@"; else sudo "$@"; fi
}

if ! command -v dpkg-query >/dev/null; then
  echo "setup: no dpkg here; install these yourself: ${packages[*]}" >&2
  exit 1
fi

install_debian_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  if [[ ${#missing[@]} -eq 0 ]]; then
    echo "setup: all ${#packages[@]} packages are installed" >&2
    return
  fi
  echo "setup: updating the package lists" >&2
  as_root apt-get update -qq
  echo "setup: installing ${missing[*]}" >&2
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >&2
}

install_npm_packages() {
  local page
  page=$(dirname "${BASH_SOURCE[0]}")/page
  cmp -s "$page/package-lock.json" "$page/node_modules/.installed" && return
  echo "setup: installing the npm packages of tools/page" >&2
  if has_node && (cd "$page" && npm ci --no-audit --no-fund --loglevel=error >&2); then
    cp "$page/package-lock.json" "$page/node_modules/.installed"
  else
    echo "setup: npm ci failed in tools/page: the browser tests of the pages will fail" >&2
  fi
}

install_debian_packages
if [[ "${1:-}" == --tests ]]; then install_npm_packages; fi
