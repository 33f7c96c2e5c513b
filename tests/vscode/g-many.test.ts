/** Many tasks in one session, on both nodes: threads, groups, a barrier, a comparison, merged stacks. Then 200 at once. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import {after, before} from 'node:test';
import type {Browser, FrameLocator} from 'playwright-core';
import {CodeServer, Program, Relay, closeAll, driver, here, makeWorkspace, pausedTimes, python, raydbg, scratch} from './lib/processes.ts';
import {limit, soon, until} from './lib/waits.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

const pauses = 'Paused Tasks';
const groups = 'Groups';
const stacks = 'Merged Stacks';
const ranks = [0, 1, 2, 3];
const many = 200;
const settings: Record<string, unknown> = {'raydbg.notifyOnFirstPause': false, 'debug.openDebug': 'openOnSessionStart'};
const log = path.join(scratch, 'dap-times');

let browser: Browser;
let server: CodeServer;
let program: Program;
let relay: Relay;
let window: Workbench;
let workspace: string;

const step = steps();

/** A raydbg that writes down when a session is attached, and when its tasks are told of. */
function timed(): string {
  const file = path.join(scratch, 'timed-raydbg');
  fs.writeFileSync(file, `#!${process.execPath}
const {spawn} = require('node:child_process');
const fs = require('node:fs');
const child = spawn(${JSON.stringify(raydbg)}, process.argv.slice(2), {stdio: ['pipe', 'pipe', 'inherit']});
const pass = (from, to, sign, name) => from.on('data', (bytes) => {
  if (process.argv[2] === 'dap' && bytes.includes(sign)) fs.appendFileSync(${JSON.stringify(log)}, name + ' ' + Date.now() + '\\n');
  to.write(bytes);
});
pass(process.stdin, child.stdin, '"command":"attach"', 'attach').on('end', () => child.stdin.end());
pass(child.stdout, process.stdout, '"event":"stopped"', 'stopped');
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => child.kill(signal));
child.on('close', (code) => process.exit(code ?? 1));
`, {mode: 0o755});
  return file;
}

/** The first time that was written down. */
function timeOf(name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(fs.readFileSync(log, 'utf8'))?.[1]);
}

before(async () => {
  workspace = makeWorkspace('gang');
  settings['raydbg.path'] = timed();
  relay = new Relay('gang-state', 4717); // started when it is needed
  process.env['XDG_STATE_HOME'] = relay.state;
  [server, browser, program] = await Promise.all([CodeServer.start('gang-server', settings), browse(), driver(workspace, 'gang', 'doomed')]);
  await Promise.all([pausedTimes('Gang.run', ranks.length), pausedTimes('doomed', 1)]);
  window = await Workbench.open(browser, server.address, workspace, 'gang');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL'), () => relay?.stop()));

function line(text: string): number {
  const at = fs.readFileSync(path.join(workspace, 'train.py'), 'utf8').split('\n').findIndex((one) => one.includes(text));
  assert.ok(at >= 0, text);
  return at + 1;
}

const stop = (): number => line('0.6931 - step / 10') + 1;
const met = (): number => line('return step * self.rank');

/** Where a rank is, by the view. */
function rankAt(rank: number, location: string | number): Promise<void> {
  const where = typeof location === 'number' ? `train\\.py:${location} \\w+ · Gang\\.run 127\\.0\\.0\\.${rank % 2 + 1} pid` : location;
  return window.row(groups, new RegExp(`^rank ${rank}\\s*${where}`)).waitFor();
}

function cursorAt(at: number): Promise<void> {
  return window.page.locator('.statusbar-item', {hasText: `Ln ${at},`}).waitFor();
}

function page(): FrameLocator {
  return window.page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
}

step('Attach to Matching: the count is live', async () => {
  await window.show('Ray Debug');
  await window.row(pauses, /^doomed.* · /s).waitFor();
  await window.command('Ray Debug: Attach to Matching...');
  const items = window.page.locator('.quick-input-list .monaco-list-row');
  await items.filter({hasText: 'Attach to 5 tasks of 5'}).waitFor();
  const input = window.page.locator('.quick-input-widget input.input').first();
  await input.fill('Gang.* node=127.0.0.2');
  await items.filter({hasText: 'Attach to 2 tasks of 5'}).waitFor();
  await input.fill('gang');
  await items.filter({hasText: 'Attach to none of 5 tasks yet'}).waitFor();
  await input.fill('run');
  await items.filter({hasText: 'Attach to 4 tasks of 5'}).filter({hasText: '*run*'}).waitFor();
  await window.shot('matching');
  await window.page.keyboard.press('Escape');
});

step('Attach to All of a group: its tasks on both nodes are threads of one session', async () => {
  await window.rowAction(pauses, /^Gang\s*4/, 'Attach to All', window.toolbar);
  await window.stoppedAt('breakpoint()');
  for (const rank of ranks) await window.pausedSession(`rank ${rank} Gang`).waitFor();
  assert.equal(await window.page.locator('.debug-call-stack .monaco-list-row', {hasText: 'doomed'}).count(), 0);
  await window.show('Ray Debug');
  await window.row(groups, /^all\s*4 tasks, stopped/).waitFor();
  for (const rank of ranks) await rankAt(rank, stop());
  for (const title of [pauses, groups]) {
    const height = (await window.pane(title).boundingBox())?.height ?? 0;
    assert.ok(height > 300, `${title} has room for ten rows: ${height} px`);
  }
  await window.shot('threads');
});

step('a step moves one, and the others stay', async () => {
  await window.row(groups, /^rank 1\D/).click();
  await window.show('Run and Debug');
  await window.value('step', /0/);
  await window.tool('Step Over');
  await cursorAt(stop() + 1); // others are marked, too
  await window.shot('stepped');
  await window.show('Ray Debug');
  await rankAt(1, stop() + 1);
  for (const rank of [0, 2, 3]) await rankAt(rank, stop());
});

step('the others step by a click on a group', async () => {
  await window.command('Ray Debug Group: Make Group...');
  await window.answer('all !1', 'Which tasks are in the group?');
  await window.answer('others', 'What shall the group be called?');
  await window.row(groups, /^others\s*3 tasks, stopped/).waitFor();
  await window.rowAction(groups, /^others/, 'Step Over');
  for (const rank of ranks) await rankAt(rank, stop() + 1);
  await window.shot('groups');
});

step('compare: the values, the numbers, the outlier; sorted, by task, as CSV', async () => {
  await window.rowAction(groups, /^all\d/, 'Compare', window.box('Compare in all'));
  await window.answer('loss', 'Compare in all');
  const rows = page().locator('#rows tr');
  await rows.first().waitFor();
  assert.match(await page().locator('#summary').innerText(), /loss · 4 tasks, 2 different/);
  assert.match(await rows.nth(0).innerText(), /0\.6931\s+3\s+rank 0, 1, 3/);
  assert.match(await rows.nth(1).innerText(), /nan\s*outlier\s+1\s+rank 2 Gang\.run/);
  assert.match(await page().locator('#statistics').innerText(), /min\s+0\.6931\s+max\s+0\.6931\s+mean\s+0\.6931\s+median\s+0\.6931\s+NaN\s+1/);
  await window.shot('compare');
  // In half a window: nothing is cut, neither the page nor a value of its table.
  const cut = await page().locator('body').evaluate((body) => [body, ...body.querySelectorAll('table, #rows td, #rows .what, #rows button')]
    .filter((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0).map((part) => part.outerHTML.slice(0, 200)));
  assert.deepEqual(cut, []);
  await page().locator('#expression').fill('self.rank * 10');
  await window.page.keyboard.press('Enter');
  await page().locator('#summary', {hasText: 'self.rank * 10 · 4 tasks, 4 different'}).waitFor();
  const value = page().locator('#heads button[data-key=value]');
  await value.click();
  assert.deepEqual((await page().locator('td.value').allInnerTexts()).map((text) => text.trim()), ['0', '10', '20', '30']);
  await value.focus();
  await window.page.keyboard.press('Enter');
  assert.deepEqual((await page().locator('td.value').allInnerTexts()).map((text) => text.trim()), ['30', '20', '10', '0']);
  assert.equal(await page().locator('th[aria-sort=descending]').innerText(), 'Value');
  await page().locator('input[value=task]').check();
  await rows.filter({hasText: /^rank 3 Gang\.run/}).waitFor();
  await window.shot('compare-tasks');
  await page().locator('#rows button', {hasText: 'rank 2'}).click();
  await cursorAt(stop() + 1);
  await page().locator('#csv').click();
  await window.page.locator('.statusbar-item', {hasText: 'Copied as CSV'}).waitFor();
  await window.show('Run and Debug');
  await window.menu('Variables', /^\s*step =/, 'Compare Expression Across Tasks...');
  await page().locator('#summary', {hasText: 'step · 4 tasks, 1 different'}).waitFor();
  await window.show('Ray Debug');
});

step('merged stacks: one tree for all, two where they part', async () => {
  await window.rowAction(groups, /^rank 1\D/, 'Continue');
  await rankAt(1, stop());
  await window.expandPane(stacks);
  await window.row(stacks, new RegExp(`^run\\s*train\\.py:${stop() + 1} · × 3 · rank 0, 2, 3`)).waitFor();
  await window.row(stacks, new RegExp(`^run\\s*train\\.py:${stop()} · × 1 · rank 1`)).waitFor();
  await window.shot('stacks');
  await window.row(stacks, new RegExp(`^run\\s*train\\.py:${stop()} `)).click();
  await cursorAt(stop());
});

step('a barrier: all meet at a line', async () => {
  await window.rowAction(groups, /^all\d/, 'Barrier', window.box('Barrier for all'));
  await window.answer(`train.py:${met()}`, 'Barrier for all');
  await window.row(groups, new RegExp(`^Barrier train\\.py:${met()}\\s*4 of 4 · all here`)).waitFor();
  for (const rank of ranks) await rankAt(rank, met());
  await window.row(stacks, /^run.*× 4/s).waitFor();
  await window.row(stacks, new RegExp(`^meet\\s*train\\.py:${met()} · × 4 · rank 0-3`)).waitFor();
  await window.shot('barrier');
});

step('who is missing at a barrier is named', async () => {
  await window.rowAction(groups, /^all\d/, 'Barrier', window.box('Barrier for all'));
  await window.answer(`train.py:${met()}`, 'Barrier for all');
  await window.row(groups, /^Barrier.*3 of 4 · missing: rank (\d)/s).waitFor();
  await window.toast(/Barrier train\.py:\d+.*3 of 4/).waitFor();
  await window.shot('missing');
  fs.writeFileSync(path.join(workspace, 'train.py.late'), '');
  await window.row(groups, /^Barrier.*4 of 4 · all here/s).waitFor();
  await window.toast(/Barrier train\.py/).waitFor({state: 'hidden'});
});

step('the session ends: its views go, and the tasks go on', async () => {
  await window.page.keyboard.press('Shift+F5');
  await window.ended();
  await window.pane(groups).waitFor({state: 'detached'});
  await window.shot('ended');
});

step('a session for each task: children of one that starts them, and end with it', async () => {
  await relay.start();
  fs.mkdirSync(path.join(workspace, '.vscode'));
  fs.writeFileSync(path.join(workspace, '.vscode/launch.json'), JSON.stringify({version: '0.2.0', configurations: [
    {type: 'raydbg', request: 'attach', name: 'the gang', tasks: ['Gang.run'], mode: 'sessions', maxSessions: 2, relay: relay.address}]}));
  await window.show('Run and Debug');
  await window.page.locator('.start-debug-action-item', {hasText: 'the gang'}).waitFor();
  await window.page.keyboard.press('F5');
  // A child is called by its rank as soon as its task has told it.
  const children = window.page.locator('.debug-call-stack .monaco-list-row', {hasText: /rank \d+ Gang\.run.*Paused/i});
  await children.nth(1).waitFor();
  // Its console shows, unless the stop of a child takes the focus after the click.
  const wait = window.page.locator('.repl-tree .monaco-list-row', {hasText: /2 more paused tasks wait/});
  await until(async () => {
    await window.page.locator('.debug-call-stack .monaco-list-row', {hasText: 'the gang'}).first().click();
    return soon((timeout) => wait.waitFor({timeout}));
  }, 'the first session says who waits');
  await window.shot('sessions');
  assert.equal(await children.count(), 2);
  await window.show('Ray Debug');
  await window.row(pauses, /^Gang\.run.*attached/s).waitFor();
  assert.equal(await window.pane(groups).count(), 0);
  await window.show('Run and Debug');
  await window.rowAction('Call Stack', /^the gang/, 'Disconnect'); // the toolbar's is the focused child's
  await window.ended();
  await until(() => relay.list().filter(({task_name, state, clients}) => task_name === 'Gang.run' && state === 'held' && !clients).length === 2,
    'the two that had a session are held');
  await relay.stop();
});

step(`${many} tasks: the first variables after attach`, async () => {
  await program.stop('SIGKILL'); // its workers and the herd would share the processors
  const herd = new Program('the herd', [python, '-u', path.join(here, 'lib/herd.py'), String(many), path.join(workspace, 'train.py')]);
  const [, address = ''] = await herd.says(/^READY (\S+)$/m);
  server.set({...settings, 'raydbg.clusters': [{name: 'herd', address}]});
  await window.show('Ray Debug');
  for (let round = 0; round < 3; round++) {
    await window.show('Ray Debug');
    await window.row(pauses, /^Trainer\.step\s*200/).waitFor();
    await window.row(pauses, /^Trainer\.step\s*\w+ · waiting/).waitFor();
    await window.pane(groups).waitFor({state: 'detached'});
    fs.rmSync(log, {force: true});
    const shown = window.page.waitForFunction(() => [...document.querySelectorAll('.debug-variables .monaco-list-row')]
      .some((row) => /^\s*loss\s*=\s*0\.5/.test(row.textContent ?? '')) && Date.now(), undefined, {polling: 'raf', timeout: limit()});
    const clicked = Date.now();
    await window.rowAction(pauses, /^herd\s*200 paused/, 'Attach to All', window.toolbar);
    const at = await (await shown).jsonValue() as number;
    const [attach, stopped] = [timeOf('attach'), timeOf('stopped')];
    console.log(`${many} tasks: variables ${at - attach} ms after attach: ${stopped - attach} ms until they are told of, ${at - stopped} ms until VS Code shows them ` +
      `(the click was ${attach - clicked} ms before)`);
    await window.show('Ray Debug');
    await window.row(groups, new RegExp(`^all\\s*${many} tasks, stopped`)).waitFor();
    await window.expandPane(stacks);
    await window.row(stacks, /^step.*× 200/s).waitFor();
    if (round === 0) await window.shot('many');
    await window.page.keyboard.press('Shift+F5');
    await window.ended();
    await window.show('Run and Debug'); // a view that is hidden keeps its rows
    await window.variable('loss').waitFor({state: 'detached'});
  }
});
