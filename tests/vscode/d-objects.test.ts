/** The object store's view and treemap, without a relay; and all of it in one picture. */
import assert from 'node:assert/strict';
import path from 'node:path';
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, type Program, closeAll, scratch, driver, makeWorkspace, paused} from './lib/processes.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

const objects = 'Object Store';
const pauses = 'Paused Tasks';
let browser: Browser;
let server: CodeServer;
let program: Program;
let window: Workbench;
let fine: Workbench | undefined;
let workspace: string;

const step = steps();

const settings = {'raydbg.notifyOnFirstPause': false, 'workbench.colorTheme': 'Default Dark Modern', 'editor.minimap.enabled': false,
  'editor.stickyScroll.enabled': false};

before(async () => {
  workspace = makeWorkspace('demo');
  process.env['XDG_STATE_HOME'] = path.join(scratch, 'objects-state');
  [server, browser, program] = await Promise.all([CodeServer.start('objects-server', settings), browse(),
    driver(workspace, 'square', 'trainer')]);
  await paused('square', 'Trainer.step');
  window = await Workbench.open(browser, server.address, workspace, 'objects');
});

after(() => closeAll(() => fine?.close(), () => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL')));

step('nodes with their stores, and references by call site, largest first', async () => {
  await window.showCluster();
  await window.row(objects, /^127\.0\.0\.1.*of 200 MB/s).waitFor();
  await window.row(objects, /^127\.0\.0\.2.*of 200 MB/s).waitFor();
  await window.row(objects, /^12 MB.*Trainer\.__init__/s).waitFor();
  await window.row(objects, /^8\.0 MB.*train\.py:21 square · 1 ref/s).waitFor();
  const rows = await window.rows(objects);
  assert.ok(rows.findIndex((text) => text.startsWith('12 MB')) < rows.findIndex((text) => text.startsWith('8.0 MB')), rows.join('\n'));
  await window.shot('view');
});

step('a reference, and where it was made', async () => {
  await window.row(objects, /train\.py:21 square/).locator('.monaco-tl-twistie').click();
  await window.row(objects, /^8\.0 MB.*pid \d+@127\.0\.0\.1 · LOCAL_REFERENCE/s).waitFor();
  const line = window.page.locator('.statusbar-item', {hasText: 'Ln 21,'});
  await window.rowAction(objects, /^8\.0 MB.*LOCAL_REFERENCE/s, 'Reveal Call Site', line);
  await line.waitFor();
  await window.shot('call-site');
});

step('the treemap: by call site and by owner, with the keyboard', async () => {
  await window.command('Ray Debug: Object Store Treemap');
  const page = window.page.frameLocator('iframe.webview.ready').frameLocator('#active-frame');
  const boxes = page.locator('#map .box');
  await boxes.first().waitFor();
  for (const label of ['train.Trainer.__init__', 'train.py:21 square, 8.0 MB']) await page.locator(`.box[aria-label^="${label}"]`).waitFor();
  await window.shot('treemap');
  await boxes.first().focus();
  const told = new Set([await page.locator('#chosen').innerText()]);
  for (const key of ['ArrowRight', 'ArrowDown', 'End', 'Home']) {
    await window.page.keyboard.press(key);
    told.add(await page.locator('#chosen').innerText());
  }
  assert.ok(told.size >= 2, [...told].join('\n'));
  await page.locator('input[value=owner]').check();
  await page.locator('.box[aria-label*="pid"]').first().waitFor();
  await window.shot('treemap-owner');
  await page.locator('input[value=call-site]').check();
  await page.locator('.box[aria-label^="train.py:21"]').focus();
  await window.page.keyboard.press('Enter');
  await window.page.locator('.statusbar-item', {hasText: 'Ln 21,'}).waitFor();
});

step('the doctor, in a terminal', async () => {
  await window.command('Ray Debug: Doctor');
  await window.page.locator('.terminal .xterm-rows', {hasText: /debugger-ports/}).waitFor();
  await window.shot('doctor');
});

step('a relay is started', async () => {
  await window.command('Ray Debug: Start Relay');
  await window.showCluster();
  await window.welcome('Sessions').filter({hasText: 'Nobody is attached.'}).waitFor();
  await window.shot('relay');
});

step('the picture of the README: both nodes, the stopped line, what a reference holds', async () => {
  fine = await Workbench.openFine(browser, server.address, workspace, 'picture');
  await fine.show('Ray Debug');
  await fine.rowAction(pauses, /^square.* · /s, 'Attach', fine.toolbar);
  await fine.stoppedAt('breakpoint()');
  await fine.showCluster();
  await fine.command('View: Set Panel Alignment to Left');
  await fine.drag('panel', -20);
  await fine.moveView('Variables', 'New Secondary Side Bar Entry');
  await fine.drag('left', 30);
  await fine.drag('right', -40);
  await fine.expandVariable('Locals');
  await fine.value('big', /8\.0 MB · pid \d+/);
  await fine.expandVariable('big');
  await fine.variable('call site').waitFor();
  await fine.show('Ray Debug');
  await fine.row(pauses, /^square.*attached · .*train\.py:22/s).waitFor();
  await fine.row(pauses, /^Trainer\.step.*waiting · /s).waitFor();
  await fine.row(objects, /train\.py:21 square/s).waitFor();
  await fine.page.mouse.move(620, 400);
  await fine.shot('readme');
});
