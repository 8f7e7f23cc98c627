// The engine, compiled to WebAssembly, in a worker of its own, so that the page answers while it computes. A
// request and its answer are JSON; `lockstep teach --ask` gives the same answer on the command line.
import loader from 'virtual:engine';

interface Engine {
  ccall(name: string, result: string, types: string[], values: unknown[]): string;
}
type Answer = (request: string) => Promise<string>;

/** The engine of the page: gzip in base64 in an element of its own, since a data: address is slow. */
const packedEngine = (): string => document.getElementById('engine')?.textContent?.trim() ?? '';

/** The source of a function, which the worker needs as text. */
const kUnpack = `async (text) => {
  const packed = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
}`;

/** Of the worker: the first message is the packed engine, every later one a request. */
const kServe = `
const unpack = ${kUnpack};
let engine;
onmessage = async ({ data }) => {
  if (data.packed) {
    try {
      engine = await lockstepEngine({ wasmBinary: await unpack(data.packed) });
      postMessage({ ready: true });
    } catch (error) { postMessage({ failed: String(error) }); }
    return;
  }
  try {
    postMessage({ id: data.id, answer: engine.ccall('lockstep_answer', 'string', ['string'], [data.request]) });
  } catch (error) { postMessage({ id: data.id, failed: String(error) }); }
};`;

/** Fails where a page may have no workers, as within some frames. */
async function inWorker(): Promise<Answer> {
  const address = URL.createObjectURL(new Blob([loader, kServe], { type: 'text/javascript' }));
  const worker = new Worker(address);
  await new Promise<void>((ready, fail) => {
    worker.onmessage = ({ data }) => (data.ready ? ready() : fail(new Error(data.failed)));
    worker.onerror = () => fail(new Error('no worker'));
    worker.postMessage({ packed: packedEngine() });
  });
  URL.revokeObjectURL(address);
  const waiting = new Map<number, { done: (answer: string) => void; fail: (error: Error) => void }>();
  let ids = 0;
  worker.onmessage = ({ data }) => {
    const of = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.failed) of?.fail(new Error(data.failed));
    else of?.done(data.answer);
  };
  return (request) => new Promise((done, fail) => {
    waiting.set(++ids, { done, fail });
    worker.postMessage({ id: ids, request });
  });
}

async function inPage(): Promise<Answer> {
  const script = document.createElement('script');
  script.textContent = `${loader};window.lockstepEngine = lockstepEngine;window.unpackEngine = ${kUnpack}`;
  document.head.append(script);
  const { lockstepEngine, unpackEngine } = window as unknown as {
    lockstepEngine: (options: object) => Promise<Engine>;
    unpackEngine: (text: string) => Promise<ArrayBuffer>;
  };
  const engine = await lockstepEngine({ wasmBinary: await unpackEngine(packedEngine()) });
  return async (request) => {
    // The page shows that it computes before the computation blocks it.
    await new Promise((done) => setTimeout(done, 0));
    return engine.ccall('lockstep_answer', 'string', ['string'], [request]);
  };
}

let engine: Promise<Answer> | undefined;
function start(): Promise<Answer> {
  engine ??= inWorker().catch(() => inPage());
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
  const answer = await start();
  const result = JSON.parse(await answer(text)) as { answer?: T; error?: string };
  if (result.answer === undefined) throw new Error(result.error ?? 'the engine gave no answer');
  if (known.size >= kMostKnown) known.clear();
  known.set(text, result.answer);
  return result.answer;
}

/** The command that prints the same numbers. */
export function askCommand(request: { [key: string]: Json | undefined }): string {
  return `lockstep teach --ask '${JSON.stringify(request)}'`;
}
