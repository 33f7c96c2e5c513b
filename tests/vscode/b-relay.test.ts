/** With a relay: from the view to a line and back, and the pause outlives every session. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, type Program, Relay, closeAll, driver, makeWorkspace, paused, scratch} from './lib/processes.ts';
import {until} from './lib/waits.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

const pauses = 'Paused Tasks';
let browser: Browser;
let server: CodeServer;
let program: Program;
let relay: Relay;
let window: Workbench;
let workspace: string;

const step = steps();
/** Where a row of the call stack has none of the buttons that show under the mouse. */
const onName = {position: {x: 50, y: 8}};

/** A kubectl that has no Kubernetes: it forwards from this machine to this machine. VS Code takes PATH from a login shell. */
function standIn(): void {
  const home = path.join(scratch, 'relay-server/home');
  const directory = path.join(home, 'bin');
  fs.mkdirSync(directory, {recursive: true});
  fs.writeFileSync(path.join(home, '.profile'), `PATH=${directory}:$PATH\n`);
  fs.writeFileSync(path.join(directory, 'kubectl'), `#!${process.execPath}
const net = require('node:net');
const [here, there] = process.argv.at(-1).split(':').map(Number);

net.createServer((client) => {
  const server = net.connect(there, '127.0.0.1');
  client.pipe(server).pipe(client);
  for (const socket of [client, server]) socket.on('error', () => socket.destroy());
}).listen(here, '127.0.0.1');
`, {mode: 0o755});
}

before(async () => {
  workspace = makeWorkspace('relay');
  relay = new Relay('relay-state', 4713);
  process.env['XDG_STATE_HOME'] = relay.state; // who runs raydbg here has the token
  await relay.start();
  standIn();
  [server, browser, program] = await Promise.all([
    CodeServer.start('relay-server', {'raydbg.notifyOnFirstPause': false}, {SHELL: '/bin/bash'}),
    browse(), driver(workspace, 'square', 'trainer')]);
  await paused('square', 'Trainer.step');
  window = await Workbench.open(browser, server.address, workspace, 'relay');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL'), () => relay?.stop()));

step('the view lists what is paused, and counts it', async () => {
  await window.show('Ray Debug');
  await window.row(pauses, /^square.*waiting · .*127\.0\.0\.1/s).waitFor();
  await window.row(pauses, /^Trainer\.step \(bob\)/).waitFor();
  await window.page.locator('.activitybar .badge-content:text-is("2")').waitFor();
  await window.page.locator('.statusbar-item', {hasText: '2 paused'}).waitFor();
  const title = window.page.locator('.part.sidebar .composite.title h2');
  assert.deepEqual(await title.evaluate((text) => [text.textContent, text.scrollWidth <= text.clientWidth]), ['Ray Debug: Paused Tasks', true]);
  await window.shot('view');
});

step('a filter, and groups by node', async () => {
  await window.command('Ray Debug: Filter Paused Tasks...');
  await window.answer('bob 127.0.0.2', 'Filter paused tasks');
  await window.row(pauses, /^square/).waitFor({state: 'detached'});
  await window.row(pauses, /^Trainer\.step/).waitFor();
  await window.pane(pauses).locator('.message', {hasText: 'Filter: bob 127.0.0.2'}).waitFor();
  await window.command('Ray Debug: Filter Paused Tasks...');
  await window.answer('', 'Filter paused tasks');
  await window.command('Ray Debug: Group Paused Tasks By...');
  await window.pick('Node');
  for (const node of [/^127\.0\.0\.1\s*1$/, /^127\.0\.0\.2\s*1$/]) await window.row(pauses, node).waitFor();
  await window.shot('nodes');
});

step('hold: the relay takes what nobody is attached to', async () => {
  await window.menu(pauses, /^Trainer\.step.*waiting/s, 'Hold');
  await window.row(pauses, /^Trainer\.step.*held · .*train\.py:38/s).waitFor();
});

step('attach by a click: stopped at the line', async () => {
  await window.rowAction(pauses, /^square.*waiting/s, 'Attach', window.toolbar);
  await window.stoppedAt('breakpoint()');
  await window.shot('stopped');
});

step('a reference says its size, and has nine properties', async () => {
  await window.value('big', /^\s*big =\s*8\.0 MB · pid \d+/);
  await window.expandVariable('big');
  for (const name of ['size', 'owner', 'call site']) await window.variable(name).waitFor();
  const rows = await window.page.locator('.debug-variables .monaco-list-row[aria-level="3"]', {hasText: '='}).allInnerTexts();
  assert.equal(rows.length, 9, rows.join('\n'));
  await window.shot('reference');
  await window.variable('big').locator('.monaco-tl-twistie').click();
});

step('the scope Object store', async () => {
  await window.expandVariable('Object store');
  await window.page.locator('.debug-variables .monaco-list-row', {hasText: /8\.0 MB/}).nth(1).waitFor();
  await window.shot('scope');
  await window.variable('Object store').locator('.monaco-tl-twistie').click();
});

step('step, and evaluate', async () => {
  await window.tool('Step Over');
  await window.stoppedAt('z = y + int(arr.sum())');
  assert.equal(await window.evaluate('y + 1'), '145');
  await window.shot('evaluated');
});

step('a breakpoint in the gutter is hit after continue', async () => {
  await window.toggleBreakpoint('total += value * factor');
  await window.tool('Continue');
  await window.stoppedAt('total += value * factor');
  await window.value('value', /1\.0/);
  await window.shot('breakpoint');
  await window.toggleBreakpoint('total += value * factor', false);
});

step('disconnect holds it where it is, and the view says so', async () => {
  await window.tool('Disconnect');
  await window.ended();
  await window.show('Ray Debug');
  await window.row(pauses, /^square.*held · .*train\.py:13/s).waitFor();
  assert.equal(relay.list().find((row) => row.task_name === 'square')?.state, 'held');
  await window.shot('held');
});

step('attach again: it stands where it was left', async () => {
  await window.rowAction(pauses, /^square.*held/s, 'Attach', window.toolbar);
  await window.stoppedAt('total += value * factor');
  await window.shot('again');
});

step('two tasks at once', async () => {
  await window.show('Ray Debug');
  await window.rowAction(pauses, /^Trainer\.step/, 'Attach', window.toolbar);
  // VS Code leaves the focus where it is while another session is stopped.
  for (const name of ['square', 'rank 3 Trainer.step']) await window.pausedSession(name).waitFor();
  await window.stoppedAt('total += value * factor');
  await window.pausedSession('Trainer.step').click(onName);
  await window.stoppedAt('breakpoint()');
  await window.value('loss', /0\.62/);
  await window.shot('two');
  await window.tool('Disconnect');
  await until(() => relay.list().some((row) => row.task_name === 'Trainer.step' && row.state === 'held' && !row.clients),
    'the second task is held');
});

step('continue: the task ends, and leaves the view; its session ends', async () => {
  await window.pausedSession('square').click(onName);
  await window.stoppedAt('total += value * factor');
  await window.tool('Continue');
  await program.says(/^RESULT square /m);
  await window.show('Ray Debug');
  await window.row(pauses, /^square/).waitFor({state: 'detached'});
  await window.ended(); // the worker lives, and its session does not
  await window.shot('gone');
});

step('the row of a held task: open its line, continue it', async () => {
  await window.show('Ray Debug');
  await window.openRow(pauses, /^Trainer\.step.*held/s, window.page.locator('.statusbar-item', {hasText: /Ln 38,/}));
  await window.rowAction(pauses, /^Trainer\.step.*held/s, 'Continue');
  await program.says(/^RESULT trainer /m);
  await window.row(pauses, /^Trainer\.step/).waitFor({state: 'detached'});
  await window.shot('empty');
});

step('a relay\'s port is brought here, and is a cluster', async () => {
  await window.command('Ray Debug: Forward a Relay\'s Port...');
  await window.pick('kubectl');
  await window.answer('svc/ray-head -n ray', 'Where does the relay run?');
  await window.row(pauses, /^svc\/ray-head -n ray\s*0 paused/).waitFor();
  await window.row(pauses, /^this machine\s*0 paused/).waitFor();
  await window.shot('forwarded');
});
