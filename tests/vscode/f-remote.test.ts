/** From a task into one that it calls on the other node, and back to ray.get: VS Code's own "Step Into Target". */
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, type Program, closeAll, driver, makeWorkspace, paused} from './lib/processes.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

let browser: Browser;
let server: CodeServer;
let program: Program;
let window: Workbench;

const step = steps(() => window);

before(async () => {
  const workspace = makeWorkspace('remote');
  [server, browser, program] = await Promise.all([CodeServer.start('remote-server', {'raydbg.notifyOnFirstPause': false}), browse(),
    driver(workspace, 'caller')]);
  await paused('caller');
  window = await Workbench.open(browser, server.address, workspace, 'remote');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL')));

async function stepInto(target: string): Promise<void> {
  await window.command('Debug: Step Into Target');
  await window.page.locator('.context-view .action-label, .quick-input-list .monaco-list-row', {hasText: target}).first().click();
}

step('into the remote task', async () => {
  await window.show('Ray Debug');
  await window.row('Paused Tasks', /^caller.*waiting/s).waitFor({timeout: 60_000}); // the extension starts
  await window.rowAction('Paused Tasks', /^caller.*waiting/s, 'Attach');
  await window.stoppedAt('breakpoint()');
  await window.tool('Step Over');
  await window.stoppedAt('y = ray.get(remote_part.remote(x))');
  await stepInto('into remote task remote_part');
  await window.stoppedAt('doubled = x * 2');
  await window.show('Run and Debug');
  await window.value('x', /20/);
  await window.shot('inside');
  await window.tool('Step Over');
  await window.stoppedAt('return doubled + 1');
});

step('out to where the result is taken', async () => {
  await stepInto('out to ray.get of the result');
  await window.stoppedAt('z = y + 1');
  await window.value('y', /41/);
  await window.shot('back');
  await window.tool('Continue');
});
