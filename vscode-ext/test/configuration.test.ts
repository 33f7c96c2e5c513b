import assert from 'node:assert/strict';
import test, {TestContext} from 'node:test';
import * as vscode from 'vscode';
import type {Clusters} from '../src/cluster/clusters';
import type {Mappings} from '../src/session/mappings';
import {ConfigurationProvider} from '../src/session/configuration';
import {Pause, pauseKey} from '../src/pauses/pause';
import {pause} from './sample';

/** One task is paused on this machine, another in an added cluster. */
const pauses = {pauses: [listed('this machine', false, pause()), listed('lab', true, pause({task_id: 'd0', worker_id: 'w2'}))], trouble: '', onDidChange: () => ({dispose: () => undefined})};
const provider = new ConfigurationProvider(pauses as never, {all: [], find: () => undefined} as unknown as Clusters, {of: () => []} as unknown as Mappings,
  {saysOwn: () => false}, () => Promise.resolve(undefined));

function listed(name: string, added: boolean, one: Pause): unknown {
  return {feed: {cluster: {name, added}, set: {pauses: new Map([[pauseKey(one), one]])}}, pause: one};
}

/** The editor shows the file while the test runs; undefined: it shows none. */
function show(context: TestContext, path: string | undefined, languageId = 'python'): void {
  Object.assign(vscode.window, {activeTextEditor: path && {document: {languageId, isUntitled: false, uri: {path}}}});
  context.after(() => Object.assign(vscode.window, {activeTextEditor: undefined}));
}

test('Ctrl+F5 without a launch.json runs the file: it offers no paused task', async (context) => {
  const [pick, say] = [context.mock.fn(() => assert.fail('a list was shown')), context.mock.fn(() => Promise.resolve(undefined))];
  Object.assign(vscode.window, {createQuickPick: pick, showInformationMessage: say});
  const resolve = (): Promise<vscode.DebugConfiguration | undefined> => provider.resolveDebugConfiguration(undefined, {noDebug: true} as unknown as vscode.DebugConfiguration);
  show(context, '/w/train.py');
  assert.deepEqual(await resolve(), {type: 'raydbg', request: 'launch', name: 'Ray: run this file', program: '${file}', noDebug: true});
  show(context, '/w/notes.md', 'markdown');
  assert.equal(await resolve(), undefined);
  show(context, undefined);
  assert.equal(await resolve(), undefined);
  assert.equal(say.mock.callCount(), 2, 'that there is no file was said');
});

test('a configuration of a launch.json stays as it is', async () => {
  const configuration = {type: 'raydbg', request: 'attach', name: 'x', task: 'square', noDebug: true};
  assert.equal(await provider.resolveDebugConfiguration(undefined, configuration), configuration);
});

test('an attach to a task that was picked names the cluster, so that the session stays known as of that one', async () => {
  const clusterOf = async (extra: object): Promise<unknown> =>
    (await provider.resolveDebugConfigurationWithSubstitutedVariables(undefined, {type: 'raydbg', request: 'attach', name: 'x', ...extra}))?.['cluster'];
  assert.equal(await clusterOf({task: 'd0'}), 'lab');
  for (const none of [{task: pause().task_id}, {task: 'square'}, {task: 'd0', relay: 'h:1'}, {tasks: ['d0']}, {}]) assert.equal(await clusterOf(none), undefined, JSON.stringify(none));
});
