// The page that teaches: one HTML file with its scripts and styles; the engine, 1.2 MB, is put in by
// `lockstep teach`, at the mark in index.html.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { viteSingleFile } from 'vite-plugin-singlefile';

const here = fileURLToPath(new URL('.', import.meta.url));
const loader = fileURLToPath(new URL('../dist/engine.js', import.meta.url));

/** The script that emscripten wrote to load the engine, as text: of a worker, or of the page. */
const engine = {
  name: 'engine',
  resolveId: (id) => (id === 'virtual:engine' ? '\0engine' : undefined),
  // Without its last lines, which export it to other kinds of modules.
  load: (id) => (id === '\0engine' ? `export default ${JSON.stringify(readFileSync(loader, 'utf8').split("if (typeof exports === 'object'")[0])}` : undefined),
};

export default {
  root: here,
  base: './',
  logLevel: 'warn',
  plugins: [engine, viteSingleFile({ removeViteModuleLoader: true })],
  build: { target: 'es2022', outDir: process.env.PAGE_OUT, emptyOutDir: false, minify: true, sourcemap: false, rollupOptions: { input: here + 'teach.html' } },
};
