/** What goes wrong: a wrong token, a relay that is killed, a task that dies, and two people at one task. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, LOST_ROW, type Program, Relay, closeAll, driver, makeWorkspace, paused} from './lib/processes.ts';
import {until} from './lib/waits.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

const pauses = 'Paused Tasks';
let browser: Browser;
let server: CodeServer;
let program: Program;
let relay: Relay;
let window: Workbench;
let other: Workbench | undefined;
let workspace: string;

const step = steps();

before(async () => {
  workspace = makeWorkspace('trouble');
  relay = new Relay('trouble-relay', 4714, true);
  await relay.start();
  const wrong = {XDG_STATE_HOME: `${relay.state}-none`}; // VS Code does not see the relay's own file
  process.env['XDG_STATE_HOME'] = relay.state;
  const settings = {'raydbg.notifyOnFirstPause': false, 'raydbg.local': false};
  [server, browser, program] = await Promise.all([CodeServer.start('trouble-server', settings, wrong), browse(),
    driver(workspace, 'square', 'doomed')]);
  await paused('square', 'doomed');
  window = await Workbench.open(browser, server.address, workspace, 'trouble');
});

after(() => closeAll(() => other?.close(), () => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL'), () => relay?.stop()));

/** Clicks a toast's button. */
async function fix(text: string | RegExp, button: string): Promise<void> {
  await window.toast(text).locator('.monaco-button', {hasText: button}).first().click();
}

step('a cluster is added by its relay\'s address; its certificate is pinned', async () => {
  await window.show('Ray Debug');
  await window.welcome(pauses).locator('.monaco-button', {hasText: 'Add Cluster'}).click();
  await window.answer(relay.address, 'Add a Ray cluster');
  await window.answer('lab', 'What shall it be called?');
  await window.toast(/lab: .*certificate/).waitFor();
  await window.welcome(pauses).getByText('The relay\'s certificate is not trusted.').waitFor();
  await window.welcome(pauses).locator('.monaco-button', {hasText: 'Trust Relay Certificate'}).waitFor();
  assert.doesNotMatch(await window.toast(/lab: .*certificate/).innerText(), / --/); // nobody types an option here
  await window.shot('certificate');
  await fix(/lab: .*certificate/, 'Trust Certificate');
  const dialog = window.page.locator('.monaco-dialog-box', {hasText: relay.fingerprint});
  await dialog.waitFor();
  await window.shot('pinning');
  await dialog.locator('.monaco-button', {hasText: 'Trust'}).click();
});

step('no token, a wrong one, the right one', async () => {
  await window.toast(/lab: .*token/).waitFor();
  await window.welcome(pauses).getByText('a token is missing or wrong').waitFor();
  assert.doesNotMatch(await window.toast(/lab: .*token/).innerText(), / --/);
  await window.shot('no-token');
  await fix(/lab: .*token/, 'Set Relay Token');
  await window.answer('0'.repeat(64), 'Token of the relay of lab');
  await window.toast(/lab: the token is wrong/).waitFor();
  await window.shot('wrong-token');
  await fix(/lab: the token is wrong/, 'Set Relay Token');
  await window.answer(relay.token, 'Token of the relay of lab');
  await window.row(pauses, /^square/).waitFor();
  await window.shot('right-token');
});

step('a click on a row that VS Code has lost does nothing', async () => {
  await window.page.keyboard.press(LOST_ROW);
  await window.toast('nothing was done').waitFor();
  await window.command('Notifications: Clear All');
  assert.equal(await window.toolbar.isVisible(), false);
  assert.ok(relay.list().every((row) => !row.clients));
});

step('launch.json: two tasks of a cluster are threads of one session', async () => {
  fs.mkdirSync(path.join(workspace, '.vscode'));
  fs.writeFileSync(path.join(workspace, '.vscode/launch.json'), JSON.stringify({version: '0.2.0', configurations: [
    {type: 'raydbg', request: 'attach', name: 'both', cluster: 'lab', tasks: ['square', 'doomed']}]}));
  await window.show('Run and Debug');
  await window.page.locator('.start-debug-action-item', {hasText: 'both'}).waitFor();
  await window.page.keyboard.press('F5');
  for (const name of ['square', 'doomed'])
    await window.page.locator('.debug-call-stack .monaco-list-row', {hasText: new RegExp(`pid \\d+ ${name}.*Paused`, 'i')}).waitFor();
  await window.shot('tasks');
  await window.command('Debug: Disconnect');
  await window.ended();
  await until(() => relay.list().every((row) => row.state === 'held' && !row.clients), 'both are held');
  await window.show('Ray Debug');
});

step('a relay that is killed and started again: the session goes on', async () => {
  await window.rowAction(pauses, /^square.* · /s, 'Attach', window.toolbar);
  await window.stoppedAt('breakpoint()');
  await window.tool('Step Over');
  await window.stoppedAt('z = y + int(arr.sum())');
  await relay.kill();
  await window.toast(/lab: /).waitFor();
  await window.shot('relay-killed');
  await relay.start();
  await window.show('Ray Debug');
  await window.row(pauses, /^square.*attached · .*train\.py:23/s).waitFor();
  await window.show('Run and Debug');
  await window.value('y', /144/);
  await window.tool('Step Over');
  await window.stoppedAt('total = scaled(');
  await window.shot('relay-again');
});

step('a second window observes, and takes over', async () => {
  other = await window.another(server.address, workspace, 'observer');
  await other.show('Ray Debug');
  await other.row(pauses, /^square.* · /s).waitFor(); // the extension starts
  await other.menu(pauses, /^square.* · /s, 'Attach as Observer');
  await other.stoppedAt('total = scaled(');
  await other.page.locator('.statusbar-item', {hasText: 'observing'}).waitFor();
  await other.show('Ray Debug');
  await other.showCluster();
  await other.row('Sessions', /^square.*driver/s).waitFor();
  await other.row('Sessions', /^square.*observer/s).waitFor();
  await other.shot('observes');
  await other.page.locator('.statusbar-item', {hasText: 'observing'}).click();
  await other.page.locator('.statusbar-item', {hasText: 'observing'}).waitFor({state: 'hidden'});
  await window.page.locator('.statusbar-item', {hasText: 'observing'}).waitFor();
  await other.shot('drives');
  await other.tool('Step Over');
  await other.stoppedAt('return total, big');
  await window.stoppedAt('return total, big');
  await window.shot('follows');
});

step('the first window takes over again, from the row of its session', async () => {
  await window.show('Ray Debug');
  await window.showCluster();
  await window.rowAction('Sessions', /^square.*observer/s, 'Take Over');
  await window.page.locator('.statusbar-item', {hasText: 'observing'}).waitFor({state: 'hidden'});
  await other?.page.locator('.statusbar-item', {hasText: 'observing'}).waitFor();
  await window.shot('drives');
});

step('a task that dies while it is stopped: said, and gone from the view', async () => {
  await window.tool('Disconnect');
  await window.ended();
  await window.show('Ray Debug');
  await window.rowAction(pauses, /^doomed.* · /s, 'Attach', window.toolbar);
  await window.stoppedAt('breakpoint()');
  const pid = relay.list().find((row) => row.task_name === 'doomed')?.pid;
  assert.ok(pid);
  process.kill(pid, 'SIGKILL');
  await window.ended();
  await window.command('Debug Console: Focus on Debug Console View');
  await window.page.locator('.repl-tree .monaco-list-row', {hasText: `worker pid ${pid} on 127.0.0.1 died`}).waitFor();
  await window.shot('died');
  await window.show('Ray Debug');
  await window.row(pauses, /^doomed/).waitFor({state: 'detached'});
  await window.row(pauses, /^square.* · /s).waitFor();
  await window.shot('gone');
});

step('release lets a held task run', async () => {
  await window.rowAction(pauses, /^square.* · /s, 'Release');
  await program.says(/^RESULT square /m);
  await window.row(pauses, /^square/).waitFor({state: 'detached'});
});
