// 1 to 4 algorithms on one clock: step, play, scrub; chunks, links, messages and time.
import { button, details, h, perFrame, put, s, slider, table } from './dom';
import { Board, chunkNames, inFlight, instants, memberName, type Film } from './film';
import { TopologyView } from './topology';
import { bytes, count, picoseconds, rate, seconds, size, time } from './units';

const kPlaySeconds = 10; // for the longest film
const kMostTableCells = 16;

/** Chunks of every rank as a grid; text and shade say the same. */
class ChunkGrid {
  readonly element: SVGSVGElement;
  private readonly cells: { box: SVGRectElement; text: SVGTextElement | null }[][] = [];
  private readonly shown: number[][];
  private readonly cell: number; // width

  constructor(private readonly film: Film) {
    const rows = film.members;
    const columns = film.states.columns.length;
    const left = 62;
    const cell = Math.min(64, Math.max(6, (480 - left) / columns));
    this.cell = cell;
    const high = Math.min(26, Math.max(6, 420 / rows));
    const named = cell >= 18 && high >= 12;
    this.shown = film.states.initial.map((row) => row.map(() => -2));
    this.element = s('svg', { viewBox: `0 0 482 ${18 + high * rows + 2}`, class: 'chunks', role: 'img', 'aria-label': 'Contents of chunks per rank; the table below has them as text' });
    if (cell >= 18)
      film.states.columns.forEach((name, c) =>
        this.element.append(s('text', { x: left + cell * (c + 0.5), y: 12, 'text-anchor': 'middle', class: 'head' }, name)));
    for (let r = 0; r < rows; ++r) {
      if (high >= 9 || r % 8 === 0)
        this.element.append(s('text', { x: left - 5, y: 18 + high * (r + 0.5), 'text-anchor': 'end', 'dominant-baseline': 'central', class: 'head' }, memberName(film, r)));
      this.cells.push(film.states.columns.map((_, c) => {
        const box = s('rect', { x: left + cell * c, y: 18 + high * r, width: cell - 1, height: high - 1 });
        const text = named ? s('text', { x: left + cell * (c + 0.5), y: 18 + high * (r + 0.5), 'text-anchor': 'middle', 'dominant-baseline': 'central' }) : null;
        this.element.append(box);
        if (text) this.element.append(text);
        return { box, text };
      }));
    }
  }

  show(board: number[][]): void {
    board.forEach((row, r) => row.forEach((content, c) => {
      if (this.shown[r]![c] === content) return;
      this.shown[r]![c] = content;
      const { box, text } = this.cells[r]![c]!;
      const held = content < 0 ? undefined : this.film.states.contents[content]!;
      const part = held ? held.ranks.length / this.film.ranks : 0;
      box.setAttribute('class', !held ? 'empty' : part >= 1 && this.film.ranks > 1 ? 'complete' : 'part');
      box.style.setProperty('--part', String(0.15 + 0.6 * part));
      if (text) {
        const label = held?.text ?? '';
        text.textContent = label;
        const fits = Math.min(11.5, (1.45 * this.cell) / Math.max(1, label.length));
        text.style.fontSize = `${fits}px`;
        text.style.display = fits < 4.5 ? 'none' : '';
        text.setAttribute('class', part >= 1 && this.film.ranks > 1 ? 'complete' : 'part');
      }
    }));
  }
}

/** Messages over time, a row per sender, with the instant as a line. */
class MessageChart {
  readonly element: SVGSVGElement;
  private readonly cursor = s('line', { class: 'cursor', y1: 0 });
  private static readonly left = 62;
  private static readonly wide = 418;

  constructor(film: Film, private readonly end: number) {
    const high = Math.min(14, Math.max(3, 160 / film.members));
    const tall = high * film.members;
    this.element = s('svg', { viewBox: `0 0 482 ${tall + 20}`, class: 'messages', role: 'img', 'aria-label': 'Messages over time, a row per sender; odd and even rounds have other hatching' });
    const x = (ps: number) => MessageChart.left + (MessageChart.wide * ps) / this.end;
    for (let r = 0; r < film.members; ++r) {
      if (high >= 9 || r % 8 === 0) this.element.append(s('text', { x: MessageChart.left - 5, y: high * (r + 0.5), 'text-anchor': 'end', 'dominant-baseline': 'central', class: 'head' }, memberName(film, r)));
      this.element.append(s('line', { class: 'lane', x1: MessageChart.left, x2: 480, y1: high * (r + 1), y2: high * (r + 1) }));
    }
    for (const each of film.transfers)
      this.element.append(s('rect', {
        class: each.round % 2 === 1 ? 'message odd' : 'message even', x: x(each.start_ps), y: high * each.from + 0.5,
        width: Math.max(0.6, x(each.end_ps) - x(each.start_ps) - 0.4), height: Math.max(1, high - 1.5),
      }, s('title', {}, `round ${each.round}: ${memberName(film, each.from)} to ${memberName(film, each.to)}, ${bytes(each.bytes)}`)));
    this.element.append(s('line', { class: 'end', x1: x(film.time_ps), x2: x(film.time_ps), y1: 0, y2: tall }));
    this.element.append(s('text', { class: 'head', x: Math.min(480, x(film.time_ps)), y: tall + 14, 'text-anchor': 'end' }, picoseconds(film.time_ps)));
    this.cursor.setAttribute('y2', String(tall));
    this.element.append(this.cursor);
  }

  show(ps: number): void {
    const at = String(MessageChart.left + (MessageChart.wide * ps) / this.end);
    this.cursor.setAttribute('x1', at);
    this.cursor.setAttribute('x2', at);
  }
}

function costTable(film: Film): HTMLElement {
  const { cost } = film;
  const rows: Parameters<typeof table>[2] = cost.terms.map((each) => [`${each.name}: ${each.symbol}`, `${each.amount}, each ${each.each}`, time(each.time_s)]);
  if (cost.formula_s !== null) rows.push([cost.formula_is_estimate ? 'closed form (estimate)' : 'closed form', cost.formula, time(cost.formula_s)]);
  rows.push(['simulated', cost.comparison.join('; '), time(cost.simulated_s)]);
  for (const each of cost.bounds) rows.push([`lower bound: ${each.name}`, each.from, time(each.time_s)]);
  return table('Closed form, simulation and lower bound', [{ head: 'what' }, { head: 'from' }, { head: 'time', number: true }], rows);
}

class FilmPanel {
  readonly element: HTMLElement;
  private readonly board: Board;
  private readonly grid: ChunkGrid;
  private readonly topology: TopologyView;
  private readonly chart: MessageChart;
  private readonly status = h('p', { class: 'status' });
  private readonly now = h('div', {});
  private readonly contents = h('div', {});

  constructor(readonly film: Film, end: number) {
    this.board = new Board(film);
    this.grid = new ChunkGrid(film);
    this.topology = new TopologyView(film);
    this.chart = new MessageChart(film, end);
    const bound = film.cost.bound_s;
    const fact = (name: string, text: string, key?: string, value?: number | null) =>
      h('div', {}, h('dt', {}, name), h('dd', { 'data-number': key, 'data-value': key ? String(value) : undefined }, text));
    const orNone = (t: number | null) => (t === null ? 'none' : seconds(t));
    const facts = h('dl', { class: 'facts' },
      fact('time', seconds(film.time_s), 'time_s', film.time_s), fact('closed form', orNone(film.cost.formula_s), 'formula_s', film.cost.formula_s),
      fact('lower bound', orNone(bound), 'bound_s', bound), fact('rounds', String(film.rounds), 'rounds', film.rounds),
      fact('messages', String(film.transfers.length), 'messages', film.transfers.length),
      fact('sent per rank', film.cost.sent_per_rank_bytes === undefined ? '-' : bytes(film.cost.sent_per_rank_bytes)));
    this.element = h('section', { class: 'film', 'data-algorithm': film.algorithm, 'aria-label': film.algorithm },
      h('h3', {}, film.algorithm), h('p', { class: 'note' }, film.summary), facts, this.status,
      this.topology.element, h('h4', {}, film.collective === 'barrier' ? 'Ranks that each rank knows of' : 'Whose data each chunk holds'), this.grid.element,
      h('h4', {}, 'Messages over time'), this.chart.element,
      details('Closed form with its numbers, and the lower bound', costTable(film)),
      details('Table of messages in flight', this.now), details('Table of chunk contents', this.contents));
    for (const each of this.element.querySelectorAll('details')) each.addEventListener('toggle', () => this.tables());
  }

  private ps = 0;
  show(ps: number): void {
    this.ps = ps;
    this.grid.show(this.board.at(ps));
    this.topology.show(ps);
    this.chart.show(ps);
    const moving = inFlight(this.film, ps);
    const rounds = moving.map((each) => each.round);
    this.status.textContent = ps >= this.film.time_ps
      ? `Done after ${picoseconds(this.film.time_ps)}: every rank holds its result (checked).`
      : moving.length === 0 ? 'Nothing in flight.'
        : `Round ${Math.min(...rounds)}${Math.max(...rounds) > Math.min(...rounds) ? `-${Math.max(...rounds)}` : ''} of ${this.film.rounds}: ${moving.length} message${moving.length === 1 ? '' : 's'} in flight.`;
    this.tables();
  }

  private tables(): void {
    if (this.now.parentElement instanceof HTMLDetailsElement && this.now.parentElement.open)
      put(this.now, table('Messages in flight', [{ head: 'from' }, { head: 'to' }, { head: 'round', number: true }, { head: 'chunks' }, { head: 'how' }, { head: 'bytes', number: true }, { head: 'mean rate', number: true }],
        inFlight(this.film, this.ps).slice(0, 64).map((each) => [memberName(this.film, each.from), memberName(this.film, each.to), count(each.round), chunkNames(this.film, each.sent), each.combine, size(each.bytes), each.rate_bytes_per_s === null ? '-' : { text: rate(each.rate_bytes_per_s), value: String(each.rate_bytes_per_s) }])));
    if (this.contents.parentElement instanceof HTMLDetailsElement && this.contents.parentElement.open) {
      const columns = this.film.states.columns.slice(0, kMostTableCells);
      put(this.contents, table(`Chunk contents at ${picoseconds(this.ps)}`, [{ head: 'rank' }, ...columns.map((head) => ({ head }))],
        this.board.at(this.ps).slice(0, kMostTableCells).map((row, r) => [memberName(this.film, r), ...columns.map((_, c) => (row[c]! < 0 ? '' : this.film.states.contents[row[c]!]!.text))])));
    }
  }
}

/** Panels and the clock. `moved` is called with the instant, to remember it. */
export function player(films: Film[], startAt: number, moved: (ps: number) => void): HTMLElement {
  const end = Math.max(1, ...films.map((each) => each.time_ps));
  const steps = instants(films);
  const panels = films.map((each) => new FilmPanel(each, end));
  let ps = Math.min(end, Math.max(0, startAt));
  let playing = 0;
  let speed = 1;

  const clock = h('output', { class: 'clock', 'aria-live': 'off' });
  const wrapped = slider('instant', { min: 0, max: 1000 }, 0, () => '', (n) => go(Math.round((end * n) / 1000)));
  const scrub = wrapped.querySelector('input')!;
  scrub.setAttribute('aria-label', 'Instant');
  const play = button('Play', 'Play or pause (space)', () => toggle(), { class: 'play' });
  const draw = perFrame(() => {
    for (const panel of panels) panel.show(ps);
    clock.textContent = `${picoseconds(ps)} of ${picoseconds(end)}`;
    scrub.value = String(Math.round((1000 * ps) / end));
    scrub.setAttribute('aria-valuetext', picoseconds(ps));
  });
  const goWhilePlaying = (to: number) => {
    ps = Math.min(end, Math.max(0, to));
    draw();
  };
  const go = (to: number) => {
    goWhilePlaying(to);
    moved(ps);
  };
  const step = (by: 1 | -1) => {
    pause();
    go(by > 0 ? (steps.find((each) => each > ps) ?? end) : (steps.filter((each) => each < ps).at(-1) ?? 0));
  };
  // Not at every frame: browsers refuse an address that changes that often.
  const pause = () => {
    if (playing !== 0 && play.isConnected) moved(ps);
    cancelAnimationFrame(playing);
    playing = 0;
    play.textContent = 'Play';
  };
  const toggle = () => {
    if (playing !== 0) return pause();
    if (ps >= end) ps = 0;
    play.textContent = 'Pause';
    let before = performance.now();
    const tick = (now: number) => {
      const to = ps + (end * speed * (now - before)) / (1000 * kPlaySeconds);
      before = now;
      if (!play.isConnected || to >= end) {
        pause();
        if (play.isConnected) go(end);
        return;
      }
      goWhilePlaying(to);
      playing = requestAnimationFrame(tick);
    };
    playing = requestAnimationFrame(tick);
  };
  const rates = h('select', { 'aria-label': 'Speed', name: 'speed', change: () => (speed = Number(rates.value)) },
    ...['0.25', '0.5', '1', '2', '4'].map((each) => h('option', { value: each, selected: each === '1' }, `x${each}`)));
  const keys = (event: KeyboardEvent) => {
    const on = event.target as HTMLElement;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (['INPUT', 'SELECT', 'SUMMARY', 'TEXTAREA'].includes(on.tagName) && on !== scrub) return;
    const acts: Record<string, () => void> = {
      ArrowRight: () => step(1), ArrowLeft: () => step(-1), Home: () => go(0), End: () => go(end),
    };
    if (on.tagName !== 'BUTTON') acts[' '] = toggle;
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  const bar = h('div', { class: 'player', role: 'group', 'aria-label': 'Clock of all algorithms' },
    button('|<', 'To the start (Home)', () => { pause(); go(0); }), button('<', 'One event back (left arrow)', () => step(-1)), play,
    button('>', 'One event on (right arrow)', () => step(1)), button('>|', 'To the end (End)', () => { pause(); go(end); }),
    wrapped, clock, rates);
  const element = h('div', { class: 'films', tabindex: '0', 'aria-label': 'Films: space plays, arrows step', keydown: (event) => keys(event as KeyboardEvent) },
    bar, h('div', { class: `panels panels-${panels.length}` }, ...panels.map((each) => each.element)));
  draw();
  return element;
}
