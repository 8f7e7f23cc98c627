// Memory and the other parallelisms: ZeRO, tensor, sequence, servers and accumulation.
import { curves } from './curves';
import { h, labelled, put, range, s, select } from './dom';
import { oneOf, wholeNumber, type Values } from './state';
import { bars, commandsOf, simulate, stepFigure, stepTable, type Show, type Variant } from './steps';
import { seconds, time } from './units';

type Changed = (values: Values) => void;
export interface Topic {
  key: string;
  title: string;
  text: string;
  controls: (values: Values, changed: Changed) => HTMLElement | null;
  figure: (values: Values, show: Show) => Promise<HTMLElement>;
}

const kModels = ['gpt3-1.3b', 'gpt3-6.7b', 'megatron-7.5b', 'llama2-13b'];

// ---- ZeRO.

/** Bytes per parameter that a rank holds of the model states, by the closed form. */
function zeroFormula(ranks: number): HTMLElement {
  const rows = [0, 1, 2, 3].map((stage) => {
    const parts = [
      { name: 'weights', amount: stage >= 3 ? 2 / ranks : 2 },
      { name: 'gradients', amount: stage >= 2 ? 2 / ranks : 2 },
      { name: 'optimizer states', amount: stage >= 1 ? 12 / ranks : 12 },
    ];
    return { name: `ZeRO-${stage}`, parts, total: parts.reduce((sum, each) => sum + each.amount, 0) };
  });
  const figure = bars(`By formula: bytes per parameter on each of ${ranks} ranks`, rows, (n) => `${Number(n.toPrecision(3))} B`);
  figure.classList.add('by-formula');
  return figure;
}

const zero: Topic = {
  key: 'zero', title: 'ZeRO: shards of the model states',
  text: 'Data-parallel ranks hold the same weights, gradients and optimizer states. ZeRO-1 shards the optimizer states, ZeRO-2 the gradients too, ZeRO-3 the weights as well: with 16 bytes per parameter in mixed precision, 4 + 12/N, 2 + 14/N and 16/N remain.',
  controls: (values, changed) => h('fieldset', { class: 'controls' }, h('legend', {}, 'Training'),
    labelled('Model', select('model', kModels.map((value) => ({ value })), oneOf(values, 'model', kModels, 'megatron-7.5b'), (model) => changed({ model }))),
    range('Nodes of 8 GPUs', 'nodes', { min: 1, max: 8 }, wholeNumber(values, 'nodes', 8, 1, 8), String, (nodes) => changed({ nodes: String(nodes) }))),
  figure: async (values, show) => {
    const nodes = wholeNumber(values, 'nodes', 8, 1, 8);
    // At once; the simulation takes longer.
    const whole = (simulated: HTMLElement | null) => h('div', {}, zeroFormula(8 * nodes), simulated);
    const set = [`model=${oneOf(values, 'model', kModels, 'megatron-7.5b')}`, `cluster.nodes=${nodes}`, `parallel.dp=${8 * nodes}`, `parallel.global_batch=${8 * nodes}`];
    const variants = [0, 1, 2, 3].map((stage) => ({ name: `ZeRO-${stage}`, scenario: `zero-7b5-${stage}`, set }));
    return whole(await stepFigure(variants, 'memory', (figure, left) => show(whole(figure), left)));
  },
};

// ---- Tensor parallelism.

/** The two matrices of the MLP, cut by columns and by rows. */
function mlpDrawing(): SVGSVGElement {
  const svg = s('svg', { viewBox: '0 0 1000 300', class: 'matrices', role: 'img', 'aria-label': 'Two-layer MLP on two GPUs: the first matrix is cut by columns, the second by rows; the partial results are summed by an all-reduce' });
  const matrix = (x: number, y: number, w: number, high: number, name: string, kind: string) =>
    svg.append(s('rect', { class: kind, x, y, width: w, height: high }), s('text', { x: x + w / 2, y: y + high / 2, 'text-anchor': 'middle', 'dominant-baseline': 'central' }, name));
  const sign = (x: number, y: number, text: string) => svg.append(s('text', { class: 'sign', x, y, 'text-anchor': 'middle', 'dominant-baseline': 'central' }, text));
  [0, 1].forEach((gpu) => {
    const y = 20 + gpu * 150;
    const kind = gpu === 0 ? 'first' : 'second';
    svg.append(s('text', { class: 'name', x: 10, y: y + 50, 'dominant-baseline': 'central' }, `GPU ${gpu}`));
    matrix(90, y, 80, 100, 'X', 'whole');
    sign(190, y + 50, 'x');
    matrix(210, y, 70, 100, `A${gpu + 1}`, kind);
    matrix(280, y, 70, 100, '', 'other');
    if (gpu === 1) { svg.lastChild?.remove(); svg.lastChild?.remove(); svg.lastChild?.remove(); svg.lastChild?.remove(); matrix(210, y, 70, 100, '', 'other'); matrix(280, y, 70, 100, 'A2', kind); }
    sign(372, y + 50, '=');
    matrix(392, y, 70, 100, `Y${gpu + 1}`, kind);
    sign(512, y + 50, 'GeLU, x');
    matrix(560, y, 90, 50, gpu === 0 ? 'B1' : '', gpu === 0 ? kind : 'other');
    matrix(560, y + 50, 90, 50, gpu === 1 ? 'B2' : '', gpu === 1 ? kind : 'other');
    sign(672, y + 50, '=');
    matrix(692, y, 90, 100, `Z${gpu + 1}`, kind);
  });
  svg.append(s('line', { class: 'cut', x1: 800, x2: 800, y1: 20, y2: 270 }));
  svg.append(s('text', { class: 'name', x: 900, y: 120, 'text-anchor': 'middle' }, 'all-reduce'), s('text', { class: 'name', x: 900, y: 145, 'text-anchor': 'middle' }, 'Z = Z1 + Z2'), s('text', { class: 'name', x: 900, y: 170, 'text-anchor': 'middle' }, 'on both GPUs'));
  svg.append(s('text', { class: 'head', x: 280, y: 290, 'text-anchor': 'middle' }, 'A cut by columns'), s('text', { class: 'head', x: 605, y: 290, 'text-anchor': 'middle' }, 'B cut by rows'));
  return svg;
}

const tensor: Topic = {
  key: 'tensor', title: 'Tensor parallelism: a two-layer MLP on two GPUs',
  text: 'GeLU is applied element by element, so the columns of A may be on different GPUs; each then holds the rows of B that multiply them. One all-reduce sums the partial results. Grey parts are on the other GPU.',
  controls: (values, changed) => h('fieldset', { class: 'controls' }, h('legend', {}, 'Work'),
    range('Rows of X', 'rows', { min: 6, max: 14 }, wholeNumber(values, 'rows', 11, 6, 14), (n) => String(2 ** n), (n) => changed({ rows: String(n) }))),
  figure: async (values, show) => {
    const whole = (simulated: HTMLElement | null) => h('div', {}, h('figure', {}, h('figcaption', {}, 'The matrices as they are cut'), mlpDrawing()), simulated);
    const rows = 2 ** wholeNumber(values, 'rows', 11, 6, 14);
    const batch = [`parallel.micro_batch=${rows}`, `parallel.global_batch=${rows}`];
    return whole(await stepFigure([
      { name: '1 GPU', scenario: 'mlp-two-gpus', set: ['cluster.ranks=1', 'parallel.tp=1', ...batch] },
      { name: '2 GPUs, tp 2', scenario: 'mlp-two-gpus', set: batch },
    ], 'both', (figure, left) => show(whole(figure), left)));
  },
};

// ---- Sequence parallelism.

/** Which keys and values a rank has in every round of ring attention, or which parts in Ulysses. */
function sequenceDrawing(kind: string, round: number): SVGSVGElement {
  const p = 4;
  const svg = s('svg', { viewBox: '0 0 1000 210', class: 'matrices', role: 'img', 'aria-label': kind === 'ring' ? `Ring attention, round ${round} of ${p}: which keys and values each rank has` : 'Ulysses: parts of the sequence and of the heads before and after the all-to-all' });
  const cell = (x: number, y: number, w: number, high: number, text: string, own: boolean) =>
    svg.append(s('rect', { class: own ? 'first' : 'whole', x, y, width: w, height: high }), s('text', { x: x + w / 2, y: y + high / 2, 'text-anchor': 'middle', 'dominant-baseline': 'central', 'font-size': 13 }, text));
  if (kind === 'ring') {
    for (let r = 0; r < p; ++r) {
      const x = 30 + r * 245;
      const from = (r - round + p) % p;
      svg.append(s('text', { class: 'name', x, y: 24 }, `rank ${r}`));
      cell(x, 36, 90, 60, `Q of part ${r}`, true);
      cell(x + 100, 36, 100, 60, `K, V of ${from}`, from === r);
      svg.append(s('text', { class: 'head', x, y: 118 }, `done: ${Array.from({ length: round + 1 }, (_, i) => (r - i + p) % p).join(', ')}`));
      svg.append(s('path', { class: 'ring', d: r < p - 1 ? `M${x + 205} 66 h34` : `M${x + 150} 100 V140 H16 V66 H18` }), s('polygon', { class: 'tip', points: r < p - 1 ? `${x + 246},66 ${x + 236},61 ${x + 236},71` : '29,66 19,61 19,71' }));
    }
    svg.append(s('text', { class: 'name', x: 500, y: 180, 'text-anchor': 'middle' }, `round ${round + 1} of ${p}: while it attends to these keys, every rank passes them to the next`));
  } else {
    for (let r = 0; r < p; ++r) {
      for (let head = 0; head < p; ++head) {
        cell(40 + head * 80, 30 + r * 34, 78, 32, `s${r} h${head}`, head === 0);
        cell(620 + head * 80, 30 + r * 34, 78, 32, `s${head} h${r}`, r === 0);
      }
      svg.append(s('text', { class: 'head', x: 34, y: 46 + r * 34, 'text-anchor': 'end' }, `r${r}`), s('text', { class: 'head', x: 614, y: 46 + r * 34, 'text-anchor': 'end' }, `r${r}`));
    }
    svg.append(s('text', { class: 'name', x: 470, y: 95, 'text-anchor': 'middle' }, 'all-to-all'), s('path', { class: 'ring', d: 'M410 110 h120' }), s('polygon', { class: 'tip', points: '540,110 528,104 528,116' }));
    svg.append(s('text', { class: 'head', x: 200, y: 195, 'text-anchor': 'middle' }, 'a part of the sequence, all heads'), s('text', { class: 'head', x: 780, y: 195, 'text-anchor': 'middle' }, 'the whole sequence, some heads: attention runs here'));
  }
  return svg;
}

const sequence: Topic = {
  key: 'sequence', title: 'Long sequences: ring attention and Ulysses',
  text: 'Each rank holds a part of the sequence. Ring attention passes keys and values around; Ulysses turns parts of the sequence into groups of heads by an all-to-all, and back.',
  controls: (values, changed) => h('fieldset', { class: 'controls' }, h('legend', {}, 'Training of Llama 2 7B'),
    range('Sequence', 'tokens', { min: 14, max: 17 }, wholeNumber(values, 'tokens', 15, 14, 17), (n) => `${2 ** (n - 10)}k tokens`, (n) => changed({ tokens: String(n) })),
    range('Ranks that share it', 'parts', { min: 1, max: 3 }, wholeNumber(values, 'parts', 3, 1, 3), (n) => String(2 ** n), (n) => changed({ parts: String(n) })),
    range('Round of the drawing', 'round', { min: 0, max: 3 }, wholeNumber(values, 'round', 0, 0, 3), (n) => String(n + 1), (n) => changed({ round: String(n) }))),
  figure: async (values, show) => {
    const whole = (simulated: HTMLElement | null) => h('div', {},
      h('figure', {}, h('figcaption', {}, 'Ring attention on four ranks'), sequenceDrawing('ring', wholeNumber(values, 'round', 0, 0, 3))),
      h('figure', {}, h('figcaption', {}, 'Ulysses on four ranks: s is a part of the sequence, h a group of heads'), sequenceDrawing('ulysses', 0)), simulated);
    const parts = 2 ** wholeNumber(values, 'parts', 3, 1, 3);
    const set = ['cluster.nodes=1', `parallel.cp=${parts}`, `parallel.dp=${8 / parts}`, `parallel.global_batch=${8 / parts}`, `model.seq=${2 ** wholeNumber(values, 'tokens', 15, 14, 17)}`];
    return whole(await stepFigure([{ name: 'ring attention', scenario: 'sequence-ring', set }, { name: 'Ulysses', scenario: 'sequence-ulysses', set }], 'time', (figure, left) => show(whole(figure), left)));
  },
};

// ---- Data parallelism.

const kWorkers = [2, 4, 8, 16, 32];
export const server: Topic = {
  key: 'server', title: 'Parameter server against all-reduce',
  text: 'The link of one server carries the gradients and weights of every worker, so its time grows with the workers. A ring all-reduce sends 2(n-1)/n of the gradients over every link, however many workers there are.',
  controls: (values, changed) => h('fieldset', { class: 'controls' }, h('legend', {}, 'Training of ResNet-50'),
    range('Servers', 'servers', { min: 1, max: 8 }, wholeNumber(values, 'servers', 1, 1, 8), String, (n) => changed({ servers: String(n) }))),
  figure: async (values) => {
    const servers = wholeNumber(values, 'servers', 1, 1, 8);
    const variants = (set: string[]): Variant[] => kWorkers.map((n) => ({ name: `${n} workers`, scenario: 'parameter-server', set: [`cluster.ranks=${n}`, ...set] }));
    const byServer = variants([`parallel.servers=${servers}`]);
    const byRing = variants(['parallel.exchange=all_reduce', 'parallel.algorithms.dp=ring']);
    const [a, b] = [await simulate(byServer), await simulate(byRing)];
    const times = (made: typeof a.made) => kWorkers.map((n) => made.find((each) => each.step.ranks === n)?.step.step_time_s ?? null);
    return h('div', {}, ...a.problems, ...b.problems,
      curves({ title: 'Time of a step as workers grow', across: 'workers', along: 'step', x: kWorkers, xText: String, yText: seconds, yValue: time, logX: true,
        curves: [{ name: `${servers} parameter server${servers === 1 ? '' : 's'}`, values: times(a.made) }, { name: 'ring all-reduce', values: times(b.made) }] }),
      stepTable([...a.made.map((each) => ({ ...each, variant: { ...each.variant, name: `server, ${each.variant.name}` } })), ...b.made.map((each) => ({ ...each, variant: { ...each.variant, name: `ring, ${each.variant.name}` } }))]),
      commandsOf([byServer.at(-1)!, byRing.at(-1)!]));
  },
};

const kMicro = [1, 2, 4];
export const accumulation: Topic = {
  key: 'accumulation', title: 'Gradient accumulation',
  text: 'Each GPU computes several microbatches and adds their gradients before one all-reduce: the same global batch with less memory for activations, and the communication of one step.',
  controls: (values, changed) => h('fieldset', { class: 'controls' }, h('legend', {}, 'Training of GPT-2 medium on eight V100'),
    range('Sequences per GPU and step', 'batch', { min: 2, max: 5 }, wholeNumber(values, 'batch', 3, 2, 5), (n) => String(2 ** n), (n) => changed({ batch: String(n) }))),
  figure: (values, show) => {
    const each = 2 ** wholeNumber(values, 'batch', 3, 2, 5);
    return stepFigure(kMicro.filter((micro) => micro <= each).map((micro) => ({
      name: `${each / micro} x ${micro} sequence${micro === 1 ? '' : 's'}`, scenario: 'data-parallel-from-scratch', set: [`parallel.micro_batch=${micro}`, `parallel.global_batch=${8 * each}`],
    })), 'both', show);
  },
};

export const host: Topic = {
  key: 'host', title: 'Averaging through the host',
  text: 'Without links between the GPUs, every GPU copies its gradients to the CPU over PCIe and reads the mean back. With an all-reduce the GPUs exchange chunks among themselves.',
  controls: (values, changed) => h('fieldset', { class: 'controls' }, h('legend', {}, 'Training of GPT-2 small'),
    range('GPUs', 'gpus', { min: 1, max: 3 }, wholeNumber(values, 'gpus', 2, 1, 3), (n) => String(2 ** n), (n) => changed({ gpus: String(n) }))),
  figure: (values, show) => {
    const gpus = 2 ** wholeNumber(values, 'gpus', 2, 1, 3);
    const set = [`cluster.ranks=${gpus}`, `parallel.global_batch=${8 * gpus}`];
    return stepFigure([{ name: 'through the host', scenario: 'host-average', set }, { name: 'all-reduce', scenario: 'host-average', set: [...set, 'parallel.exchange=all_reduce'] }], 'time', show);
  },
};

export const oneDevice: Topic = {
  key: 'device', title: 'One device',
  text: 'A step is a forward pass, a backward pass of about twice the work, and an update. Memory holds weights, gradients and optimizer states, which do not depend on the batch, and activations, which grow with it.',
  controls: (values, changed) => h('fieldset', { class: 'controls' }, h('legend', {}, 'Training of GPT-2 medium on one V100'),
    range('Largest batch', 'batch', { min: 1, max: 4 }, wholeNumber(values, 'batch', 3, 1, 4), (n) => `${2 ** n} sequences`, (n) => changed({ batch: String(n) }))),
  figure: (values, show) => {
    const most = wholeNumber(values, 'batch', 3, 1, 4);
    return stepFigure(Array.from({ length: most + 1 }, (_, i) => 2 ** i).map((batch) => ({
      name: `batch ${batch}`, scenario: 'data-parallel-from-scratch', set: ['cluster.ranks=1', `parallel.micro_batch=${batch}`, `parallel.global_batch=${batch}`],
    })), 'both', show);
  },
};

export const averaging: Topic = {
  key: 'averaging', title: 'Average gradients, or parameters now and then',
  text: 'Replicas may also train on their own and average their parameters every few steps: less communication, but no longer the same mathematics as one large batch.',
  controls: () => null,
  figure: (_, show) => stepFigure([
    { name: 'gradients', scenario: 'data-parallel-from-scratch', set: [] },
    { name: 'parameters', scenario: 'data-parallel-from-scratch', set: ['parallel.exchange=parameter_averaging'] },
    { name: 'every 2nd step', scenario: 'data-parallel-from-scratch', set: ['parallel.exchange=parameter_averaging', 'parallel.average_every=2'] },
  ], 'time', show),
};

export const topics: Topic[] = [zero, tensor, sequence, server, accumulation, averaging, host, oneDevice];
export const topicOf = (key: string): Topic => topics.find((each) => each.key === key) ?? zero;

/** Thrown where a figure's values have changed while it was simulated. */
class NoLonger extends Error {}

/** Controls and figure of one topic; the figure follows the controls. */
export function topicFigure(topic: Topic, values: Values, remember: Changed): HTMLElement {
  const figure = h('div', { class: 'result' }, h('p', { class: 'busy' }, 'Simulating ...'));
  let turn = 0;
  let waiting = 0;
  const draw = async () => {
    const mine = ++turn;
    const wanted = () => {
      if (mine !== turn) throw new NoLonger();
    };
    const show: Show = (now, left) => {
      wanted();
      put(figure, h('p', { class: 'busy', role: 'status' }, left > 0 ? `Simulating ${left} step${left === 1 ? '' : 's'} ...` : ''), now);
    };
    try {
      const made = await topic.figure(values, show);
      wanted();
      put(figure, made);
    } catch (error) {
      if (!(error instanceof NoLonger)) throw error;
    }
  };
  const controls = topic.controls(values, (next) => {
    Object.assign(values, next);
    remember(next);
    clearTimeout(waiting);
    waiting = window.setTimeout(() => void draw(), 150);
  });
  void draw();
  return h('div', { class: 'topic', 'data-topic': topic.key }, controls ? h('div', { class: 'panel-controls' }, controls) : null, figure);
}

export function memoryView(root: HTMLElement, values: Values, remember: Changed): void {
  const show = (key: string) => {
    const topic = topicOf(key);
    for (const tab of tabs) {
      const on = tab.dataset.topic === topic.key;
      tab.setAttribute('aria-selected', String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    put(panel, h('h2', {}, topic.title), h('p', { class: 'lead' }, topic.text), topicFigure(topic, values, remember));
  };
  const tabs = topics.map((topic) => h('button', { type: 'button', role: 'tab', 'aria-controls': 'topic', 'data-topic': topic.key, click: () => {
    for (const key of Object.keys(values)) delete values[key];
    values.topic = topic.key;
    history.replaceState(null, '', `#/memory?topic=${topic.key}`);
    show(topic.key);
  } }, topic.title.split(':')[0]!));
  const panel = h('div', { id: 'topic', role: 'tabpanel' });
  put(root, h('h1', {}, 'Memory and parallelism'), h('div', { role: 'tablist', class: 'tabs', 'aria-label': 'Topics', keydown: (event) => {
    const key = (event as KeyboardEvent).key;
    const by = key === 'ArrowRight' ? 1 : key === 'ArrowLeft' ? -1 : 0;
    if (by === 0) return;
    const now = tabs.findIndex((each) => each.getAttribute('aria-selected') === 'true');
    const next = tabs[(now + by + tabs.length) % tabs.length]!;
    next.click();
    next.focus();
  } }, ...tabs), panel);
  show(values.topic ?? 'zero');
}

