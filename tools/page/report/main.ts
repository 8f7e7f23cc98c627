/// Interaction on top of a report that reads without it.
import { readStep, timeText, type Place, type Rank, type Step } from './data';
import { fillOf } from './fills';
import { helpDialog } from './help';
import { mark, onPlots } from './links';
import { LinksOverTime } from './over_time';
import { detailsOf, fill, routeOf } from './panel';
import { readFigures } from './reader';
import { Timeline } from './timeline';

const kViews = ['timeline', 'breakdown', 'pipeline', 'memory', 'links'];

function button(text: string, label: string, act: () => void): HTMLButtonElement {
  const out = document.createElement('button');
  out.type = 'button';
  out.textContent = text;
  out.setAttribute('aria-label', label);
  out.title = label;
  out.addEventListener('click', act);
  return out;
}

class LiveStep {
  private readonly timeline: Timeline;
  private readonly overTime: LinksOverTime | undefined;
  private readonly details = document.createElement('dl');
  private onPath = -1; // place in the critical path
  private restored = false; // the view that the address said

  constructor(private readonly step: Step, section: HTMLElement) {
    this.timeline = new Timeline(step);
    this.overTime = LinksOverTime.of(step);
    this.build(section);
    this.timeline.onSelect = (place) => this.selected(place);
    this.timeline.onView = () => this.remember();
    onPlots((stage, at) => this.atTime(stage, at));
    this.timeline.canvas.addEventListener('keydown', (event) => this.arrow(event));
    this.recall();
    this.restored = true;
    window.addEventListener('hashchange', () => this.recall());
  }

  private build(section: HTMLElement): void {
    const { timeline, step } = this;
    const tools = document.createElement('div');
    tools.className = 'tools live-only';
    tools.setAttribute('role', 'toolbar');
    tools.setAttribute('aria-label', 'Timeline');
    tools.append(
      button('+', 'Zoom in (w)', () => timeline.zoom(0.5)),
      button('−', 'Zoom out (s)', () => timeline.zoom(2)),
      button('◀', 'Earlier (a)', () => timeline.pan(-0.4)),
      button('▶', 'Later (d)', () => timeline.pan(0.4)),
      button('Fit', 'Fit the selected operation (f)', () => timeline.fit()),
      button('All', 'All of the step (0)', () => timeline.showAll()),
      button('‹ path', 'Previous operation of the critical path (p)', () => this.alongPath(-1)),
      button('path ›', 'Next operation of the critical path (n)', () => this.alongPath(1)));
    const view = document.createElement('div');
    view.id = 'timeline-view';
    view.className = 'live-only';
    timeline.canvas.setAttribute(
      'aria-label',
      `${step.spans} operations of ${step.ranks.length} ranks over ${timeText(step.end)}; arrow keys select one, w and s zoom, ? shows all keys`);
    view.append(timeline.canvas);
    const legend = document.createElement('ul');
    legend.className = 'legend live-only';
    for (const look of step.looks) {
      const item = document.createElement('li');
      const sample = document.createElement('canvas');
      sample.width = 24;
      sample.height = 12;
      sample.setAttribute('aria-hidden', 'true');
      const context = sample.getContext('2d')!;
      context.fillStyle = fillOf(context, look);
      context.fillRect(0, 0, 24, 12);
      item.append(sample, look.name);
      legend.append(item);
    }
    const path = document.createElement('li');
    path.textContent = '▁ black line below: on the critical path';
    legend.append(path);
    const panel = document.createElement('div');
    panel.id = 'selection';
    panel.className = 'live-panel live-only';
    panel.setAttribute('role', 'status');
    panel.setAttribute('aria-label', 'Selected operation');
    panel.append(this.details);
    const heading = section.querySelector('h2')!;
    const parts: HTMLElement[] = [tools, view, legend, panel];
    if (step.note) {
      const note = document.createElement('p');
      note.className = 'note live-only';
      note.textContent = step.note;
      parts.push(note);
    }
    heading.after(...parts);
    this.selected(undefined);
    timeline.resize();
  }

  private selected(place: Place | undefined): void {
    const span = this.timeline.span();
    if (!place || !span) {
      fill(this.details, [['operation', 'none selected: click one, or press n for the first of the critical path']]);
      this.overTime?.show(undefined);
      mark(undefined, 0, 0, new Map(), '');
      this.remember();
      return;
    }
    const { rank, operation } = this.step.packed.path;
    if (this.onPath < 0 || rank[this.onPath] !== place.rank || operation[this.onPath] !== place.operation) {
      this.onPath = -1;
      for (let i = 0; i < rank.length; ++i) if (rank[i] === place.rank && operation[i] === place.operation) this.onPath = i;
    }
    fill(this.details, detailsOf(this.step, place, span.start, span.end, this.onPath + 1));
    const of = this.step.ranks[place.rank]!;
    const group = this.step.packed.operations[of.role.operation[place.operation]!]!.group;
    const route = routeOf(this.step, place);
    const links = new Map(route?.links.map((id) => [id, this.step.links.get(id)!]));
    this.overTime?.show((span.start + span.end) / 2);
    mark(of, span.start, span.end, links, group);
    this.remember();
  }

  alongPath(by: number): void {
    const { rank, operation } = this.step.packed.path;
    if (rank.length === 0) return;
    let at = this.onPath + by;
    if (this.onPath < 0) {
      // The first that starts after what is selected, or in sight.
      const from = this.timeline.span()?.start ?? this.timeline.from;
      const startOf = (i: number): number => {
        const of = this.step.ranks[rank[i]!]!;
        return this.step.rows[of.row[operation[i]!]!]!.start[of.slot[operation[i]!]!]!;
      };
      at = 0;
      while (at + 1 < rank.length && startOf(at) < from) ++at;
      if (by < 0 && at > 0) --at;
    }
    this.onPath = Math.min(Math.max(0, at), rank.length - 1);
    this.timeline.select({ rank: rank[this.onPath]!, operation: operation[this.onPath]! }, true);
  }

  /// A click in a plot over time: what the stage, or the rank that determines the step, computes then.
  private atTime(stage: number, at: number): void {
    const row = this.step.rows.findIndex((each) => stage < 0 || each.rank.role.stage === stage);
    const place = this.timeline.nearest(Math.max(0, row), at);
    if (place) this.timeline.select(place, true);
  }

  private arrow(event: KeyboardEvent): void {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!by) return;
    event.preventDefault();
    const place = this.timeline.neighbor(by[0]!, by[1]!);
    if (place) this.timeline.select(place, true);
  }

  /// Whether the key did something.
  key(key: string): boolean {
    const { timeline } = this;
    const acts: Record<string, () => void> = {
      w: () => timeline.zoom(0.6),
      s: () => timeline.zoom(1 / 0.6),
      a: () => timeline.pan(-0.25),
      d: () => timeline.pan(0.25),
      f: () => timeline.fit(),
      '0': () => timeline.showAll(),
      n: () => this.alongPath(1),
      p: () => this.alongPath(-1),
      Escape: () => timeline.select(undefined),
    };
    acts[key]?.();
    return key in acts;
  }

  private remember(): void {
    if (!this.restored) return;
    const { timeline, step } = this;
    const state = new URLSearchParams();
    if (timeline.from > 0 || timeline.to < step.end) state.set('t', `${Math.round(timeline.from)}-${Math.round(timeline.to)}`);
    if (timeline.selected) {
      const { rank, operation } = timeline.selected;
      state.set('op', `${step.ranks[rank]!.packed.rank}.${operation}`);
    }
    const text = state.toString();
    if (text === location.hash.slice(1) || (text === '' && !location.hash.includes('='))) return;
    history.replaceState(null, '', `#${text}`);
  }

  /// The view that the address says.
  private recall(): void {
    const state = new URLSearchParams(location.hash.slice(1));
    const [from, to] = (state.get('t') ?? '').split('-').map(Number);
    const [number, operation] = (state.get('op') ?? '').split('.').map(Number);
    const rank: Rank | undefined = this.step.ranks.find((each) => each.packed.rank === number);
    if (rank && operation !== undefined && operation < rank.role.operation.length) this.timeline.select({ rank: rank.place, operation });
    if (to !== undefined && from! < to) this.timeline.show(from!, to);
  }
}

function goTo(id: string): void {
  const heading = document.getElementById(id);
  if (!heading) return;
  heading.scrollIntoView();
  const target = heading.parentElement?.querySelector<HTMLElement>('canvas[tabindex], figure, .wide');
  target?.focus({ preventScroll: true });
}

async function main(): Promise<void> {
  document.documentElement.classList.add('live');
  const help = helpDialog();
  const section = document.getElementById('timeline')?.parentElement;
  const step = section ? await readStep() : undefined;
  const live = step && section ? new LiveStep(step, section) : undefined;
  readFigures();
  // Of other pages the sections in their order.
  const views = live ? kViews : [...document.querySelectorAll('main section > h2[id]')].map((each) => each.id);
  const hint = document.createElement('p');
  hint.className = 'note live-only';
  hint.append('Keys: ', button('?', 'Show the keys', () => help.showModal()));
  document.querySelector('nav')?.after(hint);
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
    const view = views[Number(event.key) - 1];
    if (event.key === '?') help.showModal();
    else if (event.key >= '1' && event.key <= '5' && view) goTo(view);
    else if (!live?.key(event.key)) return;
    event.preventDefault();
  });
  document.documentElement.dataset.ready = 'yes';
}

void main();
