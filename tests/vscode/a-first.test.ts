/** From a fresh VS Code to a stopped line: nothing configured, no relay. */
import assert from 'node:assert/strict';
import {after, before} from 'node:test';
import type {Browser, Locator} from 'playwright-core';
import {CodeServer, type Program, closeAll, driver, makeWorkspace, paused} from './lib/processes.ts';
import {until} from './lib/waits.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

let browser: Browser;
let server: CodeServer;
let program: Program;
let second: Program;
let window: Workbench;
let workspace: string;

before(async () => {
  workspace = makeWorkspace('first');
  [server, browser, program] = await Promise.all([CodeServer.start('first-server'), browse(), driver(workspace, 'square', 'trainer')]);
  await paused('square', 'Trainer.step');
  second = await driver(workspace, 'doomed');
  await paused('square', 'Trainer.step', 'doomed');
  window = await Workbench.open(browser, server.address, workspace, 'first');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL'), () => second?.stop('SIGKILL')));

const step = steps();
const items = (): Locator => window.page.locator('.quick-input-list .monaco-list-row');

/** The rows of the paused tasks, once each job is one with its tasks below. */
async function levels(shown: Workbench): Promise<void> {
  await shown.show('Ray Debug');
  await shown.row('Paused Tasks', /^doomed/).waitFor();
  const rows = async (): Promise<string> => (await shown.rows('Paused Tasks')).map((row) => row.trim()).join('\n');
  await until(async () => /^job \w+1\n(doomed.*\n)+job \w+2\n.*square/s.test(await rows()), 'the newest job comes first, each with its tasks');
}

step('each job is a level of the view, where there are two', async () => {
  await window.openFile('train.py');
  await levels(window);
  await window.shot('levels');
});

step('each window that opens has all of the view', async () => {
  for (const name of ['second', 'third', 'fourth']) {
    const other = await window.another(server.address, workspace, name);
    await levels(other);
    await other.close();
  }
});

step('Attach to All asks which job, where there are two, and says what Disconnect does', async () => {
  await window.command('Ray Debug: Attach to All');
  await window.item(/job \w+.*1 task.*doomed/s).first().waitFor();
  await window.item(/job \w+.*2 tasks.*Trainer\.step \(bob\)/s).waitFor();
  await window.item(/all 2 jobs.*3 tasks/s).waitFor();
  await window.page.getByPlaceholder('Disconnect lets all of them go on, unless a relay holds them').waitFor();
  await window.shot('jobs');
  await window.page.keyboard.press('Escape');
  await items().first().waitFor({state: 'hidden'});
});

step('F5 and Enter: the newest task', async () => {
  await window.page.keyboard.press('F5');
  await window.item('square').waitFor();
  assert.match(await items().first().innerText(), /^\s*doomed\s*job \w+ · waiting · /);
  await window.shot('pick');
  await window.page.keyboard.press('Enter');
  await window.stoppedAt('breakpoint()');
  await window.value('patience', /none/);
  await window.shot('stopped');
});

step('Restart shows the stop again: without a relay, too, the task stays there', async () => {
  await window.tool('Restart');
  await window.stoppedAt('breakpoint()');
  await window.value('patience', /none/);
  await window.tool('Step Over');
  await window.stoppedAt('return patience');
  assert.doesNotMatch(second.output, /^RESULT/m);
});

step('the debug console: nothing of Ray\'s comes first, and it has verbs', async () => {
  assert.match(await window.evaluate('/help'), /^\/help\s.*\/next\s+step over/s);
  const said = (await window.page.locator('.repl-tree .monaco-list-row').allInnerTexts()).join('\n');
  assert.doesNotMatch(said, /Debugger client|Traceback/);
  const shown = (await window.page.locator('.debug-variables .monaco-list-row').allInnerTexts()).join('\n');
  assert.doesNotMatch(shown, /set_trace/);
  await window.shot('verbs');
});

step('a step off the end of the task: it has ended, and so has its session', async () => {
  await window.tool('Step Over');
  await second.says(/^RESULT doomed /m);
  await window.ended();
  await window.page.locator('.repl-tree .monaco-list-row', {hasText: 'doomed has ended'}).waitFor();
  await window.shot('ended');
});

step('F5, a name and Enter: stopped at its line with sizes', async () => {
  await window.openFile('train.py');
  const start = Date.now();
  await window.page.keyboard.press('F5');
  await window.item('square').waitFor();
  await window.page.keyboard.type('square');
  await window.item('Trainer').waitFor({state: 'detached'});
  await window.page.keyboard.press('Enter');
  await window.stoppedAt('breakpoint()');
  await window.value('big', /8\.0 MB · pid \d+/);
  console.log(`F5 to sizes: ${Date.now() - start} ms`);
  await window.shot('sizes');
});

step('a row that is attached does not offer to attach again', async () => {
  await window.show('Ray Debug');
  const row = window.row('Paused Tasks', /^square.*attached/s);
  await row.waitFor();
  await row.hover();
  await row.locator('.action-label[aria-label^="Copy"]').waitFor();
  const attaches = row.locator('.action-label[aria-label^="Attach"]:not([aria-label^="Attach as Observer"])');
  assert.equal(await attaches.count(), 0);
  await window.shot('rows');
});

step('F5 again: several chosen are a session each, and go on when they are left', async () => {
  await window.tool('Disconnect');
  await window.ended();
  await program.says(/^RESULT square /m);
  await second.stop('SIGKILL');
  second = await driver(workspace, 'doomed');
  await paused('Trainer.step', 'doomed');
  await window.openFile('train.py');
  await window.page.keyboard.press('F5');
  for (const name of ['Trainer.step', 'doomed']) await window.item(name).waitFor();
  await window.item('square').waitFor({state: 'detached'}); // it goes on
  await window.pick('Choose several');
  await window.tick('Trainer.step', 'doomed');
  await window.shot('choose');
  await window.page.keyboard.press('Enter');
  for (const name of [/^rank 3 Trainer\.step 127\.0\.0\.2 pid \d+/, /^doomed · pid \d+@127\.0\.0\.1/]) await window.pausedSession(name).waitFor();
  assert.doesNotMatch((await window.rows('Call Stack')).join('\n'), /MainThread|PythonGCThread/);
  await window.shot('several');
  await window.command('Debug: Disconnect');
  await window.command('Debug: Disconnect');
  await window.ended();
  await program.says(/^DONE$/m);
  await second.says(/^DONE$/m);
});

/** The text of the active editor; VS Code draws spaces as others. */
const editorText = async (): Promise<string> =>
  (await window.page.locator('.editor-instance .view-lines').first().innerText()).replaceAll('\u00a0', ' ');

step('Why... on a row: the breakpoint is the reason', async () => {
  await second.stop('SIGKILL');
  second = await driver(workspace, 'fails');
  await paused('fails');
  await window.show('Ray Debug');
  await window.menu('Paused Tasks', /^fails.* · /s, 'Why...');
  await window.page.locator('.tab', {hasText: 'why fails'}).waitFor();
  await until(async () => /fails · [0-9a-f]{8} ·[^]*breakpoint/.test(await editorText()), 'the answer');
  await window.shot('why-paused');
});

step('Stack... on a row: the task is in the debugger', async () => {
  await window.show('Ray Debug');
  await window.menu('Paused Tasks', /^fails.* · /s, 'Stack...');
  await window.page.locator('.tab', {hasText: 'stack fails'}).waitFor();
  await until(async () => /fails {2}train\.py:\d+[^]*the debugger/.test(await editorText()), 'the answer');
  await window.shot('stack');
});

step('a task that fails under the debugger: why is one click away, and the line another', async () => {
  await window.rowAction('Paused Tasks', /^fails.* · /s, 'Attach', window.toolbar);
  await window.stoppedAt('breakpoint()');
  await window.tool('Continue');
  const said = window.toast(/fails failed: it raised ZeroDivisionError: division by zero \(train\.py:\d+\)/);
  await said.waitFor();
  await window.shot('failed');
  await said.locator('.monaco-button', {hasText: 'Why...'}).click();
  await until(async () => /fails · [0-9a-f]{8} ·.*failed[^]*it raised ZeroDivisionError/.test(await editorText()), 'the answer');
  await window.shot('why-failed');
  const line = async (): Promise<boolean> => (await editorText()).includes('return 1 / (x - 3)');
  await window.follow(window.page.locator('.editor-instance .detected-link').last(), line, 'its line');
});

step('Logs... of what the user types', async () => {
  await window.command('Ray Debug: Logs...');
  await window.item(/fails.*failed/s).first().waitFor();
  await window.answer('fails', 'Whose output?');
  await window.page.locator('.terminal .xterm-rows', {hasText: 'its last words'}).waitFor();
  await window.shot('logs');
});
