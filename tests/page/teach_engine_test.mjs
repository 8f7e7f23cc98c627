// The engine of the page in node against the command: every answer is the same, byte for byte.
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { engineOf, read } from './engine.mjs';
import { requestsOf } from './requests.mjs';

const dist = '../../tools/page/dist/';
const packed = Buffer.from(read(dist + 'engine.b64').toString(), 'base64');
const ask = await engineOf(read(dist + 'engine.js').toString(), gunzipSync(packed));
const catalog = JSON.parse(ask('{"do": "catalog"}')).answer;

/** What the command prints, or its error. */
function command(request) {
  const { status, stdout, stderr } = spawnSync(process.env.LOCKSTEP, ['teach', '--ask', request], { encoding: 'utf8', maxBuffer: 1 << 28 });
  return status === 0 ? { answer: stdout.trimEnd() } : { error: stderr.trim() };
}

/** A key of every object of a document, as its path, so that a difference is named. */
function firstDifference(a, b, path = '') {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null) return Object.is(a, b) ? null : `${path}: ${JSON.stringify(a)} on the page, ${JSON.stringify(b)} by the command`;
  for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
    const found = firstDifference(a[key], b[key], `${path}/${key}`);
    if (found) return found;
  }
  return null;
}

test('the module is below 1 MB compressed', () => assert.ok(packed.length < 1_000_000, `${packed.length} bytes`));

test('every answer of the page is that of the command, byte for byte', () => {
  let answers = 0;
  for (const request of requestsOf(catalog).map((each) => JSON.stringify(each))) {
    const page = ask(request);
    const native = command(request);
    if (native.answer === undefined) {
      const { error } = JSON.parse(page);
      assert.ok(error !== undefined, `${request}: the page answers, the command says ${native.error}`);
      // The page has the scenarios of its views alone.
      const uncounted = (text) => text.replace(/(list scenarios` shows all) \d+/, '$1');
      for (const line of error.split('\n')) assert.ok(uncounted(native.error).includes(uncounted(line)), `${request}: ${error} on the page, ${native.error} by the command`);
      continue;
    }
    ++answers;
    if (page === `{"answer":${native.answer}}`) continue;
    const parsed = JSON.parse(page);
    assert.ok(parsed.answer !== undefined, `${request}: ${parsed.error}`);
    assert.fail(`${request}: ${firstDifference(parsed.answer, JSON.parse(native.answer))}; is tools/page/dist built from these sources? tools/page/wasm/build.sh`);
  }
  assert.ok(answers > 100, `${answers} answers`);
});

test('films, sizes and steps show what explain, collective and run print', () => {
  const run = (...args) => JSON.parse(spawnSync(process.env.LOCKSTEP, [...args, '--format', 'json'], { encoding: 'utf8', maxBuffer: 1 << 28 }).stdout);
  const answer = (request) => JSON.parse(ask(JSON.stringify(request))).answer;
  let films = 0;
  for (const { name: collective, algorithms } of catalog.collectives)
    for (const { name: algorithm } of algorithms) {
      const film = answer({ do: 'film', collective, algorithm, cluster: 'star', ranks: 8, size_bytes: 65536 });
      if (film === undefined) continue;  // needs what a star has not
      ++films;
      const what = `${collective} ${algorithm}`;
      const { cost, rounds, chunks } = run('explain', collective, '-a', algorithm, '--ranks', '8', '--size', '65536');
      assert.equal(film.time_s, cost.simulated_s, what);
      assert.equal(film.cost.formula_s, cost.formula_s, what);
      assert.deepEqual(film.cost.bounds, cost.bounds, what);
      assert.equal(film.rounds, rounds, what);
      // The last state by the clock is the last by rounds, chunk by chunk.
      if (chunks.columns.includes('...') || collective === 'barrier') continue;
      const state = film.states.initial.map((row) => [...row]);
      for (const [, rank, column, content] of film.states.writes) state[rank][column] = content;
      const texts = state.map((row) => row.map((content) => (content < 0 ? '' : film.states.contents[content].text)));
      assert.deepEqual(texts, chunks.rounds.at(-1).after, what);
      assert.deepEqual(film.states.columns, chunks.columns, what);
    }
  assert.ok(films > 50, `${films} films`);
  const sizes = answer({ do: 'sizes', collective: 'all_reduce', algorithms: 'ring', cluster: 'star', ranks: 8, sizes_bytes: [8, 1 << 20] });
  const rows = run('collective', 'all_reduce', '-a', 'ring', '--ranks', '8', '--sizes', '8,1M').rows;
  assert.deepEqual(sizes.algorithms[0].rows.map((row) => row.time_s), rows.map((row) => row.time_s));
  const step = answer({ do: 'step', scenario: 'pipeline-1f1b', set: [] });
  const result = run('run', 'pipeline-1f1b', '--ignore-memory');
  assert.equal(step.step_time_s, result.step_time_s);
  assert.deepEqual(step.memory.categories_bytes, result.memory.categories_bytes);
  assert.equal(step.memory.peak_bytes, result.memory.peak_bytes);
});
