// Pipeline schedules in one drawing.
import { details, h, put, range, s, table } from './dom';
import { ask, askCommand } from './engine';
import { wholeNumber, type Values } from './state';
import { count, percent, picoseconds, seconds, share, time } from './units';

interface Span {
  work: 'forward' | 'backward' | 'input_gradient' | 'weight_gradient';
  microbatch: number;
  chunk: number;
  start_ps: number;
  end_ps: number;
}
export interface Chart {
  step_ps: number;
  step_s: number;
  ideal_s: number;
  bubble_fraction_of_ideal: number;
  bubble_formula: { text: string; fraction_of_ideal: number } | null;
  chunks: number;
  stages: { spans: Span[]; held_chunks: [number, number][]; most_held_chunks: number; idle_s: number }[];
}

const kSchedules = [
  { value: 'naive', text: 'naive' }, { value: 'gpipe', text: 'GPipe' }, { value: '1f1b', text: '1F1B' },
  { value: 'interleaved', text: 'interleaved 1F1B' }, { value: 'zb-h1', text: 'zero bubble H1' }, { value: 'zb-h2', text: 'zero bubble H2' },
  { value: 'zb-1p', text: 'zero bubble 1p' }, { value: 'zb-2p', text: 'zero bubble 2p' }, { value: 'zb-v', text: 'zero bubble V' },
  { value: 'v-half', text: 'V-Half' }, { value: 'v-min', text: 'V-Min' }, { value: 'dualpipe-v', text: 'DualPipeV' },
  { value: 'dualpipe', text: 'DualPipe' },
];
/** Schedules of two chunks per stage, whose second ones go back through the stages. */
const kInV = ['zb-v', 'v-half', 'v-min', 'dualpipe-v'];
const kMicrosecond = 1_000_000; // picoseconds

export interface PipelineValues {
  schedules: string[];
  stages: number;
  microbatches: number;
  chunks: number;
  forward: number; // microseconds, as the others
  backward: number;
  weight: number;
  send: number;
}

export function pipelineOf(values: Values): PipelineValues {
  const known = kSchedules.map((each) => each.value);
  const asked = (values.schedules ?? 'naive,gpipe,1f1b,interleaved,zb-h1').split(',').filter((each) => known.includes(each));
  return {
    schedules: asked.length > 0 ? asked : ['1f1b'], stages: wholeNumber(values, 'stages', 4, 1, 16), microbatches: wholeNumber(values, 'microbatches', 8, 1, 32),
    chunks: wholeNumber(values, 'chunks', 2, 2, 8), forward: wholeNumber(values, 'forward', 10, 1, 50), backward: wholeNumber(values, 'backward', 10, 1, 50),
    weight: wholeNumber(values, 'weight', 10, 0, 50), send: wholeNumber(values, 'send', 0, 0, 20),
  };
}

export function pipelineRequest(given: PipelineValues, schedule: string) {
  return {
    do: 'pipeline', schedule, stages: given.stages, microbatches: given.microbatches, chunks: schedule === 'interleaved' ? given.chunks : kInV.includes(schedule) ? 2 : 1,
    forward_ps: given.forward * kMicrosecond, backward_ps: given.backward * kMicrosecond, weight_ps: given.weight * kMicrosecond, send_ps: given.send * kMicrosecond,
  };
}

const kLetters = { forward: 'F', backward: 'B', input_gradient: 'B', weight_gradient: 'W' };
const kNames = { forward: 'forward', backward: 'backward', input_gradient: 'gradient of the input', weight_gradient: 'gradient of the weights' };

function drawing(chart: Chart, longest: number, name: string): SVGSVGElement {
  const left = 54;
  const wide = 1100;
  const high = chart.stages.length > 8 ? 22 : 30;
  const x = (ps: number) => left + ((wide - left) * ps) / longest;
  const svg = s('svg', { viewBox: `0 0 ${wide + 4} ${high * chart.stages.length + 4}`, class: 'pipeline', role: 'img', 'aria-label': `${name}: passes of every stage over time; letters say forward, backward or weight gradient, numbers the microbatch` });
  chart.stages.forEach((stage, i) => {
    svg.append(s('text', { class: 'head', x: left - 6, y: high * (i + 0.5) + 2, 'text-anchor': 'end', 'dominant-baseline': 'central' }, `stage ${i}`));
    svg.append(s('rect', { class: 'lane', x: left, y: high * i + 2, width: Math.max(0, x(chart.step_ps) - left), height: high - 3 }));
    for (const span of stage.spans) {
      const width = x(span.end_ps) - x(span.start_ps);
      const kind = span.work === 'input_gradient' ? 'backward' : span.work;
      svg.append(s('rect', { class: `${kind}${span.chunk % 2 === 1 ? ' later' : ''}`, x: x(span.start_ps), y: high * i + 2, width: Math.max(0.5, width - 0.7), height: high - 3 },
        s('title', {}, `${kNames[span.work]} of microbatch ${span.microbatch}${chart.chunks > 1 ? `, chunk ${span.chunk}` : ''}: ${picoseconds(span.start_ps)} to ${picoseconds(span.end_ps)}`)));
      if (width > 8.5)
        svg.append(s('text', { class: `${kind}${width > 24 ? '' : ' small'}`, x: x(span.start_ps) + width / 2, y: high * (i + 0.5) + 1.5, 'text-anchor': 'middle', 'dominant-baseline': 'central' },
          `${width > 24 ? kLetters[span.work] : ''}${span.microbatch}`));
    }
  });
  return svg;
}

/** Activations held by each stage over time, as steps. */
function heldDrawing(chart: Chart, longest: number, most: number): SVGSVGElement {
  const left = 54;
  const wide = 1100;
  const high = 90;
  const x = (ps: number) => left + ((wide - left) * ps) / longest;
  const y = (held: number) => high - (high - 10) * (held / Math.max(1, most));
  const svg = s('svg', { viewBox: `0 0 ${wide + 4} ${high + 18}`, class: 'held', role: 'img', 'aria-label': 'Activations held over time by the first and the last stage' });
  svg.append(s('line', { class: 'lane', x1: left, x2: wide, y1: high, y2: high }));
  const shown = chart.stages.length === 1 ? [0] : [0, chart.stages.length - 1];
  shown.forEach((i, order) => {
    const stage = chart.stages[i]!;
    let path = `M${left} ${high}`;
    let before = 0;
    for (const [at, held] of stage.held_chunks) {
      path += ` H${x(at)} V${y(held / chart.chunks)}`;
      before = held;
    }
    path += ` H${x(chart.step_ps)}${before === 0 ? '' : ` V${high}`}`;
    svg.append(s('path', { class: order === 0 ? 'first' : 'last', d: path }));
    svg.append(s('text', { class: 'head', x: left + 6 + order * 190, y: high + 14 }, `${order === 0 ? 'solid' : 'dashed'}: stage ${i}, most ${(stage.most_held_chunks / chart.chunks).toString()}`));
  });
  return svg;
}

export async function pipelineFigure(given: PipelineValues): Promise<HTMLElement> {
  const made: { name: string; schedule: string; chart: Chart }[] = [];
  const problems: HTMLElement[] = [];
  for (const schedule of given.schedules) {
    const name = kSchedules.find((each) => each.value === schedule)!.text;
    try {
      made.push({ name, schedule, chart: await ask<Chart>(pipelineRequest(given, schedule)) });
    } catch (error) {
      problems.push(h('p', { class: 'problem', role: 'alert' }, `${name}: ${error instanceof Error ? error.message : String(error)}`));
    }
  }
  const longest = Math.max(1, ...made.map((each) => each.chart.step_ps));
  const most = Math.max(1, ...made.flatMap(({ chart }) => chart.stages.map((each) => each.most_held_chunks / chart.chunks)));
  const rows = made.map(({ name, chart }) => [
    name, time(chart.step_s), time(chart.ideal_s), share(chart.bubble_fraction_of_ideal),
    chart.bubble_formula ? share(chart.bubble_formula.fraction_of_ideal) : '-', chart.bubble_formula?.text ?? 'no formula',
    count(Math.max(...chart.stages.map((each) => each.most_held_chunks)) / chart.chunks),
  ]);
  return h('div', { class: 'pipelines' }, ...problems,
    h('p', { class: 'legend' }, h('span', { class: 'key forward' }, 'F forward'), h('span', { class: 'key backward' }, 'B backward'), h('span', { class: 'key weight_gradient' }, 'W weight gradient'), h('span', { class: 'key lane' }, 'idle: the bubble')),
    ...made.map(({ name, schedule, chart }) => h('section', { class: 'schedule', 'data-schedule': schedule, 'aria-label': name },
      h('h3', {}, name, h('small', {}, ` ${seconds(chart.step_s)}, bubble ${percent(chart.bubble_fraction_of_ideal)} of the ideal time${chart.bubble_formula ? `, by formula ${percent(chart.bubble_formula.fraction_of_ideal)}` : ''}`)),
      h('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Drawing of ${name}` }, drawing(chart, longest, name)),
      details('Activations held', heldDrawing(chart, longest, most),
        table(`Activations held, in those of one microbatch: ${name}`, [{ head: 'stage', number: true }, { head: 'most held', number: true }, { head: 'idle', number: true }],
          chart.stages.map((stage, i) => [count(i), count(stage.most_held_chunks / chart.chunks), time(stage.idle_s)]))),
      details('The same on the command line', h('pre', {}, askCommand(pipelineRequest(given, schedule)))))),
    table('Schedules compared', [{ head: 'schedule' }, { head: 'time', number: true }, { head: 'ideal', number: true }, { head: 'bubble, measured', number: true }, { head: 'bubble, formula', number: true }, { head: 'formula' }, { head: 'activations held', number: true }], rows));
}

export function pipelineControls(values: Values, changed: (values: Values) => void): HTMLElement {
  const given = pipelineOf(values);
  const slide = (label: string, name: keyof PipelineValues, min: number, max: number, text: (n: number) => string = String) =>
    range(label, name, { min, max }, given[name] as number, text, (n) => changed({ [name]: String(n) }));
  const micro = (n: number) => `${n} us`;
  const boxes = kSchedules.map((each) => h('input', { type: 'checkbox', name: 'schedule', value: each.value, checked: given.schedules.includes(each.value), change: () => {
    const now = boxes.filter((box) => box.checked).map((box) => box.value);
    if (now.length > 0) changed({ schedules: now.join(',') });
    else boxes.find((box) => box.value === given.schedules[0])!.checked = true;
  } }));
  return h('div', { class: 'panel-controls' },
    h('fieldset', { class: 'controls algorithms' }, h('legend', {}, 'Schedules'), h('div', { class: 'checks' }, ...boxes.map((box, i) => h('label', { class: 'check' }, box, kSchedules[i]!.text)))),
    h('fieldset', { class: 'controls' }, h('legend', {}, 'Pipeline'), slide('Stages', 'stages', 1, 16), slide('Microbatches', 'microbatches', 1, 32), slide('Chunks per stage, if interleaved', 'chunks', 2, 8)),
    h('fieldset', { class: 'controls' }, h('legend', {}, 'Times of one microbatch on a stage'), slide('Forward', 'forward', 1, 50, micro), slide('Backward, input', 'backward', 1, 50, micro), slide('Backward, weights', 'weight', 0, 50, micro), slide('Send', 'send', 0, 20, micro)));
}

export async function pipelinesView(root: HTMLElement, values: Values, remember: (values: Values) => void): Promise<void> {
  const figure = h('div', { class: 'result' });
  let turn = 0;
  const draw = async () => {
    const mine = ++turn;
    const made = await pipelineFigure(pipelineOf(values));
    if (mine === turn) put(figure, made);
  };
  put(root, h('h1', {}, 'Pipelines'), h('p', { class: 'lead' }, 'Schedules of the same stages and microbatches in one drawing. Backward takes the time of both gradients unless the schedule splits it.'),
    pipelineControls(values, (next) => { Object.assign(values, next); remember(next); void draw(); }), figure);
  await draw();
}

