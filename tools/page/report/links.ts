/// What lights up in the figures of the page when an operation is selected.
import type { Link, Rank } from './data';
import { frameAround } from './reader';

const kSvg = 'http://www.w3.org/2000/svg';

function clear(): void {
  document.querySelectorAll('.marker.selected').forEach((each) => each.remove());
  document.querySelectorAll('tr[aria-current]').forEach((each) => each.removeAttribute('aria-current'));
}

/// The time of the operation in every plot over the step. Times in seconds.
function markTime(start: number, end: number): void {
  for (const plot of document.querySelectorAll<SVGGElement>('[data-time]')) {
    const [from, to, x, y, width, height] = plot.dataset.time!.split(' ').map(Number) as [number, number, number, number, number, number];
    if (end < from || start > to) continue;
    const place = (at: number): number => x + (width * (Math.min(Math.max(at, from), to) - from)) / (to - from);
    const group = document.createElementNS(kSvg, 'g');
    group.setAttribute('class', 'marker selected at-time');
    const left = place(start);
    const wide = Math.max(1.5, place(end) - left);
    for (const [color, grow, opacity] of [['#ffffff', 1.5, 0.8], ['#000000', 0, 0.75]] as const) {
      const rect = document.createElementNS(kSvg, 'rect');
      rect.setAttribute('x', String(left - grow));
      rect.setAttribute('y', String(y - 6));
      rect.setAttribute('width', String(wide + 2 * grow));
      rect.setAttribute('height', String(height + 6));
      rect.setAttribute('fill', wide > 6 ? 'none' : color);
      rect.setAttribute('stroke', wide > 6 ? color : 'none');
      rect.setAttribute('stroke-width', String(1.5 + 2 * grow));
      rect.setAttribute('opacity', String(opacity));
      group.append(rect);
    }
    plot.ownerSVGElement!.append(group);
  }
}

/// The row of the rank's stage in the pipeline chart.
function markStage(rank: Rank): void {
  if (rank.role.stage < 0) return;
  for (const panel of document.querySelectorAll<SVGGElement>('#pipeline ~ figure g.panel')) {
    const row = panel.querySelectorAll<SVGGElement>('g.stage')[rank.role.stage];
    if (row) frameAround(panel.ownerSVGElement!, row.getBBox(), 'selected stage-row');
  }
}

const plain = (kind: string): string => kind.replaceAll('_', ' ');

/// A thick copy of a link's line behind it, black on white.
function lineAround(line: SVGGElement): void {
  const path = line.querySelector('path')!;
  const group = document.createElementNS(kSvg, 'g');
  group.setAttribute('class', 'marker selected link');
  const width = Number(path.getAttribute('stroke-width'));
  for (const [color, more] of [['#ffffff', 5.5], ['#000000', 3.2]] as const) {
    const copy = path.cloneNode() as SVGPathElement;
    copy.setAttribute('stroke', color);
    copy.setAttribute('stroke-width', String(width + more));
    group.append(copy);
  }
  line.before(group);
}

/// The links of the operation in the topology, in the plots of traffic and in the table of links.
function markLinks(links: Map<number, Link>, group: string): void {
  const names = new Set([...links.values()].map((each) => each.name));
  const kinds = new Set([...links.values()].map((each) => plain(each.kind)));
  for (const track of document.querySelectorAll<SVGGElement>('#links ~ figure g.track')) {
    const name = track.querySelector('title')?.textContent?.split(': ')[0];
    const of = name?.startsWith('all ') ? plain(name.slice(4)) : undefined;
    if (name && (name === group || names.has(name) || (of && kinds.has(of))))
      frameAround(track.ownerSVGElement!, track.getBBox(), 'selected link-row');
  }
  for (const line of document.querySelectorAll<SVGGElement>('[data-link]')) {
    const of = line.dataset.link!;
    if (of.startsWith('#') && links.has(Number(of.slice(1)))) lineAround(line);
    else if (kinds.has(plain(of))) frameAround(line.ownerSVGElement!, line.getBBox(), 'selected link');
  }
  for (const row of document.querySelectorAll('#links ~ .wide tbody tr')) {
    const name = row.querySelector('th')?.textContent;
    if (name && kinds.has(plain(name))) row.setAttribute('aria-current', 'true');
  }
}

/// `links`: those that the operation uses.
export function mark(rank: Rank | undefined, start: number, end: number, links: Map<number, Link>, group: string): void {
  clear();
  if (!rank) return;
  markTime(start / 1e12, end / 1e12);
  markStage(rank);
  markLinks(links, group);
}

/// Calls `take` with the plot's kind, the stage (-1: none) and the time of a click in a plot over time.
export function onPlots(take: (stage: number, at: number) => void): void {
  for (const plot of document.querySelectorAll<SVGGElement>('[data-time]')) {
    const [from, to, x, , width] = plot.dataset.time!.split(' ').map(Number) as [number, number, number, number, number];
    plot.addEventListener('click', (event) => {
      const svg = plot.ownerSVGElement!;
      const matrix = svg.getScreenCTM();
      if (!matrix) return;
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(matrix.inverse());
      const at = from + ((point.x - x) / width) * (to - from);
      const row = (event.target as Element).closest('g.stage');
      const stage = row ? [...plot.querySelectorAll('g.stage')].indexOf(row as SVGGElement) : -1;
      if (at >= from && at <= to) take(stage, at * 1e12);
    });
  }
}
