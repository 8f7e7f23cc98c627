// Reports in a real browser.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { findings, json, open, report, stop } from './browser.mjs';

after(stop);

test('the report of a run opens from a file, silently and without network', async () => {
  const file = report('run', 'run', 'pipeline-1f1b', '--suggest', '0');
  const page = await open(file);
  const result = json('run', 'pipeline-1f1b', '--suggest', '0');
  assert.ok(result.step_time_s > 0);
  assert.match(await page.textContent('body'), /MFU/);
  assert.deepEqual(await findings(page), []);
  assert.deepEqual(page.said, []);
  assert.deepEqual(page.asked, []);
});
