/** The package without a raydbg: where it finds one, what it says where there is none, and that it installs it. */
import assert from 'node:assert/strict';
import {spawnSync} from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import {after, before} from 'node:test';
import type {Browser} from 'playwright-core';
import {CodeServer, type Program, closeAll, driver, here, makeWorkspace, paused, python, raydbg, root, scratch, universal} from './lib/processes.ts';
import {limit, until} from './lib/waits.ts';
import {Workbench, browse, steps} from './lib/workbench.ts';

const pauses = 'Paused Tasks';
const onPath = path.join(scratch, 'on-path');
const wheels = path.join(scratch, 'wheels');
let browser: Browser;
let server: CodeServer;
let program: Program;
let window: Workbench;
let workspace: string;

const step = steps();

/** A program that has ended well. */
function done(argv: string[], cwd = scratch): string {
  const result = spawnSync(argv[0] ?? '', argv.slice(1), {encoding: 'utf8', timeout: limit(120), cwd});
  assert.equal(result.status, 0, `${argv.join(' ')}: ${result.stdout}${result.stderr}`);
  return result.stdout;
}

function makeEnvironment(name: string): string {
  const directory = path.join(workspace, name);
  done([python, '-m', 'venv', directory]);
  return directory;
}

/** What this machine has, without a directory that has a raydbg, and with an empty one. */
function searchPath(): string {
  const rest = (process.env['PATH'] ?? '').split(':').filter((directory) => !fs.existsSync(path.join(directory, 'raydbg')));
  return [...rest, onPath].join(':');
}

/** Until the extension runs that raydbg. VS Code's log cannot tell: this one was installed without its native logger. */
async function takes(file: string): Promise<void> {
  await until(() => spawnSync('pgrep', ['-f', `^${file} list --watch`]).status === 0, `${file} runs`);
}

before(async () => {
  workspace = makeWorkspace('program');
  fs.mkdirSync(onPath);
  const version = done([raydbg, 'version']).trim().split(' ')[1] ?? '';
  done([python, path.join(here, 'lib/wheel.py'), raydbg, version, wheels]);
  // VS Code asks a login shell for the environment.
  fs.mkdirSync(path.join(scratch, 'program-server/home'), {recursive: true});
  fs.writeFileSync(path.join(scratch, 'program-server/home/.profile'), `export PATH='${searchPath()}'\n`);
  const env = {SHELL: '/bin/bash', PIP_NO_INDEX: '1', PIP_FIND_LINKS: wheels, PIP_DISABLE_PIP_VERSION_CHECK: '1'};
  [server, browser, program] = await Promise.all([CodeServer.start('program-server', {'raydbg.notifyOnFirstPause': false}, env, true, universal),
    browse(), driver(workspace, 'square')]);
  await paused('square');
  window = await Workbench.open(browser, server.address, workspace, 'program');
});

after(() => closeAll(() => window?.close(), () => browser?.close(), () => server?.stop(), () => program?.stop('SIGKILL')));

step('no raydbg and no environment: said once, with the setting', async () => {
  await window.show('Ray Debug');
  const said = window.toast('raydbg was not found: this workspace has no Python environment, and PATH has no raydbg. To get it: pip install raydbg-bridge');
  await said.waitFor(); // the extension starts
  await window.welcome(pauses).getByText('There is no raydbg program that this extension can run.').waitFor();
  assert.equal(await window.toast('raydbg').count(), 1);
  assert.equal(await said.locator('.monaco-button', {hasText: 'Install'}).count(), 0);
  await window.shot('none');
  await said.locator('.monaco-button', {hasText: 'Set Path'}).click();
  await window.page.getByText('The raydbg program to run').waitFor();
  await window.page.keyboard.press('Escape');
});

step('an environment without raydbg: Install runs pip in a terminal, and the tasks are there', async () => {
  makeEnvironment('.venv');
  await window.welcome(pauses).locator('.monaco-button', {hasText: 'Retry'}).click();
  const said = window.toast(/raydbg was not found: neither in the Python environment .*program\/\.venv nor on PATH/);
  await said.waitFor();
  await window.shot('environment');
  await said.locator('.monaco-button', {hasText: 'Install'}).click();
  await window.row(pauses, /^square/).waitFor();
  await takes(path.join(workspace, '.venv/bin/raydbg'));
  await window.shot('installed');
});

step('it attaches with that raydbg', async () => {
  await window.rowAction(pauses, /^square.* · /s, 'Attach', window.toolbar);
  await window.stoppedAt('breakpoint()');
  const adapters = done(['pgrep', '-f', `${workspace}/.venv/bin/raydbg dap`]);
  assert.match(adapters, /^\d+$/m);
  await window.tool('Disconnect');
  await window.ended();
});

step('a raydbg of another version is named', async () => {
  const old = path.join(scratch, 'old-raydbg');
  fs.writeFileSync(old, '#!/bin/sh\necho raydbg 0.0.9\n', {mode: 0o755});
  server.set({'raydbg.notifyOnFirstPause': false, 'raydbg.path': old});
  const said = window.toast(/old-raydbg \(setting raydbg\.path\): raydbg 0\.0\.9 is older than the \d+\.\d+ that this extension needs/);
  await said.waitFor();
  await window.shot('old');
  server.set({'raydbg.notifyOnFirstPause': false});
});

step('on PATH, where the Python extension has nothing selected', async () => {
  await window.close();
  await program.stop('SIGKILL');
  fs.rmSync(path.join(workspace, '.venv'), {recursive: true});
  fs.symlinkSync(raydbg, path.join(onPath, 'raydbg'));
  const packed = path.join(scratch, 'python-extension.vsix');
  done([process.execPath, path.join(root, 'vscode-ext/node_modules/@vscode/vsce/vsce'), 'package', '--no-dependencies', '--allow-missing-repository',
    '--skip-license', '-o', packed], path.join(here, 'python-extension'));
  server.install(packed);
  program = await driver(workspace, 'square');
  await paused('square');
  window = await Workbench.open(browser, server.address, workspace, 'program-path');
  await window.show('Ray Debug');
  await window.row(pauses, /^square/).waitFor();
  await takes(path.join(onPath, 'raydbg'));
});

step('another environment is selected: its raydbg is taken', async () => {
  const directory = makeEnvironment('selected');
  fs.symlinkSync(raydbg, path.join(directory, 'bin/raydbg'));
  fs.writeFileSync(path.join(workspace, '.selected'), path.join(directory, 'bin/python'));
  await takes(path.join(directory, 'bin/raydbg'));
  await window.row(pauses, /^square/).waitFor();
  await window.shot('selected');
});
