// Clusters of a chosen form with chosen links, as files that `lockstep --cluster` reads.
import { h, labelled, range, select } from './dom';
import type { Json } from './engine';
import { oneOf, wholeNumber, type Values } from './state';
import { seconds } from './units';

export const kTopologies = [
  { value: 'star', text: 'star: one switch' },
  { value: 'ring', text: 'ring' },
  { value: 'full_mesh', text: 'mesh: a link for every pair' },
  { value: 'torus_2d', text: 'torus, two dimensions' },
  { value: 'fat_tree', text: 'fat tree of 8-port switches' },
  { value: 'dgx-h100', text: 'DGX H100: its own links' },
];
const kNames = kTopologies.map((each) => each.value);

/** Latencies of one link, in nanoseconds, and bandwidths in GB/s: a slider counts in steps. */
const kLatencies = [0, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000];
const kBandwidths = [1, 2, 5, 10, 25, 50, 100, 200, 400];

/** "1 us" for "1.000 us". */
const short = (text: string) => text.replace(/\.?0+ /, ' ');

export interface Links {
  topology: string;
  ranks: number;
  latency: number; // index into kLatencies
  bandwidth: number; // index into kBandwidths
}

export function linksOf(values: Values): Links {
  return {
    topology: oneOf(values, 'topology', kNames, 'star'),
    ranks: wholeNumber(values, 'ranks', 8, 2, 64),
    latency: wholeNumber(values, 'alpha', 4, 0, kLatencies.length - 1),
    bandwidth: wholeNumber(values, 'beta', 5, 0, kBandwidths.length - 1),
  };
}

/** Sides of the torus nearest to a square. */
function sides(ranks: number): [number, number] {
  let a = Math.floor(Math.sqrt(ranks));
  while (ranks % a !== 0) --a;
  return [ranks / a, a];
}

/** The number of ranks that the topology has for so many asked ones. */
export function ranksOf(links: Links): number {
  if (links.topology === 'dgx-h100') return links.ranks <= 8 ? 8 : Math.ceil(links.ranks / 8) * 8;
  // A torus needs two sides of at least 2; a ring of 2 and a star of any size exist.
  if (links.topology === 'torus_2d') return sides(links.ranks)[1] < 2 ? links.ranks + 1 : links.ranks;
  return links.ranks;
}

/** The keys of a request that describe the cluster. */
export function clusterRequest(links: Links): { [key: string]: Json } {
  if (links.topology === 'dgx-h100') return { cluster: 'dgx-h100', nodes: ranksOf(links) / 8 };
  const ranks = ranksOf(links);
  const topology: { [key: string]: Json } = {
    builder: links.topology,
    link: {
      bandwidth: `${kBandwidths[links.bandwidth]} GB/s`,
      latency: `${kLatencies[links.latency]} ns`,
      source: 'chosen on the page',
    },
  };
  if (links.topology === 'torus_2d') return { cluster: file({ ...topology, shape: sides(ranks) }) };
  if (links.topology === 'fat_tree') Object.assign(topology, { radix: 8, levels: ranks > 32 ? 3 : 2 });
  return { cluster: { ...file(topology), ranks } };
}

function file(topology: { [key: string]: Json }): { [key: string]: Json } {
  return { name: String(topology.builder), summary: 'Links chosen on the page', device: 'host', topology };
}

/** How a command names this cluster; `file` is what to save as cluster.json, if anything. */
export function clusterOptions(links: Links): { options: string; file?: string } {
  if (links.topology === 'dgx-h100') return { options: `--cluster dgx-h100 --nodes ${ranksOf(links) / 8}` };
  const request = clusterRequest(links);
  return { options: '--cluster cluster.json', file: JSON.stringify(request.cluster) };
}

/** Numbers of ranks at which growth is measured on a topology, and the clusters that have them. */
export interface Grown {
  ranks: number[];
  request: { [key: string]: Json };
  note: string;
  commands: (begin: string, end: string) => string[];
}
export function growthOf(links: Links): Grown {
  const all = [2, 4, 8, 16, 32, 64];
  const text = kTopologies.find((each) => each.value === links.topology)!.text.split(':')[0]!;
  if (links.topology === 'dgx-h100')
    return { ranks: all, request: { cluster: 'dgx-h100', ranks: all }, note: 'Measured on DGX H100: up to 8 ranks in one node, then on whole nodes.',
      commands: (begin, end) => [`${begin} --cluster dgx-h100 --ranks 2..64 ${end}`] };
  // One cluster for each number of ranks: the shape of a torus and the levels of a tree differ.
  if (links.topology === 'torus_2d' || links.topology === 'fat_tree') {
    const ranks = links.topology === 'torus_2d' ? all.slice(1) : all;
    const clusters = ranks.map((n) => clusterRequest({ ...links, ranks: n }).cluster!);
    const note = links.topology === 'torus_2d' ? `Measured on tori of ${ranks.map((n) => sides(n).join(' x ')).join(', ')} ranks: 2 ranks are no torus.`
      : 'Measured on fat trees of 8-port switches: two levels up to 32 ranks, three for 64.';
    return { ranks, request: { clusters, ranks }, note, commands: () => [] };
  }
  const { cluster } = clusterRequest(links);
  return { ranks: all, request: { cluster: cluster!, ranks: all }, note: `Measured on the topology "${text}" with the chosen links.`,
    commands: (begin, end) => [JSON.stringify(cluster!), `${begin} --cluster cluster.json --ranks 2..64 ${end}`] };
}

/** Controls of the cluster; `changed` gets what is new, as values of the address. */
export function linkControls(links: Links, changed: (values: Values) => void, most = 64): HTMLElement {
  const fixed = links.topology === 'dgx-h100';
  return h('fieldset', { class: 'controls' }, h('legend', {}, 'Cluster'),
    labelled('Topology', select('topology', kTopologies, links.topology, (topology) => changed({ topology }))),
    range('Ranks', 'ranks', { min: 2, max: most }, Math.min(links.ranks, most), String, (n) => changed({ ranks: String(n) })),
    fixed ? h('p', { class: 'note' }, 'NVLink and InfiniBand links of the shipped file; 8 GPUs per node.')
      : range('Latency per link', 'alpha', { min: 0, max: kLatencies.length - 1 }, links.latency,
        (i) => short(seconds((kLatencies[i] ?? 0) / 1e9)), (i) => changed({ alpha: String(i) })),
    fixed ? null
      : range('Bandwidth per link', 'beta', { min: 0, max: kBandwidths.length - 1 }, links.bandwidth,
        (i) => `${kBandwidths[i]} GB/s`, (i) => changed({ beta: String(i) })));
}
