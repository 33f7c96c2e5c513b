import assert from 'node:assert/strict';
import test from 'node:test';
import * as vscode from 'vscode';
import {pauseKey} from '../src/pauses/pause';
import {Roles} from '../src/session/roles';
import {pause} from './sample';

const events = {started: new vscode.EventEmitter<unknown>(), ended: new vscode.EventEmitter(), custom: new vscode.EventEmitter(), active: new vscode.EventEmitter()};
const started: vscode.DebugConfiguration[] = [];
const item = {show: () => undefined, hide: () => undefined, dispose: () => undefined};
Object.assign(vscode.window, {createStatusBarItem: () => item});
Object.assign(vscode.debug, {
  onDidStartDebugSession: events.started.event, onDidTerminateDebugSession: events.ended.event,
  onDidReceiveDebugSessionCustomEvent: events.custom.event, onDidChangeActiveDebugSession: events.active.event,
  startDebugging: (_: unknown, configuration: vscode.DebugConfiguration) => {
    started.push(configuration);
    return Promise.resolve(true);
  },
});

test('Take Over goes to the session of the row, also where a name fits two pauses', async () => {
  const asked: string[] = [];
  const [mine, another] = [pause({state: 'held', clients: 1}), pause({state: 'held', clients: 1, worker_id: 'w2', task_id: 'c2668b'})];
  const set = {pauses: new Map([mine, another].map((one) => [pauseKey(one), one]))};
  const feed = {cluster: {name: 'this machine', added: false}, set};
  const pauses = {pauses: [{feed, pause: mine}]};
  const roles = new Roles(pauses as never, () => undefined);
  events.started.fire({id: 's', name: 'square', type: 'raydbg', configuration: {type: 'raydbg', request: 'attach', name: 'square', task: 'square'},
    customRequest: (name: string) => Promise.resolve(asked.push(name))});
  pauses.pauses.push({feed, pause: another});
  const row = (id: string): never => ({data: {kind: 'session', feed, session: {pause: id, task_name: 'square'}}}) as never;
  assert.deepEqual(pauses.pauses.map((one) => roles.debugs(one as never)), [true, false]);
  await roles.takeOver(row('w1'));
  assert.deepEqual([asked, started], [['raydbg/takeOver'], []]);
  await roles.takeOver(row('w2'));
  assert.deepEqual(asked, ['raydbg/takeOver'], 'the session of the other task was left alone');
  assert.deepEqual(started.map(({task, takeOver}) => [task as string, takeOver as boolean]), [['c2668b', true]]);
  roles.dispose();
});
