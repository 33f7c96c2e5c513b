/** A new user's first hour, as VS Code is when it is new: no relay was started, nothing is configured. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before} from 'node:test';
import type {Browser, Locator} from 'playwright-core';
import {CodeServer, closeAll, makeWorkspace, python, scratch} from './lib/processes.ts';
import {limit, until} from './lib/waits.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

const pauses = 'Paused Tasks';
const state = path.join(scratch, 'hour-state');
let browser: Browser;
let server: CodeServer;
let window: Workbench;
let workspace: string;

const step = steps();
const toasts = (): Locator => window.page.locator('.notification-toast');

before(async () => {
  workspace = makeWorkspace('hour');
  fs.symlinkSync(path.dirname(path.dirname(python)), path.join(workspace, '.venv')); // the workspace's Python
  process.env['XDG_STATE_HOME'] = state; // raydbg finds the relay there that VS Code's has started
  const env = {RAYDBG_START_RELAY: '1', RAY_ADDRESS: '127.0.0.1:6379'};
  [server, browser] = await Promise.all([CodeServer.start('hour-server', {}, env), browse()]);
  window = await Workbench.open(browser, server.address, workspace, 'hour');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop()));

/** Its steps, and what is beside each. */
const walkthrough = {
  'Pause a task': 'the task waits here', Attach: 'lists what waits', 'See what fills the object store': 'A reference among the variables',
  'Keep pauses, share them': 'Without a relay', 'When something is wrong': 'within three seconds',
};

step('the walkthrough: a picture, and no marks of Markdown', async () => {
  await window.openFile('plain.py');
  await window.show('Ray Debug');
  await window.welcome(pauses).getByText('No task is paused.').waitFor();
  await window.shot('nothing');
  await window.welcome(pauses).locator('.monaco-button', {hasText: 'Open Walkthrough'}).click();
  const page = window.page.locator('.gettingStartedContainer');
  const media = window.page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
  for (const [title, text] of Object.entries(walkthrough)) {
    await page.locator('.getting-started-step .step-title', {hasText: title}).first().click();
    await media.locator('body', {hasText: text}).waitFor();
    if (title === 'Attach')
      await until(() => media.locator('img').evaluate((image) => (image as unknown as {naturalWidth: number}).naturalWidth > 0), 'the picture is there');
    await window.shot(`walkthrough ${title}`);
    assert.doesNotMatch(await media.locator('body').innerText(), /`/);
  }
  assert.doesNotMatch(await page.innerText(), /[`*]/);
});

step('F5 where nothing is paused runs the file: a task stops at the dot', async () => {
  await window.show('Run and Debug');
  await window.openFile('plain.py');
  await window.toggleBreakpoint('twice = n * 2');
  await window.page.keyboard.press('F5');
  await window.item('Run plain.py').waitFor();
  await window.shot('run');
  await window.page.keyboard.press('Enter');
  await window.page.locator('.monaco-editor .debug-top-stack-frame-line').first().waitFor({state: 'attached', timeout: limit(180)});
  await window.stoppedAt('twice = n * 2');
  await window.shot('stopped');
});

step('the program ends, and with it the session: nothing is left to be read or closed', async () => {
  await window.toggleBreakpoint('twice = n * 2', false);
  await window.tool('Continue');
  await window.ended();
  await window.page.locator('.xterm-rows', {hasText: 'RESULT 1640'}).waitFor();
  await window.command('Debug Console: Focus on Debug Console View');
  await window.page.locator('.repl-tree .monaco-list-row', {hasText: 'ended'}).first().waitFor();
  await window.shot('ended');
  assert.deepEqual(await toasts().allInnerTexts(), []);
});

step('a terminal knows the raydbg that answers speak of', async () => {
  await window.command('Terminal: Create New Terminal');
  const rows = window.page.locator('.terminal .xterm-rows').last();
  await rows.filter({hasText: /[#$]/}).waitFor();
  await window.page.keyboard.type('raydbg version');
  await window.page.keyboard.press('Enter');
  await rows.filter({hasText: /raydbg \d+\.\d+/}).waitFor();
  await window.shot('terminal');
});
