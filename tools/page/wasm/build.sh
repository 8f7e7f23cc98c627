#!/usr/bin/env bash
# Builds the engine as WebAssembly in build/wasm and puts it into tools/page/dist, which is committed:
# engine.js loads it, engine.b64 is it, gzip in base64 (by zopfli, 5 % smaller than by gzip). Needs
# emscripten 3.1.6, node-acorn and zopfli of Debian.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."

command -v emcmake >/dev/null || { echo "build.sh: expected emscripten; tools/setup.sh --tests installs it" >&2; exit 2; }
command -v zopfli >/dev/null || { echo "build.sh: expected zopfli; tools/setup.sh --tests installs it" >&2; exit 2; }
# Debian's emcc looks for acorn where Debian's own node would find it.
export NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
emcmake cmake -S tools/page/wasm -B build/wasm -G Ninja -DCMAKE_BUILD_TYPE=Release "${launcher[@]}" >&2
cmake --build build/wasm "$@" >&2
mkdir -p tools/page/dist
cp build/wasm/lockstep.js tools/page/dist/engine.js
zopfli -c build/wasm/lockstep.wasm | base64 -w 0 >tools/page/dist/engine.b64
ls -l build/wasm/lockstep.wasm tools/page/dist/engine.b64 >&2
