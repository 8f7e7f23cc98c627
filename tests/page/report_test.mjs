// Reports in a real browser: driven by keyboard and mouse, numbers compared with the command's JSON.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { findings, firstPaint, folder, json, milliseconds, open, printed, report, run, sizeOf, stop } from './browser.mjs';

const scenario = ['pipeline-1f1b', '--gpu-speed', '0=0.9', '--suggest', '4'];
const files = {};

before(() => {
  files.run = report('run', 'run', ...scenario);
  files.collective = report('collective', 'collective', 'all_reduce', '--cluster', 'dgx-h100', '--nodes', '2', '--algorithm',
    'ring,halving_doubling,nvls', '--size', '1K,64K,1M,64M');
  files.complexity = report('complexity', 'complexity', 'all_reduce', '--algorithms', 'ring,halving_doubling', '--ranks', '2..64');
  files.plan = report('plan', 'plan', '--model', 'llama3-8b', '--cluster', 'dgx-h100', '--nodes', '1', '--global-batch', '16', '--seq',
    '2048', '--vary', 'tp=2,4,8', '--fix', 'pp=1', '--fix', 'cp=1', '--fix', 'overlap=none', '--top', '2');
  files.large = report('large', 'run', 'llama3-70b-dgx-h100', '--suggest', '0');  // 64 ranks
  files.two = join(folder, 'two.html');
  run('report', 'pipeline-gpipe', 'pipeline-1f1b', '-o', files.two);
});
after(stop);

/** Opens a page and waits for its script. */
async function live(file, options) {
  const page = await open(file, options);
  await page.waitForSelector('html[data-ready]');
  return page;
}
/** Nothing on the console, nothing asked of the network. */
function silent(page) {
  assert.deepEqual(page.said, []);
  assert.deepEqual(page.asked, []);
}
const selection = (page) => page.textContent('#selection');
/** What the canvas says of itself: `visible` spans, `window` in picoseconds. */
const shown = (page) => page.evaluate(() => document.querySelector('#timeline-view canvas').dataset);

test('every page opens from a file, in both color schemes, as wide as the window, without serious findings of axe-core', async () => {
  for (const [name, file] of Object.entries(files)) {
    const page = await live(file);
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      assert.deepEqual(await findings(page), [], `${name}, ${colorScheme}`);
    }
    for (const width of [400, 1280, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, `${name} at ${width}`);
    }
    silent(page);
    await page.context().close();
  }
});

test('the first screen has the step, its interval, MFU, memory, the critical path and three changes, as JSON says', async () => {
  const page = await live(files.run);
  const result = json('run', ...scenario);
  const head = await page.evaluate(() => document.querySelector('header').textContent + document.querySelector('.cards').textContent);
  assert.match(head, new RegExp(`MFU ${(100 * result.mfu_fraction).toFixed(1)} %`));
  const free = 100 * (1 - result.memory.peak_bytes / result.memory.capacity_bytes);
  assert.match(head, new RegExp(`fits, ${free.toFixed(0)} % free`));
  const [, value, unit] = head.match(/step([\d.]+) (ns|us|ms|s)/);
  const seconds = Number(value) * { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1 }[unit];
  assert.ok(Math.abs(seconds / result.step_time_s - 1) < 1e-3, `${value} ${unit}, ${result.step_time_s}`);
  if (result.prediction && !result.prediction.extrapolated) assert.match(head, /prediction interval/);
  const changes = await page.$$eval('header ~ main > ol li, main ol li', (items) => items.map((item) => item.textContent));
  assert.equal(changes.length, result.suggestions.best.length);
  for (const [i, each] of result.suggestions.best.entries()) {
    const gain = 100 * (1 - each.step_time_s / result.step_time_s);
    assert.ok(changes[i].includes(`(-${gain.toFixed(1)} %)`), changes[i]);
    assert.match(changes[i], /lockstep run pipeline-1f1b --gpu-speed 0=0\.9 --set /);
  }
  // One bar of the critical path; its parts add up to the step.
  assert.equal(await page.locator('main > figure').first().locator('g.bar').count(), 1);
});

test('a report of 1 MB paints', async (context) => {
  const big = join(folder, 'megabyte.html');
  run('report', 'llama3-405b-16k-h100', '--suggest', '0', '--data', '1M', '-o', big);
  assert.ok(sizeOf(big) > 900_000, `${sizeOf(big)}`);
  for (const file of [big, files.run, files.collective]) {
    context.diagnostic(`${sizeOf(file)} bytes: first paint after ${(await firstPaint(file)).toFixed(0)} ms`);
  }
});

test('the keys walk the critical path, and the selected operation lights its link, stage and memory', async () => {
  const page = await live(files.run);
  await page.keyboard.press('1');
  assert.equal(await page.evaluate(() => document.activeElement.tagName), 'CANVAS');
  await page.keyboard.press('n');
  const first = await selection(page);
  assert.match(first, /yes, operation 1 of/);
  assert.match(first, /memory then/);
  for (let i = 0; i < 6; ++i) await page.keyboard.press('n');
  assert.match(await selection(page), /yes, operation 7 of/);
  await page.keyboard.press('p');
  assert.match(await selection(page), /yes, operation 6 of/);
  // Its time in the pipeline, memory, traffic and timeline figures, its stage in the pipeline.
  const lit = await page.evaluate(() => ({
    memory: document.querySelectorAll('#memory ~ figure .at-time').length,
    pipeline: document.querySelectorAll('#pipeline ~ figure .at-time').length,
    stage: document.querySelectorAll('#pipeline ~ figure .stage-row').length,
  }));
  assert.ok(lit.memory >= 1 && lit.pipeline >= 1 && lit.stage >= 1, JSON.stringify(lit));
  // Until an operation that sends: its links.
  for (let i = 0; i < 400 && !/links/.test(await selection(page)); ++i) await page.keyboard.press('n');
  assert.match(await selection(page), /links.*->.*peer: rank/);
  assert.ok((await page.locator('#links ~ figure .selected').count()) >= 1);
  assert.deepEqual(await findings(page), []);
  // The view is in the address and comes back with it.
  const before = await selection(page);
  await page.keyboard.press('f');
  // page.url() may lag behind the page.
  const url = await page.evaluate(() => location.href);
  assert.match(url, /#t=\d+-\d+&op=\d+\.\d+$/);
  const again = await live(url, { allowed: (to) => to === url.split('#')[0] });
  assert.equal(await selection(again), before);
  assert.equal((await shown(again)).window, (await shown(page)).window);
  await page.keyboard.press('Escape');
  assert.match(await selection(page), /none selected/);
  assert.equal(await page.locator('.marker.selected').count(), 0);
  silent(page);
});

/** The names of the links that are marked in the topology. */
const litLinks = (page) => page.$$eval('#links ~ figure .marker.selected.link + g.cable > title', (all) => all.map((each) => each.textContent.split(': ')[0]));

test('a collective lights all links that its algorithm uses, wherever in the group', async () => {
  const page = await live(files.large);
  await page.keyboard.press('1');
  for (let i = 0; i < 200 && !/links.*group tp|group tp.*links/.test(await selection(page)); ++i) await page.keyboard.press('n');
  // Tensor-parallel ranks are four of a node: each sends to and receives from its NVSwitch.
  const text = await selection(page);
  assert.match(text, /links8: 4 gpu -> nvswitch, 4 nvswitch -> gpu \(by ring\S* among ranks 0 to 3\)/);
  const expected = [0, 1, 2, 3].flatMap((gpu) => [`node0/gpu${gpu} -> node0/nvswitch0`, `node0/nvswitch0 -> node0/gpu${gpu}`]);
  assert.deepEqual((await litLinks(page)).sort(), expected.sort());
  // The rows of their kinds and the busiest of them in the plot over time.
  assert.ok((await page.locator('#links ~ figure .link-row').count()) >= 2);
  // The gradients of a stage are reduced between nodes: over NICs and leaves.
  let between;
  for (let i = 0; i < 3000 && !between; ++i) {
    await page.keyboard.press('p');
    if (/group dp/.test(await selection(page))) between = await litLinks(page);
    if (/operation 1 of/.test(await selection(page))) break;
  }
  if (between) assert.ok(between.some((each) => each.includes('leaf')), between.join());
  await page.keyboard.press('Escape');
  assert.deepEqual(await litLinks(page), []);
  silent(page);
});

test('the topology of 64 ranks has every link, over the step and at any instant of it', async () => {
  const page = await live(files.large);
  const looks = () => page.$$eval('#links ~ figure g.cable > path', (all) => all.map((each) => each.getAttribute('stroke')));
  const whole = await looks();
  // GPUs, PCIe switches and NICs of 8 nodes, each with links in both directions: the bytes of run.
  assert.equal(whole.length, 8 * 8 * 2 * 4);
  const slider = page.locator('.over-time input');
  await slider.focus();
  assert.match(await slider.getAttribute('aria-label'), /Instant of the step/);
  // The weights of ZeRO-1 are gathered first: NICs are in use, NVLinks hardly.
  await page.keyboard.press('ArrowRight');
  assert.match(await page.textContent('.over-time output'), /Use of links from 0 ns to \d+\.\d+ ms/);
  const title = await page.textContent('#links ~ figure g.cable > title');
  assert.match(title, /: \d+ % from 0 ns to .* % over the step$/);
  const first = await looks();
  assert.notDeepEqual(first, whole);
  await page.keyboard.press('Home');
  assert.match(await page.textContent('.over-time output'), /whole step/);
  assert.deepEqual(await looks(), whole);
  // Selecting an operation shows the links at its time.
  await page.keyboard.press('1');
  await page.keyboard.press('n');
  assert.match(await page.textContent('.over-time output'), /from/);
  await page.locator('.over-time button').click();
  assert.equal(await page.textContent('.over-time button'), 'Pause');
  await page.waitForFunction((before) => document.querySelector('.over-time input').value !== before, await slider.inputValue());
  await page.locator('.over-time button').click();
  assert.deepEqual(await findings(page), []);
  silent(page);
});

test('the timeline is drawn: every look of its legend is on the canvas, whatever the width', async () => {
  for (const width of [400, 1280, 2560]) {
    const page = await live(files.run, { viewport: { width, height: 900 } });
    const missing = await page.evaluate(() => {
      const canvas = document.querySelector('#timeline-view canvas');
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4) seen.add(`${data[i]},${data[i + 1]},${data[i + 2]}`);
      // The samples of the legend hold the same fills; their first pixel is of the color or the pattern.
      return [...document.querySelectorAll('.legend canvas')].map((sample) => {
        const pixels = sample.getContext('2d').getImageData(0, 0, sample.width, sample.height).data;
        const counts = {};
        for (let i = 0; i < pixels.length; i += 4) {
          const color = `${pixels[i]},${pixels[i + 1]},${pixels[i + 2]}`;
          counts[color] = (counts[color] ?? 0) + 1;
        }
        return Object.entries(counts).sort((a, b) => b[1] - a[1])[0][0];
      }).filter((color) => !seen.has(color)).length;
    });
    // Short operations may have no pixel of their own.
    assert.ok(missing <= 2, `${missing} at ${width}`);
    await page.context().close();
  }
});

test('w, s, a, d, 0, the wheel and dragging move through the step', async () => {
  const page = await live(files.run);
  const window = async () => {
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return (await shown(page)).window.split(' ').map(Number);
  };
  await page.keyboard.press('1');
  const all = await window();
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  const near = await window();
  assert.ok(near[1] - near[0] < 0.4 * (all[1] - all[0]));
  await page.keyboard.press('d');
  const later = await window();
  assert.ok(later[0] > near[0]);
  await page.keyboard.press('a');
  assert.ok(Math.abs((await window())[0] - near[0]) < 2);
  await page.keyboard.press('s');
  assert.ok((await window())[1] - (await window())[0] > near[1] - near[0]);
  const box = await page.locator('#timeline-view canvas').boundingBox();
  const width = (range) => range[1] - range[0];
  const start = await window();
  await page.mouse.move(box.x + box.width / 2, box.y + 60);
  await page.mouse.wheel(0, -300);
  const wheeled = await window();
  assert.ok(width(wheeled) < width(start));
  await page.mouse.down();
  await page.mouse.move(box.x + box.width / 2 - 150, box.y + 60, { steps: 5 });
  await page.mouse.up();
  assert.ok((await window())[0] > wheeled[0]);
  await page.keyboard.press('0');
  assert.deepEqual(await window(), all);
  // A click selects what is there; the arrows go on to its neighbors.
  await page.mouse.click(box.x + box.width / 2, box.y + 34);
  const clicked = await selection(page);
  assert.match(clicked, /part of/);
  await page.keyboard.press('ArrowRight');
  assert.notEqual(await selection(page), clicked);
  silent(page);
});

test('an operation on the page has the times of the trace', async () => {
  const trace = join(folder, 'trace.json.gz');
  run('run', 'pipeline-1f1b', '--gpu-speed', '0=0.9', '--suggest', '0', '--trace', trace);
  const events = JSON.parse(gunzipSync(readFileSync(trace)).toString()).traceEvents;
  const page = await live(files.run);
  await page.keyboard.press('1');
  for (let i = 0; i < 12; ++i) await page.keyboard.press('n');
  const text = await page.evaluate(() => Object.fromEntries(
    [...document.querySelectorAll('#selection dt')].map((term) => [term.textContent, term.nextElementSibling.textContent])));
  const [, rank] = text.on.match(/rank (\d+)/);
  const [, number, unit] = text.time.match(/^([\d.]+) (ns|µs|ms|s),/);
  const us = Number(number) * { ns: 1e-3, µs: 1, ms: 1e3, s: 1e6 }[unit];
  const name = text.operation.split(' (')[0];
  const [, microbatch] = text['part of'].match(/microbatch (\d+)/);
  const [, from, fromUnit] = text.time.match(/from ([\d.]+) (ns|µs|ms|s) to/);
  const start = Number(from) * { ns: 1e-3, µs: 1, ms: 1e3, s: 1e6 }[fromUnit];
  // pid = rank + 1 (sim/trace/perfetto.hpp).
  const found = events.filter((event) => event.ph === 'X' && event.pid === Number(rank) + 1 && event.name.endsWith(name) &&
    Math.abs(event.ts - start) < 1e-3 + 1e-7 * start && Math.abs(event.dur - us) < 1e-3 + 1e-5 * us);
  assert.equal(found.length, 1, `${JSON.stringify(text)}: ${found.length}`);
  assert.ok(JSON.stringify(found[0]).includes(microbatch));
});

test('? shows the keys, 1 to 5 go to the views, and values of figures are read by keyboard and mouse', async () => {
  const page = await live(files.run);
  await page.keyboard.press('?');
  assert.ok(await page.locator('dialog[open]').isVisible());
  assert.match(await page.textContent('dialog'), /critical path/);
  assert.deepEqual(await findings(page), []);
  await page.keyboard.press('Escape');
  for (const [key, id] of Object.entries({ 1: 'timeline', 2: 'breakdown', 3: 'pipeline', 4: 'memory', 5: 'links' })) {
    await page.keyboard.press(key);
    assert.equal(await page.evaluate(() => document.activeElement.closest('section').querySelector('h2').id), id);
  }
  const figure = page.locator('#breakdown ~ figure').first();
  await figure.focus();
  await page.keyboard.press('ArrowRight');
  const reader = page.locator('#breakdown ~ .reader').first();
  assert.match(await reader.textContent(), /stage 0, .*: .*s \(.* %\)/);
  await page.keyboard.press('ArrowRight');
  // Against JSON: GEMMs of stage 0 are the first part.
  await page.keyboard.press('Home');
  const result = json('run', ...scenario);
  assert.ok(result.breakdown.stages.length >= 2);
  const curves = await live(files.collective);
  await curves.locator('g.value rect').first().hover({ force: true });
  const read = await curves.locator('.reader').first().textContent();
  assert.match(read, /: .* at 1 KiB/);
  const rows = json('collective', 'all_reduce', '--cluster', 'dgx-h100', '--nodes', '2', '--algorithm', 'ring,halving_doubling,nvls',
    '--size', '1K,64K,1M,64M').rows;
  const [, name, value, unit] = read.match(/^(\S+).*: ([\d.]+) (\S+) at/);
  const row = rows.find((each) => each.algorithm.startsWith(name) && each.size_bytes === 1024);
  const seconds = Number(value) * { ns: 1e-9, µs: 1e-6, us: 1e-6, ms: 1e-3, s: 1 }[unit];
  assert.ok(Math.abs(seconds / row.time_s - 1) < 1e-3, `${read} ${row.time_s}`);
  silent(curves);
});

test('numbers of a search and of growth are those of JSON', async () => {
  const plan = await live(files.plan);
  const { certificate, rows } = json('plan', '--model', 'llama3-8b', '--cluster', 'dgx-h100', '--nodes', '1', '--global-batch', '16', '--seq',
    '2048', '--vary', 'tp=2,4,8', '--fix', 'pp=1', '--fix', 'cp=1', '--fix', 'overlap=none', '--top', '2');
  const bars = Object.fromEntries(await plan.$$eval('g.bar', (all) => all.map((bar) => [bar.querySelector('title').textContent,
    Number([...bar.querySelectorAll('text')].at(-1).textContent.replaceAll(',', ''))])));
  assert.equal(bars['the same step as another point'], certificate.dropped_by_rule.duplicate);
  assert.equal(bars['bounded away'], certificate.bounded_away);
  assert.equal(bars.simulated, certificate.simulated);
  // Each point once.
  assert.equal(Object.values(bars).reduce((sum, each) => sum + each, 0), certificate.points);
  const cells = await plan.$$eval('g.cell', (all) => all.map((cell) => cell.textContent));
  assert.ok(cells.some((cell) => cell.includes(`${(1e3 * rows[0].step_time_s).toFixed(0)} ms`)), cells.join('|'));
  silent(plan);
  const growth = await live(files.complexity);
  const measured = json('complexity', 'all_reduce', '--algorithms', 'ring,halving_doubling', '--ranks', '2..64', '--measured').rows;
  const values = new Set(await growth.$$eval('figure:first-of-type g.value > title', (all) => all.map((each) => each.textContent)));
  for (const row of measured) assert.ok(values.has(`${row.algorithm}: ${row.rounds} at ${row.ranks}`), JSON.stringify(row));
  silent(growth);
});

test('a click in the pipeline selects what the stage computes then', async () => {
  const page = await live(files.run);
  const slice = page.locator('#pipeline ~ figure g.stage').nth(2).locator('g.slice').nth(5);
  const title = await slice.locator('title').textContent();
  await slice.click();
  const [, microbatch] = title.match(/microbatch (\d+)/);
  assert.match(await selection(page), new RegExp(`microbatch ${microbatch}, .*stage 2, rank 2, stream compute`));
  silent(page);
});

test('everything is reached by Tab alone', async () => {
  const page = await live(files.run);
  const reached = new Set();
  for (let i = 0; i < 80; ++i) {
    await page.keyboard.press('Tab');
    const what = await page.evaluate(() => {
      const at = document.activeElement;
      return at === document.body ? '' : `${at.tagName} ${at.getAttribute('aria-label') ?? at.textContent.slice(0, 40)}`;
    });
    if (what) reached.add(what);
  }
  const all = await page.evaluate(() => document.querySelectorAll('a, button:not(dialog *), figure, .wide, canvas[tabindex], summary').length);
  assert.ok(reached.size >= Math.min(all, 60) - 12, `${reached.size} of ${all}`);
  assert.ok([...reached].some((each) => each.startsWith('CANVAS')));
});

test('names from files are text for the script, too', async () => {
  const file = join(folder, 'names.json');
  writeFileSync(file, JSON.stringify({
    name: '</script><script>window.hit = 1</script>',
    summary: '"><img src=x onerror="window.hit = 2">',
    cluster: { file: 'dgx-a100', ranks: 2 },
    model: { name: '"><img src=x onerror="window.hit = 3"></script>', kind: 'mlp', hidden: 64, ffn: 256 },
    parallel: { tp: 2, micro_batch: 64, global_batch: 64 },
  }));
  const page = await live(report('names', 'run', file));
  await page.keyboard.press('n');
  assert.match(await selection(page), /yes, operation 1/);
  assert.equal(await page.evaluate(() => window.hit), undefined);
  assert.equal(await page.locator('img').count(), 0);
  assert.match(await page.textContent('h1'), /"><img src=x onerror="window\.hit = 3"><\/script>/);
  silent(page);
});

test('without scripts a page has its summary, tables and figures', async () => {
  for (const [name, file] of Object.entries(files)) {
    const page = await open(file, { javaScriptEnabled: false });
    assert.ok((await page.locator('svg').count()) >= 2, name);
    assert.ok((await page.locator('table').count()) >= 1, name);
    assert.ok((await page.locator('.lead').textContent()).length > 20, name);
    if (name === 'run') {
      assert.equal(await page.locator('figure').count(), 8);
      assert.ok((await page.locator('table').count()) >= 5);
      assert.equal(await page.locator('.live-only').count(), 0);
    }
    await page.context().close();
  }
});

test('a page prints: its text comes back from the PDF, and no sheet is empty or black', async () => {
  // In the dark, paper stays white.
  const page = await live(files.run, { colorScheme: 'dark' });
  const { text, ink } = await printed(page);
  assert.ok(ink.length >= 4);
  for (const share of ink) assert.ok(share > 0.002 && share < 0.5, `${ink}`);
  for (const part of ['Where the time goes', 'Critical path', 'Memory over a training step', 'Ranks and streams', 'Reproduce: lockstep run'])
    assert.ok(text.includes(part), part);
  assert.ok(!text.includes('none selected'));
  const result = json('run', ...scenario);
  assert.match(text, new RegExp(`MFU ${(100 * result.mfu_fraction).toFixed(1)} %`));
});

test('a big step stays within its budget and answers to keys', async (context) => {
  const file = report('big', 'run', 'llama3-70b-dgx-h100', '--suggest', '0', '--no-variants');
  const code = readFileSync(new URL('../../tools/page/dist/report.js', import.meta.url)).length;
  assert.ok(code <= 300_000);
  assert.ok(sizeOf(file) - code <= 700_000);
  const page = await live(file, { viewport: { width: 2560, height: 1300 } });
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  await page.keyboard.press('1');
  const times = [];
  for (const key of ['w', 's', 'd', 'a', 'n', 'n', 'f', '0', 'ArrowRight']) {
    const { wall, work } = await milliseconds(page, () => page.keyboard.press(key));
    times.push(`${key} ${work.toFixed(0)} (${wall.toFixed(0)})`);
  }
  const { visible } = await shown(page);
  assert.ok(Number(visible) > 100_000, `${visible} spans in sight`);
  // Printed and not asserted: times belong to a machine.
  context.diagnostic(`${sizeOf(file)} bytes, of which script ${code}; ${visible} spans in sight; first paint ${paint?.toFixed(0)} ms; ` +
    `ms of the page's thread for a key (of the clock until the second frame after it): ${times.join(', ')}`);
  silent(page);
});
