// Collectives: films side by side on one clock, times over sizes, growth over ranks.
import { growthOf, clusterOptions, clusterRequest, linkControls, linksOf, ranksOf } from './clusters';
import { curves } from './curves';
import { details, h, labelled, put, range, select, table } from './dom';
import { ask, askCommand, type Json } from './engine';
import type { Film } from './film';
import { player } from './player';
import { predict } from './predict';
import { oneOf, wholeNumber, type Values } from './state';
import { bytes, seconds, time, size, count } from './units';

export interface Algorithm {
  name: string;
  summary: string;
  rounds: string;
  sent_per_rank: string;
  time: string;
  limits: string;
  source: string;
}
interface Catalog {
  collectives: { name: string; has_root: boolean; reduces: boolean; algorithms: Algorithm[] }[];
  schedules: string[];
}
interface Sizes {
  sizes_bytes: number[];
  algorithms: { algorithm: string; rows: { time_s: number; bound_s: number; fastest: boolean }[] }[];
  left_out: { place: string; message: string }[];
  crossovers: { size_bytes: number; from: string; to: string; from_s: number; to_s: number }[];
}
interface GrowthClass {
  class: string;
  exponent: number;
}
interface Growth {
  algorithms: {
    algorithm: string;
    points: { ranks: number; rounds: number | null; busiest_bytes: number; total_bytes: number; small_time_s: number | null; large_time_s: number | null }[];
    rounds: GrowthClass | null;
    busiest_bytes: GrowthClass | null;
    small_time: GrowthClass | null;
    large_time: GrowthClass | null;
    asymptotic_time: string | null;
  }[];
  left_out: { algorithm: string; all: boolean; first: number; message: string }[];
}

const kMostAlgorithms = 4;
const kSmallest = 3; // 8 bytes as a power of two
const kLargest = 32; // 4 GiB
const kDefaults: Record<string, string> = { all_reduce: 'ring,halving_doubling' };

export const catalog = (): Promise<Catalog> => ask<Catalog>({ do: 'catalog' });

function message(error: unknown): HTMLElement {
  return h('p', { class: 'problem', role: 'alert' }, error instanceof Error ? error.message : String(error));
}

/** What the address says of a collective. */
interface Chosen {
  collective: string;
  algorithms: string[];
  size: number; // power of two
  root: number;
}

function chosenOf(values: Values, known: Catalog): Chosen {
  const collective = oneOf(values, 'collective', known.collectives.map((each) => each.name), 'all_reduce');
  const names = known.collectives.find((each) => each.name === collective)!.algorithms.map((each) => each.name);
  const asked = (values.algorithms ?? kDefaults[collective] ?? names[0]!).split(',').filter((name) => names.includes(name.split(':')[0]!));
  return {
    collective, algorithms: (asked.length > 0 ? asked : [names[0]!]).slice(0, kMostAlgorithms),
    size: wholeNumber(values, 'size', 16, kSmallest, kLargest), root: wholeNumber(values, 'root', 0, 0, 63),
  };
}

/** Films of the chosen algorithms; what cannot run is said instead. */
export async function filmFigure(values: Values, remember: (values: Values) => void, known: Catalog): Promise<HTMLElement> {
  const links = linksOf(values);
  const chosen = chosenOf(values, known);
  const films: Film[] = [];
  const problems: HTMLElement[] = [];
  const commands: HTMLElement[] = [];
  for (const algorithm of chosen.algorithms) {
    const request: { [key: string]: Json } = { do: 'film', collective: chosen.collective, algorithm, ...clusterRequest(links), root: Math.min(chosen.root, ranksOf(links) - 1), size_bytes: 2 ** chosen.size };
    try {
      const film = await ask<Film>(request);
      if (film.collective === 'barrier') film.states.columns = ['knows of'];
      films.push(film);
    } catch (error) {
      problems.push(h('p', { class: 'problem', role: 'alert' }, `${algorithm}: ${error instanceof Error ? error.message : String(error)}`));
    }
    commands.push(h('pre', {}, askCommand(request)));
  }
  const cluster = clusterOptions(links);
  const element = h('div', { class: 'view' }, ...problems);
  if (films.length > 0) element.append(player(films, Number(values.at ?? 0), (ps) => remember({ at: String(ps) })));
  element.append(details('The same on the command line',
    ...(cluster.file ? [h('p', {}, 'Save as cluster.json:'), h('pre', {}, cluster.file)] : []),
    ...chosen.algorithms.map((algorithm) =>
      h('pre', {}, `lockstep explain ${chosen.collective} --algorithm ${algorithm} ${cluster.options} --size ${2 ** chosen.size}`)),
    h('p', {}, 'What this page shows, as JSON:'), ...commands));
  return element;
}

/** Times over message sizes. */
export async function sizesFigure(values: Values, known: Catalog): Promise<HTMLElement> {
  const links = linksOf(values);
  const chosen = chosenOf(values, known);
  const sizes = Array.from({ length: 15 }, (_, i) => 2 ** (3 + 2 * i)).filter((n) => n <= 2 ** 30);
  const request = { do: 'sizes', collective: chosen.collective, algorithms: chosen.algorithms.join(','), ...clusterRequest(links), root: Math.min(chosen.root, ranksOf(links) - 1), sizes_bytes: sizes };
  try {
    const got = await ask<Sizes>(request);
    const first = got.algorithms[0]!;
    return h('div', {},
      curves({
        title: `Time of ${chosen.collective} over message size, ${ranksOf(links)} ranks, and the lower bound`, across: 'message size', along: 'time',
        x: got.sizes_bytes, xText: bytes, yText: seconds, yValue: time, logX: true, logY: true,
        curves: [...got.algorithms.map((each) => ({ name: each.algorithm, values: each.rows.map((row) => row.time_s) })),
          { name: 'lower bound', values: first.rows.map((row) => (row.bound_s > 0 ? row.bound_s : null)), dashed: true }],
        marks: got.crossovers.map((each) => ({ x: each.size_bytes, text: `${bytes(each.size_bytes)}: ${each.to}` })),
      }),
      got.crossovers.length > 0
        ? table('Sizes at which the fastest changes', [{ head: 'from size', number: true }, { head: 'fastest before' }, { head: 'fastest after' }, { head: 'time before', number: true }, { head: 'time after', number: true }],
          got.crossovers.map((each) => [size(each.size_bytes), each.from, each.to, time(each.from_s), time(each.to_s)]))
        : h('p', {}, got.algorithms.length > 1 ? 'The fastest does not change between 8 bytes and 1 GiB.' : 'Choose two algorithms or more to see where they cross.'),
      ...got.left_out.map((each) => h('p', { class: 'problem' }, `${each.place}: ${each.message}`)),
      details('The same on the command line', h('pre', {}, askCommand(request))));
  } catch (error) {
    return message(error);
  }
}

const kQuantities: Record<string, { title: string; text: (n: number) => string; of: (p: Growth['algorithms'][0]['points'][0]) => number | null; growth: (a: Growth['algorithms'][0]) => GrowthClass | null }> = {
  rounds: { title: 'Rounds', text: (n) => String(n), of: (p) => p.rounds, growth: (a) => a.rounds },
  busiest: { title: 'Bytes through the busiest rank', text: bytes, of: (p) => p.busiest_bytes, growth: (a) => a.busiest_bytes },
  small: { title: 'Time of 8 bytes', text: seconds, of: (p) => p.small_time_s, growth: (a) => a.small_time },
  large: { title: 'Time of the chosen size', text: seconds, of: (p) => p.large_time_s, growth: (a) => a.large_time },
};

/** Growth over the number of ranks. */
export async function growthFigure(values: Values, changed: (values: Values) => void, known: Catalog): Promise<HTMLElement> {
  const links = linksOf(values);
  const chosen = chosenOf(values, known);
  const quantity = oneOf(values, 'growth', Object.keys(kQuantities), 'rounds');
  const grown = growthOf(links);
  const request = { do: 'growth', collective: chosen.collective, algorithms: chosen.algorithms.join(','), ...grown.request, root: 0, small_bytes: 8, large_bytes: 2 ** chosen.size };
  try {
    const got = await ask<Growth>(request);
    const { title, text, of, growth } = kQuantities[quantity]!;
    const x = grown.ranks;
    const value = (n: number) => (text === seconds ? time(n) : text === bytes ? size(n) : count(n));
    return h('div', {},
      labelled('Quantity', select('growth', Object.entries(kQuantities).map(([key, each]) => ({ value: key, text: each.title })), quantity, (chosenQuantity) => changed({ growth: chosenQuantity }))),
      curves({
        title: `${title} of ${chosen.collective} as ranks grow`, across: 'ranks', along: title, x, xText: String, yText: text, yValue: value, logX: true, logY: quantity !== 'rounds',
        curves: got.algorithms.map((each) => ({ name: each.algorithm, values: x.map((n) => { const p = each.points.find((point) => point.ranks === n); return p ? of(p) : null; }) })),
      }),
      table('Growth classes, fitted to these measurements', [{ head: 'algorithm' }, { head: title }, { head: 'as N^' , number: true }, { head: 'asymptotic time' }],
        got.algorithms.map((each) => { const g = growth(each); return [each.algorithm, g?.class ?? 'too few points', g ? { text: g.exponent.toFixed(2), value: String(g.exponent) } : '-', each.asymptotic_time ?? '-']; })),
      ...got.left_out.map((each) => h('p', { class: 'note' }, `${each.algorithm}: ${each.all ? 'not measured' : `not at every number of ranks, first at ${each.first}`}: ${each.message}`)),
      h('p', { class: 'note measured-on' }, grown.note),
      details('The same on the command line', ...grown.commands(`lockstep complexity ${chosen.collective} --algorithms ${chosen.algorithms.join(',')}`, `--size-large ${2 ** chosen.size} --measured`).map((each) => h('pre', {}, each)), h('pre', {}, askCommand(request))));
  } catch (error) {
    return message(error);
  }
}

/** Questions whose answers are simulated. */
async function questions(values: Values, known: Catalog): Promise<HTMLElement | null> {
  const links = linksOf(values);
  const chosen = chosenOf(values, known);
  if (chosen.algorithms.length < 2) return null;
  const [a, b] = chosen.algorithms as [string, string];
  const times = async (bytesOf: number) => {
    const got = await ask<Sizes>({ do: 'sizes', collective: chosen.collective, algorithms: `${a},${b}`, ...clusterRequest(links), root: Math.min(chosen.root, ranksOf(links) - 1), sizes_bytes: [bytesOf] });
    return got.algorithms.map((each) => each.rows[0]!.time_s);
  };
  const faster = (n: number) => predict({
    question: `Which is faster at ${bytes(n)} on these ${ranksOf(links)} ranks?`, choices: [a, b, 'equal'],
    reveal: async () => {
      const [ta, tb] = (await times(n)) as [number, number];
      return { right: ta === tb ? 'equal' : ta < tb ? a : b, because: `${a} takes ${seconds(ta)}, ${b} ${seconds(tb)}.` };
    },
  });
  const crossing = predict({
    question: 'Where do the two cross?', choices: ['nowhere from 8 B to 1 GiB', 'below 64 KiB', '64 KiB to 4 MiB', 'above 4 MiB'],
    reveal: async () => {
      const got = await ask<Sizes>({ do: 'sizes', collective: chosen.collective, algorithms: `${a},${b}`, ...clusterRequest(links), root: Math.min(chosen.root, ranksOf(links) - 1), sizes_bytes: Array.from({ length: 15 }, (_, i) => 2 ** (3 + 2 * i)).filter((n) => n <= 2 ** 30) });
      const first = got.crossovers[0];
      if (!first) return { right: 'nowhere from 8 B to 1 GiB', because: 'The same one is the fastest everywhere.' };
      const right = first.size_bytes < 65536 ? 'below 64 KiB' : first.size_bytes <= 4 * 2 ** 20 ? '64 KiB to 4 MiB' : 'above 4 MiB';
      return { right, because: `From ${bytes(first.size_bytes)} on, ${first.to} is faster than ${first.from}.` };
    },
  });
  return h('div', { class: 'questions' }, faster(2 ** 16), faster(2 ** 30), crossing);
}

function algorithmChoices(all: Algorithm[], chosen: Chosen, changed: (values: Values) => void): HTMLElement {
  const boxes = all.map((each) => {
    const on = chosen.algorithms.some((name) => name.split(':')[0] === each.name);
    const box = h('input', { type: 'checkbox', name: 'algorithm', value: each.name, checked: on, change: () => {
      const now = boxes.map(({ input }) => input).filter((input) => input.checked).map((input) => input.value);
      if (now.length === 0 || now.length > kMostAlgorithms) {
        box.checked = !box.checked;
        said.textContent = `Choose 1 to ${kMostAlgorithms} algorithms.`;
        return;
      }
      changed({ algorithms: now.join(','), at: '' });
    } });
    return { input: box, element: h('label', { class: 'check', title: each.summary }, box, each.name) };
  });
  const said = h('p', { class: 'note', role: 'status' }, `1 to ${kMostAlgorithms}, side by side on one clock.`);
  return h('fieldset', { class: 'controls algorithms' }, h('legend', {}, 'Algorithms'), h('div', { class: 'checks' }, ...boxes.map((each) => each.element)), said);
}

export async function collectivesView(root: HTMLElement, values: Values, remember: (values: Values) => void): Promise<void> {
  const known = await catalog();
  const controls = h('div', { class: 'panel-controls' });
  const films = h('div', { class: 'result', 'aria-live': 'off' });
  const later = h('div', { class: 'result' });
  const busy = h('p', { class: 'busy', role: 'status' });
  let turn = 0;
  const drawControls = () => {
    const chosen = chosenOf(values, known);
    const collective = known.collectives.find((each) => each.name === chosen.collective)!;
    put(controls,
      h('fieldset', { class: 'controls' }, h('legend', {}, 'Collective'),
        labelled('Collective', select('collective', known.collectives.map((each) => ({ value: each.name })), chosen.collective, (name) => changed({ collective: name, algorithms: kDefaults[name] ?? '', at: '' }, true))),
        range('Message size', 'size', { min: kSmallest, max: kLargest }, chosen.size, (n) => bytes(2 ** n), (n) => changed({ size: String(n), at: '' })),
        collective.has_root ? range('Root', 'root', { min: 0, max: ranksOf(linksOf(values)) - 1 }, chosen.root, String, (n) => changed({ root: String(n), at: '' })) : null),
      algorithmChoices(collective.algorithms, chosen, changed),
      linkControls(linksOf(values), (next) => changed({ ...next, at: '' }, 'topology' in next)));
  };
  const draw = async () => {
    const mine = ++turn;
    busy.textContent = 'Simulating ...';
    const figure = await filmFigure(values, (next) => { Object.assign(values, next); remember(next); }, known);
    if (mine !== turn) return;
    put(films, figure);
    busy.textContent = '';
    const [asked, sizes, growth] = [await questions(values, known), await sizesFigure(values, known), await growthFigure(values, changedGrowth, known)];
    if (mine === turn) put(later, h('h2', {}, 'Predict, then reveal'), asked ?? h('p', {}, 'Choose two algorithms or more.'), h('h2', {}, 'Latency or bandwidth'), sizes, h('h2', {}, 'Growth'), growth);
  };
  let waiting = 0;
  const changed = (next: Values, anew = false) => {
    Object.assign(values, next);
    remember(next);
    if (anew) drawControls();
    clearTimeout(waiting);
    waiting = window.setTimeout(() => void draw(), 120);
  };
  const changedGrowth = (next: Values) => changed(next);
  put(root, h('h1', {}, 'Collectives'), h('p', { class: 'lead' }, 'Every message of a collective, on the links of a cluster, with the contents of every chunk. Space plays; arrows step.'), controls, busy, films, later);
  drawControls();
  await draw();
}
