// Views of the pages against reference pictures in screenshots/, of 448 x 280 pixels. Fonts and antialiasing of
// another machine must not count, so compared are mean colors of cells, and how much of the picture each color
// takes that is not gray, as text is. REFRESH=1 writes the references again: look at them before a commit.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { folder, open, report, run, start, stop } from './browser.mjs';

const references = fileURLToPath(new URL('screenshots/', import.meta.url));
const refresh = process.env.REFRESH === '1';
const kWidth = 448;
const kHeight = 280;
/** Mean difference of the cells, of 255. A serif font differs by up to 1.1, missing figures by 3 or more. */
const kCells = 2.8;
/** Share of the picture whose color is another. Fonts differ by up to 0.0008, turned colors by 0.0013 or more. */
const kColors = 0.001;

const teach = join(folder, 'teach', 'index.html');
const settled = () => [...document.querySelectorAll('.busy')].every((each) => each.textContent === '') && [...document.querySelectorAll('main svg, main .plot')].some((each) => each.getClientRects().length > 0);
const views = {
  'report-step': { file: () => report('run', 'run', 'pipeline-1f1b', '--suggest', '2') },
  'report-topology': { file: () => report('large', 'run', 'zero-7b5-3', '--suggest', '0'), at: '#links' },
  'report-collective': { file: () => report('collective', 'collective', 'all_reduce', '--cluster', 'dgx-h100', '--nodes', '2', '--algorithm', 'ring,halving_doubling,nvls', '--size', '1K,64K,1M,64M') },
  'report-plan': { file: () => report('plan', 'plan', '--model', 'llama3-8b', '--cluster', 'dgx-h100', '--nodes', '1', '--global-batch', '16', '--seq', '2048', '--vary', 'tp=2,4,8', '--fix', 'pp=1', '--fix', 'cp=1', '--fix', 'overlap=none', '--top', '2', '--set', 'parallel.state.gradients=bf16') },
  'teach-collectives': { file: () => teach, hash: '#/collectives?algorithms=ring,halving_doubling&ranks=8&size=20&at=9000000', at: '.films' },
  'teach-pipelines': { file: () => teach, hash: '#/pipelines?stages=4&microbatches=8', at: '.pipelines' },
  'teach-memory': { file: () => teach, hash: '#/memory?topic=tensor', at: '.topic' },
};
const schemes = ['light', 'dark'];
const files = {};

before(() => {
  run('teach', '-o', join(folder, 'teach'));
  for (const [name, view] of Object.entries(views)) files[name] = view.file();
  mkdirSync(references, { recursive: true });
});
after(stop);

async function show(name, colorScheme) {
  const { hash = '', at } = views[name];
  const page = await open(`file://${files[name]}${hash}`, { colorScheme, viewport: { width: 1280, height: 800 }, allowed: () => true });
  if (hash) await page.waitForFunction(settled);
  else await page.waitForSelector('html[data-ready]');
  await page.waitForTimeout(300);
  if (at) await page.evaluate((selector) => document.querySelector(selector).scrollIntoView(), at);
  return page;
}

/** PNG of what the window shows, scaled down by the browser. */
async function picture(page) {
  const shot = (await page.screenshot()).toString('base64');
  return Buffer.from(await (await tools()).evaluate(async ({ shot, width, height }) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${shot}`)).blob(), { resizeWidth: width, resizeHeight: height, resizeQuality: 'high' });
    const canvas = new OffscreenCanvas(width, height);
    canvas.getContext('2d').drawImage(image, 0, 0);
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: 'image/png' })).arrayBuffer());
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  }, { shot, width: kWidth, height: kHeight }), 'base64');
}

let blank;
async function tools() {
  blank ??= await (await start()).newPage();
  return blank;
}

/** `cells`: mean difference of cells of 14 x 14 pixels; `colors`: share of the picture with another color. */
async function difference(a, b) {
  return (await tools()).evaluate(async (texts) => {
    const read = async (text) => {
      const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${text}`)).blob());
      const canvas = new OffscreenCanvas(image.width, image.height);
      canvas.getContext('2d').drawImage(image, 0, 0);
      return canvas.getContext('2d').getImageData(0, 0, image.width, image.height);
    };
    const summary = ({ data, width, height }) => {
      const cell = 14;
      const across = width / cell;
      const cells = new Float64Array((across * height * 3) / cell);
      const colors = new Map();
      for (let i = 0; i < data.length; i += 4) {
        const at = i / 4;
        const place = Math.floor(Math.floor(at / width) / cell) * across + Math.floor((at % width) / cell);
        const [r, g, b] = [data[i], data[i + 1], data[i + 2]];
        [r, g, b].forEach((value, channel) => (cells[3 * place + channel] += value / (cell * cell)));
        if (Math.max(r, g, b) - Math.min(r, g, b) < 48) continue; // gray
        // Neighboring bins share a color, so that one at their border is no difference.
        const hue = Math.atan2(Math.sqrt(3) * (g - b), 2 * r - g - b) / (Math.PI / 6);
        for (const [bin, part] of [[Math.floor(hue), 1 - (hue - Math.floor(hue))], [Math.floor(hue) + 1, hue - Math.floor(hue)]]) {
          const key = ((bin % 12) + 12) % 12;
          colors.set(key, (colors.get(key) ?? 0) + part / (width * height));
        }
      }
      return { cells, colors };
    };
    const [a, b] = [summary(await read(texts[0])), summary(await read(texts[1]))];
    const cells = a.cells.reduce((sum, value, i) => sum + Math.abs(value - b.cells[i]), 0) / a.cells.length;
    let colors = 0;
    for (const key of new Set([...a.colors.keys(), ...b.colors.keys()])) colors += Math.abs((a.colors.get(key) ?? 0) - (b.colors.get(key) ?? 0)) / 2;
    return { cells, colors };
  }, [a.toString('base64'), b.toString('base64')]);
}
const same = ({ cells, colors }) => cells <= kCells && colors <= kColors;

for (const name of Object.keys(views))
  for (const scheme of schemes)
    test(`${name}, ${scheme}, looks as it did`, async () => {
      const page = await show(name, scheme);
      const now = await picture(page);
      await page.context().close();
      const file = join(references, `${name}-${scheme}.png`);
      if (refresh) return writeFileSync(file, now);
      assert.ok(existsSync(file), `${file} is missing; REFRESH=1 writes it`);
      const found = await difference(readFileSync(file), now);
      if (same(found)) return;
      const seen = join(tmpdir(), `lockstep-${name}-${scheme}.png`);
      writeFileSync(seen, now);
      assert.fail(`${seen} differs from ${file}: cells by ${found.cells.toFixed(2)} (at most ${kCells}), colors by ${found.colors.toFixed(4)} (at most ${kColors}); ` +
        'if it is as it should be, REFRESH=1 tests/page/run.sh build/release/lockstep screenshots_test.mjs keeps it');
    });

test('another font is no difference, another color and a missing figure are', { skip: refresh }, async () => {
  const told = [];
  for (const name of Object.keys(views)) {
    const page = await show(name, 'light');
    const reference = readFileSync(join(references, `${name}-light.png`));
    const style = await page.addStyleTag({ content: '* { font-family: "DejaVu Serif", "Liberation Serif", serif !important; }' });
    const font = await difference(reference, await picture(page));
    await style.evaluate((element) => element.remove());
    // Every blue is a red now, on canvases and in drawings.
    const turned = await page.addStyleTag({ content: 'svg, canvas { filter: hue-rotate(120deg); }' });
    const color = await difference(reference, await picture(page));
    await turned.evaluate((element) => element.remove());
    await page.addStyleTag({ content: 'svg, canvas { visibility: hidden; }' });
    const missing = await difference(reference, await picture(page));
    await page.context().close();
    told.push(`${name}: font ${JSON.stringify(font)}, color ${JSON.stringify(color)}, missing ${JSON.stringify(missing)}`);
    assert.ok(same(font), `${name}: another font differs by ${JSON.stringify(font)}`);
    assert.ok(!same(color), `${name}: other colors differ by ${JSON.stringify(color)}`);
    assert.ok(!same(missing), `${name}: no figures differ by ${JSON.stringify(missing)}`);
  }
  if (process.env.VERBOSE) console.log(told.join('\n'));
});
