// What the engine says of one collective, and the state of chunks and links at any instant of it.

export interface Transfer {
  from: number;
  to: number;
  round: number;
  channel: number;
  bytes: number;
  start_ps: number;
  end_ps: number;
  rate_bytes_per_s: number | null;
  combine: 'reduce' | 'copy';
  sent: [number, number][];
  received: [number, number][];
  route: number;
}

export interface CostTerm {
  name: string;
  symbol: string;
  amount: string;
  each: string;
  time_s: number;
}

export interface Film {
  collective: string;
  algorithm: string;
  summary: string;
  parameters: { [name: string]: string | number };
  cluster: string;
  ranks: number;
  members: number;
  size_bytes: number;
  chunk_bytes: number;
  time_s: number;
  time_ps: number;
  rounds: number;
  verified: boolean;
  cost: {
    formula: string;
    terms: CostTerm[];
    formula_s: number | null;
    formula_is_estimate: boolean;
    simulated_s: number;
    busiest_link: string;
    busy_fraction: number;
    comparison: string[];
    bounds: { name: string; from: string; time_s: number }[];
    bound_s: number | null;
    model: string[];
    sent_per_rank_bytes?: number;
    sent_in_total_bytes?: number;
    messages?: number;
  };
  states: {
    columns: string[];
    initial: number[][];
    writes: [number, number, number, number][];
    contents: { ranks: number[]; origin: number; text: string }[];
  };
  transfers: Transfer[];
  graph: {
    vertices: { name: string; kind: string; node: number }[];
    links: [number, number, number, number][];
    members: (number | null)[];
    dimensions: number[];
    routes: { from: number; to: number; links: number[]; latency_ps: number; paths: number }[];
  };
}

/** Instants at which something starts or ends. */
export function instants(films: Film[]): number[] {
  const all = new Set<number>([0]);
  for (const film of films) {
    for (const each of film.transfers) all.add(each.start_ps).add(each.end_ps);
    all.add(film.time_ps);
  }
  return [...all].sort((a, b) => a - b);
}

/** Contents of chunks at one instant; moves on and back as it is asked. */
export class Board {
  private cells: number[][];
  private next = 0;

  constructor(private readonly film: Film) {
    this.cells = film.states.initial.map((row) => [...row]);
  }

  /** [rank][column]: index of the content, or -1. */
  at(ps: number): number[][] {
    const { writes, initial } = this.film.states;
    if (this.next > 0 && writes[this.next - 1]![0] > ps) {
      this.cells = initial.map((row) => [...row]);
      this.next = 0;
    }
    for (; this.next < writes.length && writes[this.next]![0] <= ps; ++this.next) {
      const [, rank, column, content] = writes[this.next]!;
      this.cells[rank]![column] = content;
    }
    return this.cells;
  }
}

export function inFlight(film: Film, ps: number): Transfer[] {
  return film.transfers.filter((each) => each.start_ps <= ps && ps < each.end_ps);
}

/** Names of a member: ranks first, then servers or switches. */
export function memberName(film: Film, member: number): string {
  return member < film.ranks ? `rank ${member}` : `helper ${member - film.ranks}`;
}

export function chunkNames(film: Film, runs: [number, number][]): string {
  const names = runs.flatMap(([first, number]) => film.states.columns.slice(first, first + number));
  return names.length > 4 ? `${names.slice(0, 3).join(' ')} ... (${names.length})` : names.join(' ');
}
