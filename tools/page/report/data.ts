/// The data of a step as `tools/lockstep/step_data` writes it, and as the timeline needs it.

export interface Look {
  name: string;
  color: string;
  pattern: number; // tools/figures/svg.hpp: plain, stripes, dots, grid, bars
}
export interface Operation {
  name: string;
  kind: string;
  purpose: string;
  group: string;
  look: number;
}
/// Links that a communication uses: of all its members' messages.
export interface Route {
  members: number[]; // sender and receiver of a message
  algorithm: string; // empty: a message
  links: number[];
  more: number; // links that are not listed
}
/// Loads of links in equal parts of the step.
export interface Loads {
  divisions: number;
  by_transfer: boolean;
  link: number[];
  use: string[]; // a letter for each part
}
interface PackedRole {
  name: string;
  stage: number;
  operation: number[];
  microbatch: number[];
  position: number[];
  stream: number[];
}
interface PackedRank {
  role: number;
  rank: number;
  host: boolean;
  gap: number[];
  time: number[];
  route: number[];
}
interface Packed {
  schema: string;
  end: number;
  note: string;
  streams: string[];
  looks: Look[];
  operations: Operation[];
  roles: PackedRole[];
  ranks: PackedRank[];
  routes: Route[];
  links: { id: number[]; name: string[]; kind: string[] };
  loads: Loads;
  path: { rank: number[]; operation: number[] };
  memory: { rank: number; categories: string[]; at: number[]; bytes: number[][] };
}

/// One stream of one rank: its operations in order of time. Times in picoseconds.
export interface Row {
  rank: Rank;
  stream: string;
  start: Float64Array;
  end: Float64Array;
  look: Uint8Array;
  operation: Uint32Array; // among those of the rank
  path: Uint8Array; // 1: on the critical path
}
export interface Rank {
  place: number; // among the ranks of the data
  name: string;
  role: PackedRole;
  packed: PackedRank;
  row: Uint16Array; // per operation: its row
  slot: Uint32Array; // per operation: its place in the row
}
export interface Step {
  end: number;
  note: string;
  looks: Look[];
  ranks: Rank[];
  rows: Row[];
  spans: number;
  links: Map<number, Link>;
  packed: Packed;
}
export interface Link {
  name: string;
  kind: string; // "gpu -> nvswitch"
}
/// An operation of a rank.
export interface Place {
  rank: number;
  operation: number;
}

async function unpacked(text: string): Promise<Packed> {
  const binary = atob(text);
  const bytes = Uint8Array.from(binary, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'));
  return JSON.parse(await new Response(stream).text()) as Packed;
}

function rowsOf(step: Packed, rank: Rank, first: number, path: Set<number>): Row[] {
  const { role, packed } = rank;
  const counts = new Map<number, number>();
  for (const stream of role.stream) counts.set(stream, (counts.get(stream) ?? 0) + 1);
  const streams = [...counts.keys()].sort((a, b) => a - b);
  const rows = streams.map((stream): Row => {
    const n = counts.get(stream)!;
    return {
      rank,
      stream: step.streams[stream]!,
      start: new Float64Array(n),
      end: new Float64Array(n),
      look: new Uint8Array(n),
      operation: new Uint32Array(n),
      path: new Uint8Array(n),
    };
  });
  const place = new Map(streams.map((stream, i) => [stream, i]));
  const filled = rows.map(() => 0);
  const ends = rows.map(() => 0);
  for (let i = 0; i < role.operation.length; ++i) {
    const r = place.get(role.stream[i]!)!;
    const row = rows[r]!;
    const at = filled[r]!++;
    const start = ends[r]! + packed.gap[i]!;
    row.start[at] = start;
    ends[r] = start + packed.time[i]!;
    row.end[at] = ends[r]!;
    row.look[at] = step.operations[role.operation[i]!]!.look;
    row.operation[at] = i;
    row.path[at] = path.has(i) ? 1 : 0;
    rank.row[i] = first + r;
    rank.slot[i] = at;
  }
  return rows;
}

/// The step of the page; undefined if the page has none.
export async function readStep(): Promise<Step | undefined> {
  const text = document.getElementById('data')?.textContent;
  if (!text) return undefined;
  const packed = await unpacked(text);
  const onPath = packed.ranks.map(() => new Set<number>());
  packed.path.rank.forEach((rank, i) => onPath[rank]!.add(packed.path.operation[i]!));
  const ranks = packed.ranks.map((each, place): Rank => {
    const role = packed.roles[each.role]!;
    const kind = each.host ? 'host' : 'rank';
    return {
      place,
      name: role.name && role.name !== 'rank' ? `${role.name}, ${kind} ${each.rank}` : `${kind} ${each.rank}`,
      role,
      packed: each,
      row: new Uint16Array(role.operation.length),
      slot: new Uint32Array(role.operation.length),
    };
  });
  const rows: Row[] = [];
  for (const rank of ranks) rows.push(...rowsOf(packed, rank, rows.length, onPath[rank.place]!));
  const spans = rows.reduce((sum, row) => sum + row.start.length, 0);
  const links = new Map(packed.links.id.map((id, i) => [id, { name: packed.links.name[i]!, kind: packed.links.kind[i]! }]));
  return { end: packed.end, note: packed.note, looks: packed.looks, ranks, rows, spans, links, packed };
}

/// The first index whose value is above `at`.
export function above(values: Float64Array, at: number): number {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle]! > at) high = middle;
    else low = middle + 1;
  }
  return low;
}

/// "12.3 ms" of picoseconds.
export function timeText(ps: number, digits = 4): string {
  const size = Math.abs(ps);
  const [unit, scale] = size >= 1e12 ? ['s', 1e12] : size >= 1e9 ? ['ms', 1e9] : size >= 1e6 ? ['µs', 1e6] : ['ns', 1e3];
  return `${Number((ps / (scale as number)).toPrecision(digits))} ${unit}`;
}

export function bytesText(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit + 1 < units.length) {
    bytes /= 1024;
    ++unit;
  }
  return `${Number(bytes.toPrecision(4))} ${units[unit]}`;
}
