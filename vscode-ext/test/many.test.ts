import assert from 'node:assert/strict';
import test from 'node:test';
import type * as vscode from 'vscode';
import {ManySession} from '../src/many/many-sessions';
import {Barrier, DapMessage, Frame, StackRun, StoppedFrames, ThreadStates, barrierText, endingHere, groupRowIds, groupText, innermost, locationText, parseLocation, shortName, splitName, subjectIn} from '../src/many/many';

function states(...messages: DapMessage[]): ThreadStates {
  const made = new ThreadStates();
  for (const message of messages) made.apply(message);
  return made;
}

const event = (name: string, body: DapMessage['body'] = {}): DapMessage => ({type: 'event', event: name, body});
const list: DapMessage = {type: 'response', command: 'threads', success: true, body: {threads: [{id: 1, name: 'one'}, {id: 2, name: 'two'}]}};
const population = [event('stopped', {threadId: 1, allThreadsStopped: true}), event('continued', {threadId: 3, allThreadsContinued: false})];

test('the first that stands, in the order of the list', () => {
  assert.equal(states(list).firstStopped(), undefined);
  assert.equal(states(list, event('stopped', {threadId: 2})).firstStopped(), 2);
  assert.equal(states(list, ...population).firstStopped(), 1);
});

test('one stop of all, but for those that run', () => {
  const seen = states(...population);
  assert.deepEqual([1, 2, 3].map((id) => seen.isStopped(id)), [true, true, false]);
  assert.ok(seen.apply(event('stopped', {threadId: 3})));
  assert.ok(seen.isStopped(3));
  assert.ok(!seen.apply(event('output')));
  const again = states(...population, event('stopped', {threadId: 1, allThreadsStopped: true}));
  assert.ok(again.isStopped(3), 'all have come to a barrier');
});

test('a step: running from the request on, so that its stop may overtake the answer', () => {
  const seen = states(...population, {type: 'request', seq: 7, command: 'next', arguments: {threadId: 2}});
  assert.ok(!seen.isStopped(2));
  seen.apply(event('stopped', {threadId: 2}));
  seen.apply({type: 'response', command: 'next', request_seq: 7, success: true});
  assert.ok(seen.isStopped(2));
  seen.apply({type: 'request', seq: 8, command: 'continue', arguments: {threadId: 2}});
  seen.apply({type: 'response', command: 'continue', request_seq: 8, success: false});
  assert.ok(seen.isStopped(2), 'it was refused');
  seen.apply({type: 'request', seq: 9, command: 'stackTrace', arguments: {threadId: 2}});
  assert.ok(seen.isStopped(2));
});

test('threads that come, are renamed and go', () => {
  const seen = states(...population, event('thread', {reason: 'started', threadId: 1}), list);
  assert.ok(seen.isStopped(1), 'nobody has come: the names are not known yet');
  seen.apply(event('thread', {reason: 'started', threadId: 2}));
  assert.ok(seen.isStopped(2), 'it has another name');
  seen.apply(event('thread', {reason: 'started', threadId: 9}));
  assert.ok(!seen.isStopped(9), 'its stop follows');
  seen.apply(event('thread', {reason: 'exited', threadId: 1}));
  assert.ok(!seen.isStopped(1));
  assert.deepEqual([...seen.names], [[2, 'two']]);
  assert.ok(!states(list).apply(list), 'the same names');
});

test('what rows say', () => {
  assert.deepEqual([[0, 0], [1, 1], [24, 3], [24, 0]].map(([count = 0, stopped = 0]) => groupText(count, stopped)),
    ['nobody', '1 task, stopped', '24 tasks, 3 stopped', '24 tasks, running']);
  assert.deepEqual(splitName('rank 3 Trainer.step 10.0.0.7 pid 811'), ['rank 3', 'Trainer.step 10.0.0.7 pid 811']);
  assert.deepEqual(splitName('Trainer.step 10.0.0.7 pid 811'), ['Trainer.step', '10.0.0.7 pid 811']);
  assert.deepEqual(splitName(''), ['', '']);
  assert.equal(shortName('rank 12 Trainer.step'), 'rank 12');
  assert.equal(shortName('load 10.0.0.7 pid 811'), 'load 10.0.0.7 pid 811');
  assert.equal(locationText({name: 'f', path: '/a/b/train.py', line: 41}), 'train.py:41');
  assert.equal(locationText({name: 'f', path: null, line: 41}), '');
});

test('a barrier', () => {
  const absent = (rank: number): Barrier['missing'][number] => ({threadId: rank, name: `rank ${rank} x`, what: 'running'});
  const barrier: Barrier = {place: 'a.py:1', arrived: [1, 2], missing: [], gone: [], complete: true};
  assert.equal(barrierText(barrier), '2 of 2');
  assert.equal(barrierText({...barrier, missing: [7, 8].map(absent)}), '2 of 4 · missing: rank 7, rank 8');
  assert.equal(barrierText({...barrier, missing: [7, 8, 9, 10, 11].map(absent)}), '2 of 7 · missing: rank 7, rank 8, rank 9 and 2 more');
});

test('locations', () => {
  assert.deepEqual(parseLocation('train.py:57'), {location: 'train.py:57'});
  assert.deepEqual(parseLocation(' /a b/train.py:57 --timeout 1.5 '), {location: '/a b/train.py:57', timeout: 1.5});
  for (const none of ['', '57', 'train.py', 'train.py:', 'train.py:0', 'train.py:57x', 'train.py:57 --timeout', 'train.py:57 --timeout 0'])
    assert.equal(parseLocation(none), undefined, none);
});

test('merged stacks', () => {
  const run = (name: string, threadIds: number[], children: StackRun[] = []): StackRun => ({frames: [{name: 'outer', path: null, line: 1}, {name, path: '/x.py', line: 2}],
    count: threadIds.length, ending: 0, tasks: '', threadIds, children});
  const tree = [run('main', [1, 2, 3], [run('wait', [1]), run('send', [3])])];
  assert.deepEqual([...innermost(tree)].map(([id, frame]) => [id, frame.name]), [[1, 'wait'], [2, 'main'], [3, 'send']]);
  assert.deepEqual(endingHere(tree[0] as StackRun), [2]);
});

test('a chosen group is one of its session', () => {
  const groups = ['all', 'late'].map((name) => ({name, filters: '', threadIds: [1]}));
  const [one, other] = [{groups}, {groups}];
  assert.deepEqual(subjectIn(one, {many: one, subject: {group: 'late'}}), {group: 'late'});
  assert.deepEqual(subjectIn(one, {many: one, subject: {threadIds: [1]}}), {threadIds: [1]});
  assert.deepEqual(subjectIn(one, {many: one, subject: {group: 'gone'}}), {}, 'it was deleted');
  assert.deepEqual(subjectIn(other, {many: one, subject: {group: 'late'}}), {}, 'of an earlier session');
  assert.deepEqual(subjectIn(one, undefined), {});
});

test('a stopped thread without a stack is asked for once a stop', () => {
  const at = (line: number): Frame => ({name: 'f', path: null, line});
  const frames = new StoppedFrames();
  assert.deepEqual(frames.ask([1, 2]), [1, 2]);
  assert.ok(frames.learn(new Map([[1, at(1)]])));
  assert.deepEqual(frames.ask([1, 2]), [], '2 has none');
  assert.ok(!frames.learn(new Map([[1, at(1)]])), 'nothing new');
  frames.stopped(2);
  assert.deepEqual([frames.stops(1), frames.stops(2), frames.ask([1, 2])], [0, 1, [2]]);
  frames.askAgain([2]);
  assert.deepEqual(frames.ask([1, 2]), [2]);
  frames.stopped(undefined);
  assert.equal(frames.of(1), undefined);
  assert.ok(!frames.learn(new Map([[2, at(2)]])), 'of the stop before');
  assert.deepEqual(frames.ask([1, 2]), [1, 2]);
});

test('a task that is shown again has not stopped again', (context) => {
  const many = new ManySession({configuration: {}} as vscode.DebugSession, () => undefined);
  context.after(() => many.onExit());
  const stops = (id: number, ...messages: DapMessage[]): number => {
    for (const message of messages) {
      if (message.type === 'request') many.onWillReceiveMessage(message);
      else many.onDidSendMessage(message);
    }
    return many.stops(id);
  };
  const stopped = event('stopped', {threadId: 1});
  const focus = (expression: string, success = true): DapMessage[] => [{type: 'request', seq: 7, command: 'evaluate', arguments: {expression}},
    {type: 'response', command: 'evaluate', request_seq: 7, success}];
  assert.equal(stops(1, ...population), 1);
  assert.equal(stops(1, ...focus('/focus thread=1'), stopped), 1);
  assert.equal(stops(1, ...focus('/f rank 0'), event('thread', {reason: 'started', threadId: 1}), stopped), 1);
  assert.equal(stops(1, stopped), 2, 'a stop of its own, though it was not seen to run');
  assert.equal(stops(1, ...focus('/focus thread=1', false), stopped), 3, 'it was refused');
  assert.equal(stops(1, ...focus('focus(1)'), stopped), 4, 'an expression');
  assert.equal(stops(1, ...focus('/focus thread=1'), event('continued', {threadId: 1}), stopped), 5, 'it ran');
  assert.equal(stops(1, ...focus('/focus thread=1'), event('stopped', {threadId: 1, allThreadsStopped: true})), 6, 'all have stopped');
  assert.equal(stops(1, stopped), 7);
});

test('rows of any group have ids of their own', () => {
  const names = ['all', 'barrier', 'barrier!', 'a', 'a/1', 'group/a', 'task/1/a'];
  const ids = [groupRowIds.barrier('s'), `${groupRowIds.barrier('s')}!`, `${groupRowIds.barrier('s')}/1`,
    ...names.flatMap((name) => [groupRowIds.group('s', name), groupRowIds.task('s', name, 1), groupRowIds.task('s', name, 11)])];
  assert.equal(new Set(ids).size, ids.length, ids.join('\n'));
});
