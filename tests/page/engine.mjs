// The engine of the page in node: from the built page, or from build/wasm.
import { webcrypto as crypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import vm from 'node:vm';

/** `script`: what emscripten wrote to load the engine. Requests and answers are JSON texts. */
export async function engineOf(script, wasmBinary) {
  const context = vm.createContext({ console, WebAssembly, TextDecoder, Uint8Array, performance, setTimeout, crypto, document: {}, self: { location: { href: '' } }, window: {} });
  const create = vm.runInContext(`${script}; lockstepEngine`, context);
  const engine = await create({ wasmBinary });
  return (request) => engine.ccall('lockstep_answer', 'string', ['string'], [request]);
}

export const read = (file) => readFileSync(new URL(file, import.meta.url));
