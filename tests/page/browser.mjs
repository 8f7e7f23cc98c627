// What the tests of pages share: Chromium of Debian through playwright-core, whose packages are those
// of tools/page. Every page opened here keeps what it said on the console and what it asked the network.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const require = createRequire(new URL('../../tools/page/package.json', import.meta.url));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

/** The built command; the configs are those of the source tree. */
export const lockstep = process.env.LOCKSTEP;

/** A folder that is removed when the tests end. */
export const folder = mkdtempSync(join(tmpdir(), 'lockstep-page-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Runs the command; its stdout. */
export function run(...args) {
  return execFileSync(lockstep, args, { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
}

/** What the command prints as JSON. */
export function json(...args) {
  return JSON.parse(run(...args, '--format', 'json'));
}

/** Runs the command with --report; the file. */
export function report(name, ...args) {
  const file = join(folder, name + '.html');
  run(...args, '--report', file);
  return file;
}

export function sizeOf(file) {
  return statSync(file).size;
}

/** Milliseconds until a wait fails: long, as other tests run beside these. */
const kPatience = 120_000;

let browser;
export async function start() {
  browser ??= await chromium.launch({
    timeout: kPatience,
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
      '--disable-component-update', '--disable-sync'],
  });
  return browser;
}
export async function stop() {
  await browser?.close();
  browser = undefined;
}

/**
 * Opens a file or an address. `options` are of the browser context, such as viewport, colorScheme and
 * javaScriptEnabled. The page has `said`: errors and warnings of the console, and uncaught errors;
 * `asked`: the addresses of all requests but those of `allowed` (default: the file itself).
 */
export async function open(fileOrUrl, options = {}) {
  const { allowed, ...contextOptions } = options;
  const context = await (await start()).newContext({ viewport: { width: 1280, height: 800 }, ...contextOptions });
  context.setDefaultTimeout(kPatience);
  const page = await context.newPage();
  const url = fileOrUrl.includes('://') ? fileOrUrl : pathToFileURL(fileOrUrl).href;
  page.said = [];
  page.asked = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) page.said.push(message.text());
  });
  page.on('pageerror', (error) => page.said.push(String(error)));
  page.on('request', (request) => {
    const to = request.url().split('#')[0];
    const known = allowed ? allowed(to) : to === url.split('#')[0];
    if (!known && !to.startsWith('data:') && !to.startsWith('blob:')) page.asked.push(to);
  });
  await page.goto(url);
  return page;
}

/** Milliseconds from the start of the navigation to the first paint with content; the least of three, as other programs run. */
export async function firstPaint(file) {
  let least = Infinity;
  for (let i = 0; i < 3; ++i) {
    const page = await open(file);
    await page.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
    least = Math.min(least, await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
    await page.context().close();
  }
  return least;
}

/** Serious and critical findings of axe-core, as text. */
export async function findings(page) {
  await page.evaluate(axe);
  const result = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
  return result.violations
    .filter((each) => ['serious', 'critical'].includes(each.impact))
    .map((each) => `${each.id}: ${each.help}: ${each.nodes.slice(0, 3).map((n) => n.html.slice(0, 200)).join(' | ')}`);
}

/**
 * A page as it prints: PDF by Chromium. `text` of it by pdftotext; `ink`, of each sheet by pdftoppm, the
 * share of its pixels that is not white.
 */
export async function printed(page) {
  const file = join(folder, 'printed.pdf');
  await page.pdf({ path: file, preferCSSPageSize: true });
  const text = execFileSync('pdftotext', ['-layout', file, '-'], { encoding: 'utf8', maxBuffer: 1 << 28 });
  const sheets = execFileSync('pdftoppm', ['-r', '30', '-gray', file], { maxBuffer: 1 << 28 });
  const ink = [];
  // Binary PGM, one after the other: "P5", width, height, 255, then a byte per pixel.
  for (let at = 0; at < sheets.length;) {
    const [head, width, height] = /^P5\s+(\d+)\s+(\d+)\s+255\s/.exec(sheets.subarray(at, at + 64).toString('latin1'));
    const begin = at + head.length;
    at = begin + Number(width) * Number(height);
    ink.push(sheets.subarray(begin, at).filter((gray) => gray < 240).length / (at - begin));
  }
  return { text, ink };
}

/**
 * What an action takes until the second frame after it: `wall`, milliseconds; `work`, those of the page's
 * main thread alone, which other programs of the machine disturb less.
 */
export async function milliseconds(page, action) {
  if (!page.metrics) {
    page.metrics = await page.context().newCDPSession(page);
    await page.metrics.send('Performance.enable', { timeDomain: 'threadTicks' });
  }
  const work = async () => {
    const { metrics } = await page.metrics.send('Performance.getMetrics');
    return 1e3 * metrics.find((each) => each.name === 'TaskDuration').value;
  };
  const before = await work();
  await page.evaluate(() => (window.began = performance.now()));
  await action();
  const wall = await page.evaluate(
    () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - window.began)))));
  return { wall, work: (await work()) - before };
}
