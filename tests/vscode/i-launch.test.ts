/** F5 on a driver that mentions no debugger: it runs in the terminal, and its tasks stop at the gutter's breakpoints. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, Relay, closeAll, freePort, makeWorkspace, python} from './lib/processes.ts';
import {limit, until} from './lib/waits.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

let browser: Browser;
let server: CodeServer;
let relay: Relay;
let window: Workbench;
let first = 0; // a worker that begins on a busy machine may have to go on before it hears of the breakpoint

const step = steps();

before(async () => {
  const workspace = makeWorkspace('launch');
  fs.symlinkSync(path.dirname(path.dirname(python)), path.join(workspace, '.venv')); // the workspace's Python
  fs.mkdirSync(path.join(workspace, '.vscode'));
  fs.writeFileSync(path.join(workspace, '.vscode/launch.json'), JSON.stringify({version: '0.2.0', configurations: [
    {type: 'raydbg', request: 'launch', name: 'plain', program: '${workspaceFolder}/plain.py', env: {RAY_ADDRESS: '127.0.0.1:6379'}}]}));
  relay = new Relay('launch-relay', await freePort());
  process.env['XDG_STATE_HOME'] = relay.state; // VS Code finds the relay there
  await relay.start();
  [server, browser] = await Promise.all([CodeServer.start('launch-server', {'raydbg.notifyOnFirstPause': false}), browse()]);
  window = await Workbench.open(browser, server.address, workspace, 'launch');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => relay?.stop()));

step('F5: the first task stops at a line of the gutter', async () => {
  await window.show('Run and Debug');
  await window.openFile('plain.py');
  await window.toggleBreakpoint('twice = n * 2');
  await window.page.keyboard.press('F5');
  await window.page.locator('.monaco-editor .debug-top-stack-frame-line').first().waitFor({state: 'attached', timeout: limit(180)});
  await window.stoppedAt('twice = n * 2');
  first = Number(/(\d+)$/.exec((await window.value('n', /\d$/)).trim())?.[1]);
  await until(async () => (await window.page.locator('.codicon-debug-breakpoint-unverified').count()) === 0,
    'the dot is solid: a worker has it');
  await window.shot('stopped');
});

step('the filter of exceptions that only a launch has is offered', async () => {
  await window.page.locator('.debug-breakpoints .monaco-list-row', {hasText: 'Uncaught in Tasks'}).waitFor({state: 'attached'});
});

step('it steps, and the next task stops, too', async () => {
  await window.tool('Step Over');
  await window.stoppedAt('return twice');
  await window.value('twice', new RegExp(`\\b${2 * first}$`));
  await window.tool('Continue');
  await window.stoppedAt('twice = n * 2');
  await window.value('n', new RegExp(`\\b${first + 1}$`));
});

step('without the breakpoint the program runs to its end in the terminal', async () => {
  await window.toggleBreakpoint('twice = n * 2', false);
  await window.tool('Continue');
  await window.ended();
  await window.page.locator('.xterm-rows', {hasText: 'RESULT 1640'}).waitFor();
  await window.shot('ended');
  assert.deepEqual(relay.list(), []);
});
