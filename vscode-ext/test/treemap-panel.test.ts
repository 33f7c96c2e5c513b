import assert from 'node:assert/strict';
import test from 'node:test';
import * as vscode from 'vscode';
import {TreemapPanel} from '../src/objects/treemap-panel';
import {FromPage, ToPage} from '../src/objects/treemap-messages';
import {children, settled} from './fake-raydbg';

test('a treemap asks its cluster as it is now', async (context) => {
  const started = children(context);
  const [messages, disposed, state] = [new vscode.EventEmitter<FromPage>(), new vscode.EventEmitter<void>(), new vscode.EventEmitter<void>()];
  const said: ToPage[] = [];
  const webview = {onDidReceiveMessage: messages.event, postMessage: (message: ToPage) => Promise.resolve(said.push(message) > 0)};
  const panel = {webview, visible: true, onDidChangeViewState: state.event, onDidDispose: disposed.event};
  const cluster = (...args: string[]): object => ({name: 'lab', args, environment: () => Promise.resolve({})});
  const clusters = {all: [cluster('--relay', 'https://head')], find: () => clusters.all[0]};
  const feeds = {program: () => Promise.resolve({path: 'raydbg', version: '0.1.0'})};
  new TreemapPanel(panel as never, feeds as never, clusters as never, 'lab', () => Promise.resolve());
  context.after(() => disposed.fire());

  messages.fire({kind: 'ready'});
  await settled();
  started[0]?.stderr.emit('data', Buffer.from('raydbg: the certificate is not trusted\n'));
  started[0]?.emit('close', 4);
  await settled();
  clusters.all = [cluster('--relay', 'https://head', '--relay-fingerprint', 'SHA256:1')];
  messages.fire({kind: 'by', by: 'owner'});
  await settled();
  assert.deepEqual(started.map(({args}) => args.slice(5)), [['--relay', 'https://head'], ['--relay', 'https://head', '--relay-fingerprint', 'SHA256:1']]);
  started[1]?.emit('close', 1);
  await settled();
  clusters.all = [];
  messages.fire({kind: 'by', by: 'call-site'});
  await settled();
  assert.equal(started.length, 2);
  assert.deepEqual(said.map((message) => message.kind === 'problem' && message.text),
    ['the certificate is not trusted', 'raydbg ended with 1', 'There is no cluster "lab" any more.']);
});
