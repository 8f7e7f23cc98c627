declare module 'virtual:engine' {
  const createEngine: (options: { wasmBinary: ArrayBuffer }) => Promise<unknown>;
  export default createEngine;
}
declare module '*.css';
declare module 'uplot/dist/uPlot.min.css';
