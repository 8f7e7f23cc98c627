// Requests of the page over a grid: every kind, collective and algorithm, uneven numbers of ranks and sizes.

const star = (ranks, latency = '1 us', bandwidth = '50 GB/s') => ({
  name: 'star', summary: 'chosen', device: 'host', ranks,
  topology: { builder: 'star', link: { bandwidth, latency, source: 'a test' } },
});

/** `catalog`: the answer of the engine, whose algorithms are all asked for. */
export function requestsOf(catalog) {
  const out = [{ do: 'catalog' }];
  for (const { name: collective, algorithms } of catalog.collectives)
    for (const { name: algorithm } of algorithms)
      for (const [ranks, size_bytes] of [[5, 1000], [8, 65536]])
        out.push({ do: 'film', collective, algorithm, cluster: star(ranks), size_bytes });
  const film = { do: 'film', collective: 'all_reduce', algorithm: 'ring', size_bytes: 1 << 20 };
  for (const cluster of ['star', 'ring', 'full-mesh', 'fat-tree']) out.push({ ...film, cluster, ranks: 12 });
  out.push({ ...film, cluster: 'torus-2d' }, { ...film, cluster: 'dgx-h100', nodes: 2, algorithm: 'hierarchical' });
  out.push({ ...film, cluster: star(64), algorithm: 'double_binary_tree', size_bytes: 1 << 24 });
  out.push({ ...film, cluster: star(64, '200 ns', '100 GB/s') }, { ...film, cluster: 'star', ranks: 8, network: 'queue' });
  out.push({ ...film, cluster: 'star', ranks: 65 }, { ...film, cluster: 'nowhere' }, { ...film, algorithm: 'rng', cluster: 'star' }, { do: 'film' }, { do: 'guess' });
  const sizes = [8, 1000, 65536, 1 << 24, 1 << 30];
  for (const cluster of [star(8), 'dgx-h100', 'torus-2d'])
    out.push({ do: 'sizes', collective: 'all_reduce', algorithms: 'ring,halving_doubling,double_binary_tree', cluster, sizes_bytes: sizes });
  for (const collective of ['all_reduce', 'all_to_all', 'broadcast'])
    out.push({ do: 'growth', collective, algorithms: 'all', cluster: 'star', small_bytes: 8, large_bytes: 1 << 26, ranks: [2, 4, 8, 16, 32, 64] });
  // Tori of several shapes; too few of them is an error.
  const torus = (...shape) => ({ name: 'torus', summary: 'chosen', device: 'host', topology: { builder: 'torus_2d', shape, link: { bandwidth: '50 GB/s', latency: '1 us', source: 'a test' } } });
  const tori = { do: 'growth', collective: 'all_reduce', algorithms: 'ring,halving_doubling', clusters: [torus(2, 2), torus(4, 2), torus(4, 4)], small_bytes: 8, large_bytes: 1 << 20 };
  out.push({ ...tori, ranks: [4, 8, 16] }, { ...tori, ranks: [4, 8] });
  for (const schedule of [...catalog.schedules, 'sideways'])
    for (const [stages, microbatches, chunks] of [[1, 1, 1], [4, 8, 1], [4, 8, 2], [7, 14, 3], [4, 5, 2]])
      out.push({ do: 'pipeline', schedule, stages, microbatches, chunks, forward_ps: 7_000_001, backward_ps: 9_000_000, weight_ps: 5_000_000, send_ps: 300_000 });
  const step = (scenario, ...set) => ({ do: 'step', scenario, set });
  out.push(step('mlp-two-gpus'), step('mlp-two-gpus', 'cluster.ranks=1', 'parallel.tp=1'), step('pipeline-1f1b'), step('pipeline-zb'), step('host-average'),
    step('parameter-server', 'cluster.ranks=16'), step('data-parallel-from-scratch', 'parallel.micro_batch=1'), step('zero-7b5-3', 'cluster.nodes=1', 'parallel.dp=8', 'parallel.global_batch=8'),
    step('sequence-ulysses', 'cluster.nodes=1', 'parallel.cp=8', 'model.seq=32768'), step('sequence-ring', 'cluster.nodes=1', 'parallel.cp=8', 'model.seq=32768'), step('no-such'), step('mlp-two-gpus', 'parallel.tp=3'));
  return out;
}
