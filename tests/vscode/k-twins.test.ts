/** Tasks that look alike, the notification of one that has ended, and a relay that ends: no relay was started, nothing is configured. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before} from 'node:test';
import type {Browser, Locator} from 'playwright-core';
import {CodeServer, type Program, closeAll, driver, makeWorkspace, pausedTimes, scratch} from './lib/processes.ts';
import {until} from './lib/waits.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

const pauses = 'Paused Tasks';
const state = path.join(scratch, 'twins-state');
let browser: Browser;
let server: CodeServer;
const squares: Program[] = [];
let window: Workbench;
let workspace: string;

const step = steps();
const items = (): Locator => window.page.locator('.quick-input-list .monaco-list-row');

before(async () => {
  workspace = makeWorkspace('twins');
  process.env['XDG_STATE_HOME'] = state; // raydbg finds the relay there that VS Code's has started
  const env = {RAYDBG_START_RELAY: '1', RAY_ADDRESS: '127.0.0.1:6379'};
  [server, browser] = await Promise.all([CodeServer.start('twins-server', {}, env), browse()]);
  window = await Workbench.open(browser, server.address, workspace, 'twins');
  await window.show('Ray Debug');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop()));

step('two squares are told apart where there is room for a few letters', async () => {
  squares.push(await driver(workspace, 'square'));
  await window.toast(/Ray task square is paused/).waitFor();
  squares.push(await driver(workspace, 'square'));
  await pausedTimes('square', 2);
  await window.show('Ray Debug');
  await window.row(pauses, /^square.*waiting/s).waitFor();
  await window.shot('squares');
  await window.openFile('train.py');
  await window.page.keyboard.press('F5');
  await window.item(/square.*job 0/s).nth(1).waitFor();
  await window.shot('pick');
  const jobs = (await items().allInnerTexts()).flatMap((text) => /job \w+/.exec(text) ?? []);
  await window.pick('Choose several');
  await window.tick(...jobs);
  await window.page.keyboard.press('Enter');
  await window.pausedSession(/^pid \d+ square/).nth(1).waitFor();
  await window.stoppedAt('breakpoint()');
  await window.shot('two');
  const rows = await window.page.locator('.debug-call-stack .monaco-list-row', {hasText: /^pid/}).allInnerTexts();
  assert.equal(new Set(rows.map((text) => text.slice(0, 9))).size, 2, rows.join('\n'));
});

step('the call stack is whole, after a step, too', async () => {
  await window.tool('Step Over');
  await window.stoppedAt('z = y + int(arr.sum())');
  const more = window.page.locator('.debug-call-stack .monaco-list-row', {hasText: 'Load More Stack Frames'});
  await until(async () => (await window.page.locator('.debug-call-stack .monaco-list-row', {hasText: 'Show 2 More'}).count()) > 0, 'frames');
  await more.first().waitFor({state: 'detached'});
});

step('the notification of a task that is not paused any more does not attach to another', async () => {
  await window.command('Debug: Disconnect');
  await window.command('Debug: Disconnect');
  await window.ended();
  await window.shot('left');
  for (const program of squares) await program.says(/^RESULT square /m);
  await window.show('Ray Debug');
  await window.row(pauses, /^square/).waitFor({state: 'detached'});
  await window.command('Notifications: Show Notifications');
  const told = window.page.locator('.notifications-center .notification-list-item');
  await told.filter({hasText: 'Ray task square is paused'}).locator('.monaco-button', {hasText: 'Attach'}).click();
  await told.or(window.toast('square')).filter({hasText: 'square is not paused any more.'}).first().waitFor();
  await window.command('Notifications: Clear All');
  assert.equal(await window.toolbar.isVisible(), false);
});

step('a task that has a rank is called by it', async () => {
  const gang = await driver(workspace, 'gang');
  await pausedTimes('Gang.run', 4);
  await window.show('Ray Debug');
  await window.rowAction(pauses, /^Gang\.run.*waiting/s, 'Attach', window.toolbar);
  await window.stoppedAt('breakpoint()');
  await window.show('Ray Debug');
  await window.rowAction(pauses, /^Gang\.run.*waiting/s, 'Attach');
  await window.show('Run and Debug');
  await window.page.locator('.debug-call-stack .monaco-list-row', {hasText: /^rank \d Gang\.run/}).nth(1).waitFor();
  await window.shot('ranks');
  await window.command('Debug: Disconnect');
  await window.command('Debug: Disconnect');
  await window.ended();
  await gang.stop('SIGKILL');
});

step('the relay that VS Code started ends, and new pauses show all the same', async () => {
  await until(() => !fs.readdirSync(path.join(state, 'raydbg')).some((name) => /^relay.*\.json$/.test(name)), 'the relay ends');
  await window.show('Ray Debug');
  await driver(workspace, 'doomed');
  await window.row(pauses, /^doomed.*waiting/s).waitFor();
  await window.shot('after the relay');
});
