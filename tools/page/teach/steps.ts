// Training steps next to each other: where the time goes, and what a GPU holds.
import { details, h, s, table } from './dom';
import { ask, askCommand } from './engine';
import { count, gigabytes, memory, seconds, share, size, time } from './units';

export interface Step {
  scenario: string;
  ranks: number;
  step_time_s: number;
  samples_per_s: number;
  tokens_per_s: number | null;
  mfu_fraction: number | null;
  memory: { peak_bytes: number; capacity_bytes: number | null; fits: boolean; model_states_bytes: number; categories_bytes: { [name: string]: number } };
  breakdown: {
    computation_s: number;
    exposed_communication_s: { [group: string]: number };
    bubble_s: number;
    launch_overhead_s: number;
    waiting_s: number;
    communication: { group: string; operations: number; bytes: number; transfer_s: number; exposed_s: number }[];
  };
  passes: { stage: string; spans: { work: string; microbatch: number; chunk: number; start_ps: number; end_ps: number }[] }[];
}

export interface Variant {
  name: string;
  scenario: string;
  set: string[];
}

export interface Made {
  variant: Variant;
  step: Step;
}

export function stepRequest(variant: Variant) {
  return { do: 'step', scenario: variant.scenario, set: variant.set };
}
export function runCommand(variant: Variant): string {
  return ['lockstep run', variant.scenario, ...variant.set.map((each) => `--set ${each.includes(' ') ? `'${each}'` : each}`), '--ignore-memory'].join(' ');
}

/** Puts a figure on the page before all of its steps are simulated; `left` of them are not. Throws if it is no longer wanted. */
export type Show = (figure: HTMLElement | null, left: number) => void;

export async function simulate(variants: Variant[], each?: (made: Made[], problems: HTMLElement[]) => void): Promise<{ made: Made[]; problems: HTMLElement[] }> {
  const made: Made[] = [];
  const problems: HTMLElement[] = [];
  for (const variant of variants) {
    each?.(made, problems);
    try {
      made.push({ variant, step: await ask<Step>(stepRequest(variant)) });
    } catch (error) {
      problems.push(h('p', { class: 'problem', role: 'alert' }, `${variant.name}: ${error instanceof Error ? error.message : String(error)}`));
    }
  }
  return { made, problems };
}

export type Part = { name: string; amount: number };

function timeParts({ breakdown }: Step): Part[] {
  return [
    { name: 'computation', amount: breakdown.computation_s },
    ...Object.entries(breakdown.exposed_communication_s).map(([group, amount]) => ({ name: `exposed ${group}`, amount })),
    { name: 'bubble', amount: breakdown.bubble_s }, { name: 'launches', amount: breakdown.launch_overhead_s }, { name: 'waiting', amount: breakdown.waiting_s },
  ].filter((each) => each.amount > 0);
}

function memoryParts(step: Step): Part[] {
  return Object.entries(step.memory.categories_bytes).map(([name, amount]) => ({ name: name.replaceAll('_', ' '), amount })).filter((each) => each.amount > 0);
}

/** Stacked bars; each part has its name in it where there is room, a pattern, and a line in the legend. */
export function bars(title: string, rows: { name: string; parts: Part[]; total: number }[], text: (n: number) => string, limit?: number | null): HTMLElement {
  const names = [...new Set(rows.flatMap((row) => row.parts.map((part) => part.name)))];
  const narrow = innerWidth < 640;
  const left = narrow ? 120 : 190;
  const wide = narrow ? 520 : 1000;
  const high = 46;
  const most = Math.max(...rows.map((row) => row.total), limit ?? 0) || 1;
  const x = (n: number) => left + ((wide - left - 110) * n) / most;
  const svg = s('svg', { viewBox: `0 0 ${wide} ${high * rows.length + (limit ? 22 : 6)}`, class: 'bars', role: 'img', 'aria-label': `${title}; the table below has the numbers` });
  rows.forEach((row, i) => {
    svg.append(s('text', { x: left - 10, y: high * (i + 0.5), 'text-anchor': 'end', 'dominant-baseline': 'central', class: 'name' }, row.name));
    let at = 0;
    for (const part of row.parts) {
      const index = names.indexOf(part.name) % 8;
      const width = x(at + part.amount) - x(at);
      svg.append(s('rect', { class: `bar b${index}`, x: x(at), y: high * i + 7, width, height: high - 14 }, s('title', {}, `${part.name}: ${text(part.amount)}`)));
      if (width > part.name.length * 7.5 + 6)
        svg.append(s('text', { class: `bar b${index}`, x: x(at) + width / 2, y: high * (i + 0.5), 'text-anchor': 'middle', 'dominant-baseline': 'central' }, part.name));
      else if (width > 18)
        svg.append(s('text', { class: `bar b${index}`, x: x(at) + width / 2, y: high * (i + 0.5), 'text-anchor': 'middle', 'dominant-baseline': 'central' }, String(names.indexOf(part.name) + 1)));
      at += part.amount;
    }
    svg.append(s('text', { x: x(at) + 8, y: high * (i + 0.5), 'dominant-baseline': 'central', class: 'total' }, text(row.total)));
  });
  if (limit) {
    svg.append(s('line', { class: 'limit', x1: x(limit), x2: x(limit), y1: 0, y2: high * rows.length + 4 }));
    svg.append(s('text', { class: 'name', x: x(limit), y: high * rows.length + 17, 'text-anchor': 'end' }, `memory of the GPU: ${text(limit)}`));
  }
  return h('figure', {}, h('figcaption', {}, title), svg,
    h('p', { class: 'legend' }, ...names.map((name, i) => h('span', { class: `key b${i % 8}` }, `${i + 1} ${name}`))));
}

export function timeBars(made: Made[], title = 'Where the time of a step goes'): HTMLElement {
  return bars(title, made.map(({ variant, step }) => ({ name: variant.name, parts: timeParts(step), total: step.step_time_s })), seconds);
}

export function memoryBars(made: Made[], title = 'What the fullest GPU holds at its peak'): HTMLElement {
  // Far to the right it would leave no place for the bars.
  const most = Math.max(...made.map(({ step }) => step.memory.peak_bytes));
  const given = made[0]?.step.memory.capacity_bytes;
  const capacity = given && given < 4 * most ? given : null;
  return bars(title, made.map(({ variant, step }) => ({ name: variant.name, parts: memoryParts(step), total: step.memory.peak_bytes })), gigabytes, capacity);
}

export function stepTable(made: Made[]): HTMLElement {
  return table('The steps in numbers', [{ head: 'step' }, { head: 'GPUs', number: true }, { head: 'time', number: true }, { head: 'samples/s', number: true }, { head: 'MFU', number: true }, { head: 'computation', number: true }, { head: 'exposed communication', number: true }, { head: 'bubble', number: true }, { head: 'peak memory', number: true }],
    made.map(({ variant, step }) => [variant.name, count(step.ranks), time(step.step_time_s), { text: step.samples_per_s.toFixed(1), value: String(step.samples_per_s) }, step.mfu_fraction === null ? '-' : share(step.mfu_fraction), time(step.breakdown.computation_s),
      { text: seconds(Object.values(step.breakdown.exposed_communication_s).reduce((a, b) => a + b, 0)), value: '' }, time(step.breakdown.bubble_s), memory(step.memory.peak_bytes)]));
}

export function memoryTable(made: Made[]): HTMLElement {
  const names = [...new Set(made.flatMap(({ step }) => Object.keys(step.memory.categories_bytes)))].filter((name) => made.some(({ step }) => (step.memory.categories_bytes[name] ?? 0) > 0));
  return table('Memory of the fullest GPU by category', [{ head: 'step' }, ...names.map((name) => ({ head: name.replaceAll('_', ' '), number: true })), { head: 'peak', number: true }, { head: 'fits' }],
    made.map(({ variant, step }) => [variant.name, ...names.map((name) => memory(step.memory.categories_bytes[name] ?? 0)), memory(step.memory.peak_bytes), step.memory.fits ? 'yes' : 'no']));
}

export function trafficTable(made: Made[]): HTMLElement {
  return table('Communication by group', [{ head: 'step' }, { head: 'group' }, { head: 'operations', number: true }, { head: 'bytes', number: true }, { head: 'transfer', number: true }, { head: 'exposed', number: true }],
    made.flatMap(({ variant, step }) => step.breakdown.communication.map((each) => [variant.name, each.group, count(each.operations), size(each.bytes), time(each.transfer_s), time(each.exposed_s)])));
}

export function commandsOf(variants: Variant[]): HTMLElement {
  return details('The same on the command line', ...variants.flatMap((each) => [h('pre', {}, runCommand(each)), h('pre', {}, askCommand(stepRequest(each)))]));
}

/** Bars and tables of several steps; `show` gets those that are simulated so far. */
export async function stepFigure(variants: Variant[], kind: 'time' | 'memory' | 'both', show?: Show): Promise<HTMLElement> {
  const draw = (made: Made[], problems: HTMLElement[]) => (made.length === 0 ? h('div', {}, ...problems) : h('div', { class: 'steps' }, ...problems,
    kind === 'memory' ? null : timeBars(made), kind === 'time' ? null : memoryBars(made),
    stepTable(made), kind === 'time' ? details('Communication by group', trafficTable(made)) : memoryTable(made), commandsOf(variants)));
  const { made, problems } = await simulate(variants, (now, problemsNow) => show?.(now.length > 0 ? draw(now, problemsNow) : null, variants.length - now.length));
  return draw(made, problems);
}
