#!/usr/bin/env bash
# run.sh LOCKSTEP FILE.mjs: runs browser tests. They need node, Chromium, pdftotext and the npm packages of
# tools/page, which tools/setup.sh --tests installs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
missing() { echo "run.sh: $1; tools/setup.sh --tests installs it" >&2; exit 1; }
command -v node >/dev/null || missing "no node"
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 18 || (a === 18 && b >= 19) ? 0 : 1)' ||
  missing "node $(node --version) is older than 18.19"
[[ -d $here/../../tools/page/node_modules/playwright-core && -d $here/../../tools/page/node_modules/axe-core ]] ||
  missing "no npm packages in tools/page"
[[ -x ${CHROMIUM:-/usr/bin/chromium} ]] || missing "no chromium"
command -v pdftotext >/dev/null || missing "no pdftotext"
export LOCKSTEP=$1
exec node --test --test-reporter=spec "$here/$2"
