/**
 * 200 pauses in the view. 200 paused workers need more memory than a test may take, so that here a script says what
 * `raydbg list --watch` would say: only the view is measured.
 */
import fs from 'node:fs';
import path from 'node:path';
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, closeAll, makeWorkspace, raydbg, scratch} from './lib/processes.ts';
import {until} from './lib/waits.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

const pauses = 'Paused Tasks';
const count = 200;
let browser: Browser;
let server: CodeServer;
let window: Workbench;

const step = steps();

/** Ten functions with 20 tasks each; every 50 ms one of them is held or let go. */
const script = `#!${process.execPath}
const {execFileSync} = require('node:child_process');
if (process.argv[2] !== 'list') process.stdout.write(execFileSync(${JSON.stringify(raydbg)}, process.argv.slice(2)));
else {
  const all = Array.from({length: ${count}}, (_, n) => ({
    task_id: n.toString(16).padStart(48, '0'), task_name: 'work_' + n % 10, actor_id: null, actor_class: null, actor_name: null,
    job_id: '01000000', node_id: null, node_ip: '10.0.0.' + n % 8, pid: 1000 + n, worker_id: 'w' + n, debugger: 'debugpy',
    endpoint: '10.0.0.1:' + (2000 + n), state: 'waiting', paused_threads: 1, ambiguous: false, candidates: [], location: null,
    since: Date.now() / 1000, since_source: 'task_start', reason: null, clients: null, driver: null, held_since: null}));
  const say = (event, pause) => process.stdout.write(JSON.stringify({event, pause}) + '\\n');
  process.stdout.write('{"event":"live"}\\n');
  for (const pause of all) say('added', pause);
  let turn = 0;
  setInterval(() => {
    const pause = all[turn++ % all.length];
    pause.state = pause.state === 'held' ? 'waiting' : 'held';
    pause.reason = pause.state === 'held' ? 'breakpoint' : null;
    say('changed', pause);
  }, 50);
}
`;

const settings: Record<string, unknown> = {'raydbg.notifyOnFirstPause': false, 'security.workspace.trust.startupPrompt': 'never'};

before(async () => {
  const program = path.join(scratch, 'many-raydbg');
  fs.writeFileSync(program, script, {mode: 0o755});
  settings['raydbg.path'] = program;
  [server, browser] = await Promise.all([CodeServer.start('many-server', settings, {}, false), browse()]);
  window = await Workbench.open(browser, server.address, makeWorkspace('many'), 'many');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop()));

step('a folder that is not trusted: the view says so, and has the button', async () => {
  await window.show('Ray Debug');
  const said = window.welcome(pauses);
  await said.filter({hasText: 'off in an untrusted workspace'}).waitFor();
  await window.shot('untrusted');
  await said.locator('.monaco-button', {hasText: 'Manage Workspace Trust'}).click();
  await window.page.locator('.workspace-trust-editor .monaco-button', {hasText: /^Trust$/}).click();
  await window.page.keyboard.press('Escape');
});

step('200 pauses that change 20 times a second: the view follows', async () => {
  await window.show('Ray Debug');
  await window.page.locator('.activitybar .badge-content:text-is("200")').waitFor();
  await until(async () => (await window.rows(pauses)).filter((text) => text.includes('held ·')).length > 4, 'changes show');
});

step('200 pauses: a group opens while they change', async () => {
  const first = window.row(pauses, /^work_0\s*20$/);
  await first.waitFor();
  await window.shot('view');
  const times: number[] = [];
  for (let turn = 0; turn < 6; turn++) {
    // From the click to the frame in which the rows are there, as the page itself sees it.
    const took = await first.evaluate((row) => new Promise<number>((resolve) => {
      const start = performance.now();
      const was = row.getAttribute('aria-expanded');
      const look = (): void => {
        if (row.getAttribute('aria-expanded') !== was) resolve(performance.now() - start);
        else requestAnimationFrame(look);
      };
      const twistie = row.querySelector<HTMLElement>('.monaco-tl-twistie');
      for (const type of ['mousedown', 'mouseup', 'click']) twistie?.dispatchEvent(new MouseEvent(type, {bubbles: true}));
      look();
    }));
    if (turn % 2) {
      times.push(took);
      await window.row(pauses, /^work_0.*(waiting|held) · /s).waitFor();
    }
  }
  console.log(`a group of 20 among 200 opens in ${times.map((time) => Math.round(time)).join(', ')} ms`);
  await window.shot('open');
});

step('pauses that near a time-out are warned of, all at once', async () => {
  server.set({...settings, 'raydbg.pauseLimit': 10});
  await window.toast(/work_\d and 199 more: paused for \d+s/).waitFor();
  await window.shot('limit');
});

step('a raydbg of another version is named, with the setting that chooses one', async () => {
  const other = path.join(scratch, 'other-raydbg');
  fs.writeFileSync(other, '#!/bin/sh\necho raydbg 0.0.9\n', {mode: 0o755});
  server.set({...settings, 'raydbg.path': other});
  await window.toast(/other-raydbg \(setting raydbg\.path\): raydbg 0\.0\.9 is older than the \d+\.\d+ that this extension needs/).waitFor();
  await window.welcome(pauses).filter({hasText: 'There is no raydbg program that this extension can run'}).waitFor();
  await window.shot('version');
  await window.toast(/other-raydbg/).locator('.monaco-button', {hasText: 'Set Path'}).click();
  await window.page.locator('.settings-editor .setting-item', {hasText: 'program to run'}).first().waitFor();
});
