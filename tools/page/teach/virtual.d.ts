declare module 'virtual:engine' {
  const loader: string; // a script that defines lockstepEngine()
  export default loader;
}
declare module '*.css';
declare module 'uplot/dist/uPlot.min.css';
