// One script for the pages of `lockstep report`: no modules, nothing loaded at run time.
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

export default {
  root: here,
  logLevel: 'warn',
  build: {
    target: 'es2022',
    outDir: process.env.PAGE_OUT,
    emptyOutDir: false,
    lib: { entry: here + 'main.ts', formats: ['iife'], name: 'lockstepReport', fileName: () => 'report.js' },
    minify: true,
    sourcemap: false,
  },
};
