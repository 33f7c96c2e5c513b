/** From a task into one that it calls on the other node, and back to ray.get: VS Code's own "Step Into Target". */
import assert from 'node:assert/strict';
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, type Program, closeAll, driver, makeWorkspace, paused} from './lib/processes.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

let browser: Browser;
let server: CodeServer;
let program: Program;
let window: Workbench;

const step = steps();

before(async () => {
  const workspace = makeWorkspace('remote');
  [server, browser, program] = await Promise.all([CodeServer.start('remote-server', {'raydbg.notifyOnFirstPause': false}), browse(),
    driver(workspace, 'caller', 'legacy_caller')]);
  await Promise.all([paused('caller'), paused('legacy_caller')]);
  window = await Workbench.open(browser, server.address, workspace, 'remote');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL')));

async function stepInto(target: string): Promise<void> {
  await window.command('Debug: Step Into Target');
  await window.page.locator('.context-view .action-label, .quick-input-list .monaco-list-row', {hasText: target}).first().click();
}

async function stepThrough(lines: string[]): Promise<void> {
  for (const [index, line] of lines.entries()) {
    if (index > 0) {
      await window.tool('Step Over');
    }
    await window.stoppedAt(line);
  }
}

interface Caller {
  debugger: string;
  task: string;
  stops: string[]; // the caller's lines until the call
  back: string[]; // and from where the result is taken
}

const CALL = 'y = ray.get(remote_part.remote(x))';
const AFTER = 'z = y + 1';
const CALLERS: Caller[] = [
  {debugger: 'debugpy', task: 'caller', stops: ['breakpoint()', CALL], back: [AFTER]},
  {debugger: 'pdb', task: 'legacy_caller', stops: [CALL], back: [CALL, AFTER]},
];

for (const {debugger: name, task, stops, back} of CALLERS) {
  step(`into the remote task, ${name}`, async () => {
    const waiting = new RegExp(`^${task}.*waiting`, 's');
    await window.show('Ray Debug');
    await window.row('Paused Tasks', waiting).waitFor(); // the extension starts
    await window.rowAction('Paused Tasks', waiting, 'Attach', window.toolbar);
    await stepThrough(stops);
    await stepInto('into remote task remote_part');
    await window.stoppedAt('doubled = x * 2');
    await window.show('Run and Debug');
    await window.value('x', /20/);
    await window.shot(`inside, ${name}`);
    await window.tool('Step Over');
    await window.stoppedAt('return doubled + 1');
  });

  step(`out to where the result is taken, ${name}`, async () => {
    await stepInto('out to ray.get of the result');
    await stepThrough(back);
    await window.value('y', /41/);
    await window.shot(`back, ${name}`);
    await window.tool('Disconnect');
    await window.ended();
    await window.show('Ray Debug');
    await window.row('Paused Tasks', new RegExp(`^${task}`)).waitFor({state: 'hidden'}); // it goes on, to its end
  });
}

step('a treemap of nothing says so', async () => {
  await program.stop('SIGKILL'); // and with it what refers to its objects
  await window.command('Ray Debug: Object Store Treemap');
  const page = window.page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
  await page.locator('#empty', {hasText: 'Nothing is in the object store'}).waitFor();
  assert.equal(await page.locator('#map').isVisible(), false);
  await window.shot('empty treemap');
});
