/** The object store's view and treemap, without a relay. */
import assert from 'node:assert/strict';
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, type Program, closeAll, driver, makeWorkspace, paused} from './lib/processes.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

const objects = 'Object Store';
let browser: Browser;
let server: CodeServer;
let program: Program;
let window: Workbench;

const step = steps(() => window);

before(async () => {
  const workspace = makeWorkspace('objects');
  [server, browser, program] = await Promise.all([CodeServer.start('objects-server', {'raydbg.notifyOnFirstPause': false,
    'workbench.colorTheme': 'Default Dark Modern'}), browse(), driver(workspace, 'square', 'trainer')]);
  await paused('square', 'Trainer.step');
  window = await Workbench.open(browser, server.address, workspace, 'objects');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL')));

step('nodes with their stores, and references by call site, largest first', async () => {
  await window.show('Ray Debug');
  await window.expandPane(objects);
  await window.expandPane('Paused Tasks', false);
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
  await window.rowAction(objects, /^8\.0 MB.*LOCAL_REFERENCE/s, 'Reveal Call Site');
  await window.page.locator('.statusbar-item', {hasText: 'Ln 21,'}).waitFor();
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
