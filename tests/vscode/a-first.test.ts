/** From a fresh VS Code to a stopped line: nothing configured, no relay. */
import assert from 'node:assert/strict';
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, type Program, closeAll, driver, makeWorkspace, paused} from './lib/processes.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

let browser: Browser;
let server: CodeServer;
let program: Program;
let window: Workbench;

before(async () => {
  const workspace = makeWorkspace('first');
  [server, browser, program] = await Promise.all([CodeServer.start('first-server'), browse(), driver(workspace, 'square', 'trainer', 'doomed')]);
  await paused('square', 'Trainer.step', 'doomed');
  window = await Workbench.open(browser, server.address, workspace, 'first');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL')));

const step = steps();

step('F5 in a folder without launch.json: pick a task, stopped at its line with sizes, within 10 s', async () => {
  await window.openFile('train.py');
  const start = Date.now();
  await window.page.keyboard.press('F5');
  const items = window.page.locator('.quick-input-list .monaco-list-row');
  await items.filter({hasText: 'square'}).waitFor();
  await window.shot('pick');
  assert.match((await items.allInnerTexts()).join('\n'), /Trainer\.step \(bob\)/);
  await window.pick('square');
  await window.page.keyboard.press('Enter');
  await window.stoppedAt('breakpoint()');
  await window.value('big', /8\.0 MB · pid \d+/);
  console.log(`F5 to sizes: ${Date.now() - start} ms`);
  assert.ok(Date.now() - start < 10_000, `${Date.now() - start} ms`);
  await window.shot('stopped');
});

step('F5 again: several chosen are a session each, and go on when they are left', async () => {
  await window.tool('Disconnect');
  await window.ended();
  await program.says(/^RESULT square /m);
  await window.openFile('train.py');
  await window.page.keyboard.press('F5');
  await window.pick('Trainer.step', 'doomed');
  await window.page.keyboard.press('Enter');
  for (const name of ['Trainer.step (bob)', 'doomed']) await window.pausedSession(name).waitFor();
  await window.shot('several');
  await window.command('Debug: Disconnect');
  await window.command('Debug: Disconnect');
  await window.ended();
  await program.says(/^DONE$/m);
});
