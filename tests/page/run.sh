#!/usr/bin/env bash
# run.sh LOCKSTEP FILE.mjs: runs browser tests. Exit 77, with a message, where Chromium, pdftotext, node
# or the npm packages of tools/page are missing; tools/setup.sh --tests installs them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
skip() { echo "skipped: $1; tools/setup.sh --tests installs it" >&2; exit 77; }
command -v node >/dev/null || skip "no node"
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
  skip "node $(node --version) is older than 20.19"
[[ -d $here/../../tools/page/node_modules/playwright-core && -d $here/../../tools/page/node_modules/axe-core ]] ||
  skip "no npm packages in tools/page"
[[ -x ${CHROMIUM:-/usr/bin/chromium} ]] || skip "no chromium"
command -v pdftotext >/dev/null || skip "no pdftotext"
export LOCKSTEP=$1
exec node --test --test-reporter=spec "$here/$2"
