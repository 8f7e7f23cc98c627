// The page that teaches in a real browser: every view and lesson, by keyboard and mouse.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { findings, firstPaint, folder, json, open, printed, run, sizeOf, stop } from './browser.mjs';

after(stop);
run('teach', '-o', join(folder, 'teach'));
const file = join(folder, 'teach', 'index.html');
const at = (hash) => `file://${file}${hash}`;
const kLessons = 12;

/** Opens a view and waits for its figures. */
async function show(hash, options) {
  const page = await open(at(hash), options);
  await settle(page);
  return page;
}
async function settle(page) {
  await page.waitForFunction(() => [...document.querySelectorAll('.busy')].every((each) => each.textContent === '') && [...document.querySelectorAll('main svg, main .plot, #contents')].some((each) => each.getClientRects().length > 0));
}
async function quiet(page, axe = true) {
  if (axe) assert.deepEqual(await findings(page), []);
  assert.deepEqual(page.said, []);
  assert.deepEqual(page.asked, []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'scrolls sideways');
  await page.context().close();
}
/** Until what was asked of the page's frames is drawn. */
const frames = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
/** The part of the address after it; page.url() may lag behind the page. */
const hash = (page) => page.evaluate(() => location.hash);
const number = (page, selector) => page.getAttribute(selector, 'data-value').then(Number);

test('the page is a part of the command, wherever that is', () => {
  copyFileSync(process.env.LOCKSTEP, join(folder, 'moved'));
  execFileSync(join(folder, 'moved'), ['teach', '-o', join(folder, 'again')], { cwd: folder });
  assert.deepEqual(readFileSync(join(folder, 'again', 'index.html')), readFileSync(file));
});

test('the page is one file below 2 MB', async (context) => {
  assert.ok(sizeOf(file) < 2_000_000);
  const page = await open(at(''));
  context.diagnostic(`first paint after ${(await firstPaint(file)).toFixed(0)} ms`);
  assert.equal(await page.locator('#contents li').count(), kLessons);
  await quiet(page);
});

test('collectives: the numbers of films are those of explain', async () => {
  const page = await show('#/collectives?collective=all_reduce&algorithms=ring,halving_doubling&ranks=8&size=20');
  for (const algorithm of ['ring', 'halving_doubling']) {
    // The star of the page: 1 us and 50 GB/s per link, as the shipped one.
    const { cost, rounds } = json('explain', 'all_reduce', '-a', algorithm, '--cluster', 'star', '--ranks', '8', '--size', '1M');
    const film = `[data-algorithm="${algorithm}"] `;
    assert.equal(await number(page, `${film}[data-number="time_s"]`), cost.simulated_s);
    assert.equal(await number(page, `${film}[data-number="formula_s"]`), cost.formula_s);
    assert.equal(await number(page, `${film}[data-number="rounds"]`), rounds);
  }
  await quiet(page);
});

test('collectives: a cluster of chosen links is a file that explain reads', async () => {
  const page = await show('#/collectives?algorithms=ring,direct&topology=ring&ranks=6&alpha=6&beta=3&size=18');
  const commands = page.locator('.result details', { hasText: 'Save as cluster.json' }).first();
  await commands.locator('summary').click();
  const [cluster, ...lines] = await commands.locator('pre').allTextContents();
  writeFileSync(join(folder, 'cluster.json'), cluster);
  for (const line of lines.filter((each) => each.startsWith('lockstep explain'))) {
    const args = line.replace('cluster.json', join(folder, 'cluster.json')).split(' ').slice(1);
    const { cost, config } = json(...args);
    const film = `[data-algorithm="${config.algorithm.name}"] `;
    assert.equal(await number(page, `${film}[data-number="time_s"]`), cost.simulated_s, line);
    assert.equal(await number(page, `${film}[data-number="bound_s"]`), Math.max(...cost.bounds.map((each) => each.time_s)), line);
  }
  await quiet(page, false);
});

test('collectives: keys step, play and end a film, and the address keeps the instant', async () => {
  const page = await show('#/collectives?algorithms=ring&ranks=4&size=16');
  // The clock is drawn with the next frame after a key.
  const clock = async (before) => {
    await page.waitForFunction((old) => !['', old].includes(document.querySelector('.clock').textContent), before);
    return page.textContent('.clock');
  };
  const begin = await clock('');
  await page.locator('.films').focus();
  await page.keyboard.press('ArrowRight');
  const first = await clock(begin);
  await page.keyboard.press('ArrowRight');
  await clock(first);
  assert.match(await hash(page), /at=[1-9]/);
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction((before) => document.querySelector('.clock').textContent === before, first);
  await page.keyboard.press('End');
  await page.waitForFunction(() => /Done/.test(document.querySelector('.film .status').textContent));
  await page.locator('summary', { hasText: 'Table of chunk contents' }).click();
  await page.locator('.film details[open] tbody td:not(:first-child)').first().waitFor();
  const cells = await page.locator('.film details[open] tbody td:not(:first-child)').allTextContents();
  assert.deepEqual([...new Set(cells)], ['all']);
  // Slowly, so that the film does not end before it is paused on a busy machine.
  await page.selectOption('select[name=speed]', '0.25');
  await page.locator('.films').focus();
  await page.keyboard.press(' ');
  assert.equal(await page.textContent('.play'), 'Pause');
  // Browsers refuse an address that changes at every frame; it is written when the film stops.
  const address = await hash(page);
  const playing = await page.textContent('.clock');
  await clock(playing);
  assert.equal(await hash(page), address);
  await page.keyboard.press(' ');
  assert.equal(await page.textContent('.play'), 'Play');
  await frames(page); // The address has the instant before the clock is drawn.
  const shown = await page.textContent('.clock');
  const again = await show(await hash(page));
  await again.waitForFunction(() => document.querySelector('.clock')?.textContent);
  await frames(again);
  assert.equal(await again.textContent('.clock'), shown);
  await again.context().close();
  await quiet(page, false);
});

test('collectives: every topology and every collective draws', async () => {
  const page = await show('#/collectives?ranks=8&size=16');
  for (const topology of ['ring', 'full_mesh', 'torus_2d', 'fat_tree', 'dgx-h100', 'star']) {
    await page.selectOption('select[name=topology]', topology);
    await page.waitForTimeout(200);
    await settle(page);
    assert.equal(await page.locator('.film').count(), 2, topology);
  }
  const names = await page.locator('select[name=collective] option').evaluateAll((all) => all.map((each) => each.value));
  assert.ok(names.length >= 9);
  for (const name of names) {
    await page.selectOption('select[name=collective]', name);
    await page.waitForTimeout(200);
    await settle(page);
    assert.ok((await page.locator('.film').count()) >= 1, name);
  }
  await quiet(page, false);
});

test('collectives: a question is answered by the simulation', async () => {
  const page = await show('#/collectives?ranks=8&size=16');
  const question = page.locator('.question').first();
  await question.waitFor();
  await question.locator('button', { hasText: 'halving_doubling' }).click();
  await page.waitForFunction(() => /Yes|No/.test(document.querySelector('.question .answer').textContent));
  const rows = json('collective', 'all_reduce', '-a', 'ring,halving_doubling', '--ranks', '8', '--sizes', '64K').rows;
  const fastest = rows.reduce((a, b) => (b.time_s < a.time_s ? b : a)).algorithm;
  assert.match(await question.locator('.answer').textContent(), fastest === 'halving_doubling' ? /^Yes/ : /^No/);
  await quiet(page, false);
});

test('pipelines: bubbles are those of the formulas, and sliders move them', async () => {
  const page = await show('#/pipelines?stages=4&microbatches=8');
  const measured = async (row) => number(page, `.pipelines > .table tbody tr:nth-child(${row}) td:nth-child(4)`);
  const formula = async (row) => number(page, `.pipelines > .table tbody tr:nth-child(${row}) td:nth-child(5)`);
  for (const row of [1, 2, 3, 4]) assert.ok(Math.abs((await measured(row)) - (await formula(row))) < 1e-9, `row ${row}`);
  assert.equal(await measured(2), 0.375); // (p-1)/m of 4 stages and 8 microbatches
  await page.locator('input[name=microbatches]').focus();
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.keyboard.press('ArrowRight');
  await page.waitForFunction(() => document.querySelector('.pipelines > .table tbody tr:nth-child(2) td:nth-child(4)').dataset.value === '0.25');
  assert.match(await hash(page), /microbatches=12/);
  await quiet(page);
});

test('memory: every topic simulates; the bytes of ZeRO are those of run', async () => {
  const page = await show('#/memory?topic=zero');
  const peak = await number(page, '.steps .table:last-of-type tbody tr:nth-child(4) td:nth-last-child(2)');
  const result = json('run', 'zero-7b5-3', '--ignore-memory', '--set', 'model=megatron-7.5b', '--set', 'cluster.nodes=8', '--set', 'parallel.dp=64', '--set', 'parallel.global_batch=64');
  assert.equal(peak, result.memory.peak_bytes);
  await page.locator('[role=tab]').first().focus();
  const topics = await page.locator('[role=tab]').count();
  for (let i = 1; i < topics; ++i) {
    await page.keyboard.press('ArrowRight');
    await settle(page);
    assert.equal(await page.locator('.problem:visible').count(), 0, `topic ${i}`);
  }
  await quiet(page);
});

test('collectives: growth is measured on the chosen topology', async () => {
  const valuesOf = async (page, column) => {
    await settle(page);
    await page.locator('.measured-on').waitFor();
    const cells = page.locator('.result figure', { hasText: 'as ranks grow' }).locator(`.table tbody td:nth-child(${column})`);
    return cells.evaluateAll((all) => all.map((each) => Number(each.dataset.value ?? NaN)));
  };
  const dgx = await show('#/collectives?topology=dgx-h100&ranks=16&size=20&growth=small');
  const rows = json('complexity', 'all_reduce', '--algorithms', 'ring', '--cluster', 'dgx-h100', '--ranks', '2..64', '--measured').rows;
  const ranks = await valuesOf(dgx, 1);
  assert.deepEqual(ranks, [2, 4, 8, 16, 32, 64]);
  assert.deepEqual(await valuesOf(dgx, 2), rows.map((row) => row.small_time_s));
  await quiet(dgx, false);
  // A torus of 64: 8 x 8. Two ranks are no torus, and the page says so.
  const torus = await show('#/collectives?topology=torus_2d&ranks=16&size=20&growth=small');
  assert.match(await torus.textContent('.measured-on'), /4 x 4.*8 x 8.*2 ranks are no torus/);
  assert.deepEqual(await valuesOf(torus, 1), [4, 8, 16, 32, 64]);
  const times = await valuesOf(torus, 2);
  for (const [i, shape] of [[2, [4, 4]], [4, [8, 8]]]) {
    const file = join(folder, 'torus.json');
    writeFileSync(file, JSON.stringify({ name: 'torus', summary: 'as on the page', device: 'host', topology: { builder: 'torus_2d', shape, link: { bandwidth: '50 GB/s', latency: '1 us', source: 'a test' } } }));
    assert.equal(times[i], json('collective', 'all_reduce', '-a', 'ring', '--cluster', file, '--size', '8').rows[0].time_s);
  }
  await quiet(torus, false);
  const tree = await show('#/collectives?topology=fat_tree&ranks=16&size=20&growth=small');
  assert.deepEqual(await valuesOf(tree, 1), [2, 4, 8, 16, 32, 64]);
  await quiet(tree, false);
});

test('memory: the closed form of ZeRO is there before steps are simulated, and the engine runs beside the page', async () => {
  const page = await open(at('#/tour'));
  // What the page shows first, and where the engine starts, kept from its begin.
  await page.addInitScript(() => {
    window.seen = [];
    window.engines = 0;
    const see = (name) => window.seen.includes(name) || window.seen.push(name);
    new MutationObserver(() => {
      if (document.querySelector('.by-formula')) see('formula');
      if (document.querySelector('.steps')) see('steps');
    }).observe(document, { childList: true, subtree: true });
    for (const name of ['instantiate', 'instantiateStreaming']) {
      const plain = WebAssembly[name];
      WebAssembly[name] = (...all) => { ++window.engines; return plain.apply(WebAssembly, all); };
    }
  });
  await page.goto(at('#/memory?topic=zero'));
  await page.reload();
  await settle(page);
  assert.deepEqual(await page.evaluate(() => window.seen), ['formula', 'steps']);
  assert.equal(await page.evaluate(() => window.engines), 0);
  // 2 + 2 + 12 bytes per parameter on 64 ranks: ZeRO-1 shards 12, ZeRO-2 14, ZeRO-3 16 of them.
  const form = page.locator('.by-formula');
  assert.deepEqual(await form.locator('text.total').allTextContents(), ['16 B', '4.19 B', '2.22 B', '0.25 B']);
  assert.ok((await form.count()) === 1 && (await page.locator('.steps').count()) === 1);
  await quiet(page);
});

test('where a frame allows no workers, the engine runs in the page', async () => {
  const page = await open(at('#/tour'));
  await page.addInitScript(() => { window.Worker = class { constructor() { throw new Error('no workers here'); } }; });
  await page.goto(at('#/pipelines?stages=4&microbatches=8'));
  await page.reload();
  await settle(page);
  assert.equal(await number(page, '.pipelines > .table tbody tr:nth-child(2) td:nth-child(4)'), 0.375);
  assert.equal(await page.evaluate(() => typeof window.lockstepEngine), 'function');
  await quiet(page, false);
});

test('every lesson has a figure, a question that reveals, and a command that runs', async () => {
  const page = await show('#/lesson/1');
  for (let lesson = 1; lesson <= kLessons; ++lesson) {
    // The hash of the address changes before the page does.
    const section = page.locator(`#lesson-${lesson}`);
    await section.waitFor({ state: 'visible' });
    await settle(page);
    assert.equal(await section.locator('.problem').count(), 0, `lesson ${lesson}`);
    await section.locator('.question button').first().click();
    await page.waitForFunction((n) => /^(Yes|No)/.test(document.querySelector(`#lesson-${n} .answer`).textContent), lesson);
    const [program, ...args] = (await section.locator('.try code').textContent()).split(' ');
    assert.equal(program, 'lockstep');
    assert.ok(run(...args).length > 0);
    if (lesson === kLessons) break;
    await page.locator('main').focus();
    await page.keyboard.press('n');
    await page.waitForFunction((n) => location.hash === `#/lesson/${n}`, lesson + 1);
  }
  await quiet(page);
});

test('dark, small and without JavaScript the page reads', async () => {
  await quiet(await show('#/lesson/4', { colorScheme: 'dark', viewport: { width: 400, height: 800 } }));
  await quiet(await show('#/pipelines', { colorScheme: 'dark', viewport: { width: 400, height: 800 } }));
  const page = await open(at(''), { javaScriptEnabled: false });
  const text = await page.textContent('main');
  for (const each of ['parameter server', 'ring', 'bubble', 'ZeRO shards', 'lockstep run']) assert.ok(text.includes(each), each);
  assert.match((await printed(page)).text, /Complexity/);
  await page.context().close();
});

test('--serve gives the page on 127.0.0.1 until ctrl-C', async () => {
  const server = spawn(process.env.LOCKSTEP, ['teach', '--serve', '--port', '0']);
  const link = await new Promise((done) => server.stdout.once('data', (text) => done(String(text).trim())));
  assert.match(link, /^http:\/\/127\.0\.0\.1:\d+\/$/);
  const page = await open(link);
  assert.equal(await page.locator('#contents li').count(), kLessons);
  await quiet(page, false);
  const code = new Promise((done) => server.once('exit', done));
  server.kill('SIGINT');
  assert.equal(await code, 130);
});
