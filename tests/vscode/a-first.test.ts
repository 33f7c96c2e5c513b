/** From a fresh VS Code to a stopped line: nothing configured, no relay. */
import assert from 'node:assert/strict';
import {after, before, test} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, type Program, closeAll, driver, makeWorkspace, paused} from './lib/processes.ts';
import {Workbench, browse} from './lib/workbench.ts';

let browser: Browser;
let server: CodeServer;
let program: Program;
let window: Workbench;

before(async () => {
  const workspace = makeWorkspace('first');
  [server, browser, program] = await Promise.all([CodeServer.start('first-server'), browse(), driver(workspace, 'square', 'trainer')]);
  await paused('square', 'Trainer.step');
  window = await Workbench.open(browser, server.address, workspace, 'first');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL')));

test('F5 in a folder without launch.json: pick a task, stopped at its line with sizes, within 10 s', () => Workbench.during(async () => {
  await window.openFile('train.py');
  const start = Date.now();
  await window.page.keyboard.press('F5');
  const items = window.page.locator('.quick-input-list .monaco-list-row');
  await items.filter({hasText: 'square'}).waitFor();
  await window.shot('pick');
  assert.match((await items.allInnerTexts()).join('\n'), /Trainer\.step \(bob\)/);
  await items.filter({hasText: 'square'}).locator('.quick-input-list-label, .monaco-highlighted-label').first().click();
  await window.page.keyboard.press('Enter');
  await window.stoppedAt('breakpoint()');
  await window.value('big', /8\.0 MB · pid \d+/);
  console.log(`F5 to sizes: ${Date.now() - start} ms`);
  assert.ok(Date.now() - start < 10_000, `${Date.now() - start} ms`);
  await window.shot('stopped');
}));
