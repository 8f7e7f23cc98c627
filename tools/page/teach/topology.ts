// The cluster as a graph, with the transfers of one instant on its links.
import { s } from './dom';
import { inFlight, type Film } from './film';
import { rate } from './units';

interface Point {
  x: number;
  y: number;
}

const kWidth = 480;
const kHeight = 340;
const kLayers: string[][] = [['core'], ['spine'], ['leaf'], ['nic'], ['pcie_switch', 'cpu'], ['nvswitch'], ['gpu', 'host']];

function circle(ids: number[], at: Map<number, Point>): void {
  ids.forEach((id, i) => {
    const angle = (2 * Math.PI * i) / ids.length - Math.PI / 2;
    at.set(id, { x: kWidth / 2 + 185 * Math.cos(angle), y: kHeight / 2 + 135 * Math.sin(angle) });
  });
}

function grid(ids: number[], columns: number, at: Map<number, Point>): void {
  const rows = Math.ceil(ids.length / columns);
  ids.forEach((id, i) => at.set(id, {
    x: 40 + ((kWidth - 80) * (i % columns)) / Math.max(1, columns - 1),
    y: 40 + ((kHeight - 80) * Math.floor(i / columns)) / Math.max(1, rows - 1),
  }));
}

/** Vertices that a rank is on or a transfer passes. */
function usedVertices(film: Film): number[] {
  const used = new Set<number>();
  for (const member of film.graph.members) if (member !== null) used.add(member);
  for (const route of film.graph.routes)
    for (const link of route.links) used.add(film.graph.links[link]![0]).add(film.graph.links[link]![1]);
  return [...used].sort((a, b) => a - b);
}

function layout(film: Film): Map<number, Point> {
  const at = new Map<number, Point>();
  const used = usedVertices(film);
  const kind = (id: number) => film.graph.vertices[id]!.kind;
  const ends = used.filter((id) => kind(id) === 'gpu' || kind(id) === 'host');
  const others = used.filter((id) => !ends.includes(id));
  if (others.length === 0 && film.graph.dimensions.length === 2) {
    grid(ends, film.graph.dimensions[0]!, at);
  } else if (others.length <= 1) {
    circle(ends, at);
    if (others.length === 1) at.set(others[0]!, { x: kWidth / 2, y: kHeight / 2 });
  } else {
    const rows = kLayers.map((kinds) => used.filter((id) => kinds.includes(kind(id)))).filter((row) => row.length > 0);
    rows.forEach((row, y) => row.forEach((id, x) => at.set(id, {
      x: 20 + ((kWidth - 40) * (x + 0.5)) / row.length,
      y: 30 + ((kHeight - 60) * y) / (rows.length - 1),
    })));
  }
  return at;
}

/** Draws the graph once; `show` lights what is in flight. */
export class TopologyView {
  readonly element: SVGSVGElement;
  private readonly at: Map<number, Point>;
  private readonly moving = s('g', {});
  private readonly drawn: boolean;
  private readonly onGrid: boolean;
  private readonly thin: number; // of many lines

  constructor(private readonly film: Film) {
    this.at = layout(film);
    this.drawn = film.graph.vertices.length > 0;
    this.thin = Math.min(1, 14 / this.at.size);
    this.onGrid = film.graph.dimensions.length === 2;
    this.element = s('svg', { viewBox: `0 0 ${kWidth} ${kHeight}`, class: 'topology', role: 'img', 'aria-label': `Links of ${film.cluster} and transfers on them` });
    if (this.drawn) this.draw();
    else this.element.append(s('text', { x: kWidth / 2, y: kHeight / 2, 'text-anchor': 'middle' }, 'too many links to draw'));
  }

  private draw(): void {
    const { links, vertices, members } = this.film.graph;
    const seen = new Set<string>();
    const cables = s('g', { class: 'cables' });
    for (const [from, to] of links) {
      const a = this.at.get(from);
      const b = this.at.get(to);
      const key = from < to ? `${from} ${to}` : `${to} ${from}`;
      if (!a || !b || seen.has(key)) continue;
      seen.add(key);
      cables.append(s('path', { d: this.line(a, b) }));
    }
    this.element.append(cables, this.moving);
    const rankOf = new Map(members.map((vertex, rank) => [vertex, rank]));
    const radius = this.at.size > 40 ? 7 : this.at.size > 18 ? 10 : 15;
    for (const [id, point] of this.at) {
      const rank = rankOf.get(id);
      const text = rank === undefined ? '' : rank < this.film.ranks ? String(rank) : `s${rank - this.film.ranks}`;
      const group = s('g', { class: rank === undefined ? 'switch' : 'rank' }, s('title', {}, vertices[id]!.name));
      group.append(rank === undefined
        ? s('rect', { x: point.x - radius, y: point.y - radius * 0.7, width: radius * 2, height: radius * 1.4, rx: 3 })
        : s('circle', { cx: point.x, cy: point.y, r: radius }));
      group.append(s('text', { x: point.x, y: point.y, 'text-anchor': 'middle', 'dominant-baseline': 'central', style: `font-size: ${radius * 0.95}px` }, text));
      this.element.append(group);
    }
  }

  /** The links that close the rows and columns of a torus go around them. */
  private wraps(a: Point, b: Point): boolean {
    if (!this.onGrid) return false;
    const { columns, rows } = this.spacing();
    return Math.abs(b.x - a.x) > 1.2 * columns || Math.abs(b.y - a.y) > 1.2 * rows;
  }

  private spacing(): { columns: number; rows: number } {
    const [columns = 1, rows = 1] = this.film.graph.dimensions;
    return { columns: (kWidth - 80) / Math.max(1, columns - 1), rows: (kHeight - 80) / Math.max(1, rows - 1) };
  }

  private line(a: Point, b: Point): string {
    if (!this.wraps(a, b)) return `M${a.x} ${a.y} L${b.x} ${b.y}`;
    const flat = Math.abs(b.x - a.x) > Math.abs(b.y - a.y);
    const middle = { x: (a.x + b.x) / 2 + (flat ? 0 : 44), y: (a.y + b.y) / 2 + (flat ? 44 : 0) };
    return `M${a.x} ${a.y} Q${middle.x} ${middle.y} ${b.x} ${b.y}`;
  }

  /** Links with a transfer at this instant, with the sum of the mean rates of their transfers. */
  show(ps: number): void {
    if (!this.drawn) return;
    const { links, routes } = this.film.graph;
    const load = new Map<number, number>();
    for (const each of inFlight(this.film, ps)) {
      const route = routes[each.route]!;
      for (const link of route.links) load.set(link, (load.get(link) ?? 0) + (each.rate_bytes_per_s ?? 0) / route.paths);
    }
    this.moving.replaceChildren();
    for (const [link, sum] of load) {
      const [from, to, bandwidth] = links[link]!;
      const a = this.at.get(from);
      const b = this.at.get(to);
      if (a && b) this.arrow(a, b, sum, Math.min(1, sum / bandwidth), load.size <= 24);
    }
  }

  private arrow(a: Point, b: Point, sum: number, use: number, named: boolean): void {
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const [ux, uy] = [(b.x - a.x) / length, (b.y - a.y) / length];
    if (this.wraps(a, b)) {
      const flat = Math.abs(b.x - a.x) > Math.abs(b.y - a.y);
      this.moving.append(s('path', { class: 'moving', fill: 'none', d: this.line(a, b), 'stroke-width': 1.5 + 3.5 * use }));
      const to = flat ? { x: b.x - Math.sign(b.x - a.x) * 14, y: b.y + 12 } : { x: b.x + 12, y: b.y - Math.sign(b.y - a.y) * 14 };
      this.moving.append(s('circle', { class: 'tip', cx: to.x, cy: to.y, r: 4.5 }));
      return;
    }
    // Both directions of a cable side by side.
    const [sx, sy] = [-uy * 4, ux * 4];
    const [x1, y1, x2, y2] = [a.x + ux * 16 + sx, a.y + uy * 16 + sy, b.x - ux * 17 + sx, b.y - uy * 17 + sy];
    const tip = `${x2 + ux * 7},${y2 + uy * 7} ${x2 - uy * 5},${y2 + ux * 5} ${x2 + uy * 5},${y2 - ux * 5}`;
    this.moving.append(s('line', { class: 'moving', x1, y1, x2, y2, 'stroke-width': (1.5 + 3.5 * use) * this.thin }), s('polygon', { class: 'tip', points: tip }));
    if (!named) return;
    // Nearer to the end that is farther from the middle, where there is more space.
    const far = (p: Point) => Math.hypot(p.x - kWidth / 2, p.y - kHeight / 2);
    const t = far(a) > far(b) + 1 ? 0.36 : far(b) > far(a) + 1 ? 0.64 : 0.5;
    this.moving.append(s('text', { class: 'rate', x: x1 + (x2 - x1) * t - uy * 27, y: y1 + (y2 - y1) * t + ux * 10, 'text-anchor': 'middle', 'dominant-baseline': 'central' }, rate(sum)));
  }
}
