// The engine, compiled to WebAssembly. A request and its answer are JSON; `lockstep teach --ask` gives the
// same answer on the command line.
import createEngine from 'virtual:engine';

interface Engine {
  ccall(name: string, result: string, types: string[], values: unknown[]): string;
}

/** The engine of the page: gzip in base64 in an element of its own, since a data: address is slow. */
async function engineBytes(): Promise<ArrayBuffer> {
  const text = document.getElementById('engine')?.textContent?.trim() ?? '';
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Response(stream).arrayBuffer();
}

let engine: Promise<Engine> | undefined;
function start(): Promise<Engine> {
  engine ??= engineBytes().then((wasmBinary) => createEngine({ wasmBinary })) as Promise<Engine>;
  return engine;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
const known = new Map<string, unknown>();
const kMostKnown = 200;

/** Throws what the engine says of an impossible request. */
export async function ask<T>(request: { [key: string]: Json | undefined }): Promise<T> {
  const text = JSON.stringify(request);
  const before = known.get(text);
  if (before !== undefined) return before as T;
  const running = await start();
  // The page shows that it computes before the computation blocks it.
  await new Promise((done) => setTimeout(done, 0));
  const result = JSON.parse(running.ccall('lockstep_answer', 'string', ['string'], [text])) as { answer?: T; error?: string };
  if (result.answer === undefined) throw new Error(result.error ?? 'the engine gave no answer');
  if (known.size >= kMostKnown) known.clear();
  known.set(text, result.answer);
  return result.answer;
}

/** The command that prints the same numbers. */
export function askCommand(request: { [key: string]: Json | undefined }): string {
  return `lockstep teach --ask '${JSON.stringify(request)}'`;
}
