// The tour: what is said of each lesson is in teach.html, which reads without this script; here are its
// figure and its question.
import { catalog, filmFigure, growthFigure, sizesFigure } from './collectives';
import { h, put, range } from './dom';
import { ask } from './engine';
import type { Film } from './film';
import { accumulation, averaging, host, oneDevice, server, topicFigure, topicOf } from './memory';
import { pipelineControls, pipelineFigure, pipelineOf, pipelineRequest, type Chart } from './pipelines';
import { predict, type Question } from './predict';
import type { Values } from './state';
import { stepRequest, type Step } from './steps';
import { bytes, gigabytes, percent, seconds } from './units';

type Remember = (values: Values) => void;
export interface Lesson {
  figure: (values: Values, remember: Remember) => HTMLElement;
  question: Question;
}

/** A figure of a collective with a few controls. */
function collective(defaults: Values, kind: 'film' | 'sizes' | 'growth', most = 16) {
  return (values: Values, remember: Remember): HTMLElement => {
    for (const [key, value] of Object.entries(defaults)) values[key] ??= value;
    const figure = h('div', { class: 'result' });
    let turn = 0;
    const draw = async () => {
      const mine = ++turn;
      const known = await catalog();
      const made = kind === 'film' ? await filmFigure(values, (next) => { Object.assign(values, next); remember(next); }, known)
        : kind === 'sizes' ? await sizesFigure(values, known) : await growthFigure(values, changed, known);
      if (mine === turn) put(figure, made);
    };
    let waiting = 0;
    const changed = (next: Values) => {
      Object.assign(values, next);
      remember(next);
      clearTimeout(waiting);
      waiting = window.setTimeout(() => void draw(), 120);
    };
    void draw();
    return h('div', {}, h('div', { class: 'panel-controls' }, h('fieldset', { class: 'controls' }, h('legend', {}, 'Choose'),
      kind === 'growth' ? null : range('Ranks', 'ranks', { min: 2, max: most }, Number(values.ranks), String, (n) => changed({ ranks: String(n), at: '' })),
      kind === 'sizes' ? null : range('Message size', 'size', { min: 3, max: 32 }, Number(values.size), (n) => bytes(2 ** n), (n) => changed({ size: String(n), at: '' })))), figure);
  };
}

function pipeline(schedules: string) {
  return (values: Values, remember: Remember): HTMLElement => {
    values.schedules ??= schedules;
    const figure = h('div', { class: 'result' });
    let turn = 0;
    const draw = async () => {
      const mine = ++turn;
      const made = await pipelineFigure(pipelineOf(values));
      if (mine === turn) put(figure, made);
    };
    void draw();
    return h('div', {}, pipelineControls(values, (next) => { Object.assign(values, next); remember(next); void draw(); }), figure);
  };
}

const step = (scenario: string, ...set: string[]) => ask<Step>(stepRequest({ name: '', scenario, set }));
const film = (algorithm: string, ranks: number, size: number) => ask<Film>({ do: 'film', collective: 'all_reduce', algorithm, cluster: 'star', ranks, size_bytes: size });
const chart = (schedule: string, values: Values) => ask<Chart>(pipelineRequest(pipelineOf(values), schedule));

/** The choice that is nearest to a number. */
function nearest(choices: [string, number][], n: number): string {
  return choices.reduce((a, b) => (Math.abs(Math.log(b[1] / n)) < Math.abs(Math.log(a[1] / n)) ? b : a))[0];
}

const kTimes: [string, number][] = [['half', 0.5], ['the same', 1], ['twice', 2], ['four times', 4], ['eight times', 8]];
const names = (choices: [string, number][]) => choices.map((each) => each[0]);

export const lessons: Lesson[] = [
  {
    figure: (values, remember) => topicFigure(oneDevice, values, remember),
    question: {
      question: 'From batch 1 to batch 8: by how much does the peak memory grow?', choices: names(kTimes),
      reveal: async () => {
        const of = (batch: number) => step('data-parallel-from-scratch', 'cluster.ranks=1', `parallel.micro_batch=${batch}`, `parallel.global_batch=${batch}`);
        const [one, eight] = [await of(1), await of(8)];
        return { right: nearest(kTimes, eight.memory.peak_bytes / one.memory.peak_bytes), because: `From ${gigabytes(one.memory.peak_bytes)} to ${gigabytes(eight.memory.peak_bytes)}: only activations grow with the batch.` };
      },
    },
  },
  {
    figure: (values, remember) => topicFigure(server, values, remember),
    question: {
      question: 'One server, from 8 to 32 workers: how does the time of a step change?', choices: names(kTimes),
      reveal: async () => {
        const [a, b] = [await step('parameter-server', 'cluster.ranks=8', 'parallel.servers=1'), await step('parameter-server', 'cluster.ranks=32', 'parallel.servers=1')];
        return { right: nearest(kTimes, b.step_time_s / a.step_time_s), because: `From ${seconds(a.step_time_s)} to ${seconds(b.step_time_s)}.` };
      },
    },
  },
  {
    figure: (values, remember) => topicFigure(host, values, remember),
    question: {
      question: 'Four GPUs behind one host: is averaging through the host faster than an all-reduce over the same PCIe?', choices: ['host', 'all-reduce', 'equal'],
      reveal: async () => {
        const [a, b] = [await step('host-average', 'cluster.ranks=4', 'parallel.global_batch=32'), await step('host-average', 'cluster.ranks=4', 'parallel.global_batch=32', 'parallel.exchange=all_reduce')];
        return { right: a.step_time_s === b.step_time_s ? 'equal' : a.step_time_s < b.step_time_s ? 'host' : 'all-reduce', because: `Host: ${seconds(a.step_time_s)}; all-reduce: ${seconds(b.step_time_s)}.` };
      },
    },
  },
  {
    figure: collective({ collective: 'all_reduce', algorithms: 'naive,ring', ranks: '4', size: '20' }, 'film'),
    question: {
      question: 'Ring all-reduce of S bytes on 4 ranks: how much does each rank send?', choices: ['S/4', 'S', '1.5 S', '2 S', '6 S'],
      reveal: async () => {
        const made = await film('ring', 4, 2 ** 20);
        const part = made.cost.sent_per_rank_bytes! / made.size_bytes;
        return { right: nearest([['S/4', 0.25], ['S', 1], ['1.5 S', 1.5], ['2 S', 2], ['6 S', 6]], part), because: `${bytes(made.cost.sent_per_rank_bytes!)} of 1 MiB: 2(n-1)/n of the message.` };
      },
    },
  },
  {
    figure: (values, remember) => h('div', {}, topicFigure(accumulation, values, remember), h('h4', {}, 'Averaging gradients or parameters'), topicFigure(averaging, {}, () => undefined)),
    question: {
      question: 'The same 8 sequences per GPU as 8 microbatches of 1 or as 2 of 4: which needs less memory?', choices: ['8 x 1', '2 x 4', 'equal'],
      reveal: async () => {
        const of = (micro: number) => step('data-parallel-from-scratch', `parallel.micro_batch=${micro}`, 'parallel.global_batch=64');
        const [one, four] = [await of(1), await of(4)];
        return { right: one.memory.peak_bytes < four.memory.peak_bytes ? '8 x 1' : '2 x 4', because: `8 x 1: ${gigabytes(one.memory.peak_bytes)} and ${seconds(one.step_time_s)}; 2 x 4: ${gigabytes(four.memory.peak_bytes)} and ${seconds(four.step_time_s)}.` };
      },
    },
  },
  {
    figure: pipeline('naive,gpipe,1f1b'),
    question: {
      question: 'Does 1F1B have a smaller bubble than GPipe?', choices: ['smaller', 'the same', 'larger'],
      reveal: async () => {
        const [a, b] = [await chart('gpipe', {}), await chart('1f1b', {})];
        const most = (of: Chart) => Math.max(...of.stages.map((each) => each.most_held_chunks));
        return { right: b.step_s === a.step_s ? 'the same' : b.step_s < a.step_s ? 'smaller' : 'larger', because: `Both ${percent(b.bubble_fraction_of_ideal)} of the ideal time; but 1F1B holds the activations of ${most(b)} microbatches, GPipe of ${most(a)}.` };
      },
    },
  },
  {
    figure: pipeline('1f1b,interleaved,zb-h1,zb-h2'),
    question: {
      question: 'Two chunks per stage (interleaved): what happens to the bubble of 1F1B?', choices: ['a quarter', 'half', 'the same', 'twice'],
      reveal: async () => {
        const [a, b] = [await chart('1f1b', {}), await chart('interleaved', {})];
        return { right: nearest([['a quarter', 0.25], ['half', 0.5], ['the same', 1], ['twice', 2]], b.bubble_fraction_of_ideal / a.bubble_fraction_of_ideal), because: `${percent(a.bubble_fraction_of_ideal)} becomes ${percent(b.bubble_fraction_of_ideal)}: (p-1)/(v m).` };
      },
    },
  },
  {
    figure: (values, remember) => topicFigure(topicOf('tensor'), values, remember),
    question: {
      question: 'Two GPUs instead of one for this MLP: how much faster is the step?', choices: ['not faster', 'less than twice', 'twice'],
      reveal: async () => {
        const [one, two] = [await step('mlp-two-gpus', 'cluster.ranks=1', 'parallel.tp=1'), await step('mlp-two-gpus')];
        const speedup = one.step_time_s / two.step_time_s;
        return { right: speedup <= 1.02 ? 'not faster' : speedup < 1.95 ? 'less than twice' : 'twice', because: `${seconds(one.step_time_s)} and ${seconds(two.step_time_s)}: ${speedup.toFixed(2)} times as fast. The all-reduce is exposed.` };
      },
    },
  },
  {
    figure: (values, remember) => topicFigure(topicOf('sequence'), values, remember),
    question: {
      question: '32k tokens on 8 GPUs of one node: which is faster?', choices: ['ring attention', 'Ulysses', 'equal'],
      reveal: async () => {
        const set = ['cluster.nodes=1', 'parallel.cp=8', 'parallel.dp=1', 'parallel.global_batch=1', 'model.seq=32768'];
        const [a, b] = [await step('sequence-ring', ...set), await step('sequence-ulysses', ...set)];
        return { right: a.step_time_s === b.step_time_s ? 'equal' : a.step_time_s < b.step_time_s ? 'ring attention' : 'Ulysses', because: `Ring: ${seconds(a.step_time_s)}; Ulysses: ${seconds(b.step_time_s)}.` };
      },
    },
  },
  {
    figure: (values, remember) => topicFigure(topicOf('zero'), values, remember),
    question: {
      question: '7.5 billion parameters on 64 GPUs: model states per GPU with ZeRO-3?', choices: ['120 GB', '31 GB', '17 GB', '1.9 GB'],
      reveal: async () => {
        const made = await step('zero-7b5-3');
        return { right: nearest([['120 GB', 120], ['31 GB', 31.4], ['17 GB', 16.6], ['1.9 GB', 1.9]], made.memory.model_states_bytes / 1e9), because: `${gigabytes(made.memory.model_states_bytes)}: 16 bytes per parameter over 64 GPUs, and ${gigabytes(made.memory.peak_bytes)} at the peak with activations and gathered layers.` };
      },
    },
  },
  {
    figure: collective({ collective: 'all_reduce', algorithms: 'ring,halving_doubling', ranks: '8', size: '13' }, 'film'),
    question: {
      question: 'Ring or halving-doubling on 8 ranks: which is faster at 8 KiB?', choices: ['ring', 'halving_doubling', 'equal'],
      reveal: async () => {
        const [a, b] = [await film('ring', 8, 8192), await film('halving_doubling', 8, 8192)];
        return { right: a.time_s < b.time_s ? 'ring' : a.time_s > b.time_s ? 'halving_doubling' : 'equal', because: `Ring: ${a.rounds} rounds, ${seconds(a.time_s)}; halving-doubling: ${b.rounds} rounds, ${seconds(b.time_s)}.` };
      },
    },
  },
  {
    figure: (values, remember) => h('div', {}, collective({ collective: 'all_reduce', algorithms: 'naive,ring,recursive_doubling,halving_doubling', size: '26' }, 'growth')(values, remember), h('h4', {}, 'Over message sizes'), collective({ collective: 'all_reduce', algorithms: 'naive,ring,recursive_doubling,halving_doubling', ranks: '8' }, 'sizes')({}, () => undefined)),
    question: {
      question: 'From 8 to 64 ranks: how do the rounds of the ring grow?', choices: ['not at all', 'as log n', 'as n', 'as n squared'],
      reveal: async () => {
        const [a, b] = [await film('ring', 8, 65536), await film('ring', 64, 65536)];
        return { right: 'as n', because: `${a.rounds} rounds become ${b.rounds}: 2(n-1).` };
      },
    },
  },
];

export function lessonFigure(index: number, values: Values, remember: Remember): HTMLElement {
  const lesson = lessons[index]!;
  return h('div', {}, lesson.figure(values, remember), h('h3', {}, 'Predict, then reveal'), predict(lesson.question));
}
