import assert from 'node:assert/strict';
import test from 'node:test';
import {GroupBy, Pause, groupPauses} from '../src/pauses/pause';
import {exactly, filterOf, filterTest, filterText, groupFilter, isMany, parseFilter, sessionTest, widen} from '../src/pauses/pause-filter';
import {pause} from './sample';

const actor = pause({task_id: 'd0', task_name: 'Trainer.step', actor_class: 'Trainer', actor_name: 'bob', actor_id: '0123456789abcdef', worker_id: 'w2',
  node_ip: '10.0.0.9', node_id: 'bbcc', job_id: '02000000', pid: 7});

function found(text: string, pauses: Pause[] = [pause(), actor]): number[] {
  return pauses.flatMap((one, index) => (filterTest(parseFilter(text))(one) ? [index] : []));
}

test('names, patterns and ids, as raydbg takes them', () => {
  for (const [text, indexes] of [['', [0, 1]], ['*', [0, 1]], ['square', [0]], ['squ', []], ['sq*', [0]], ['s?uare', [0]], ['[rs]quare', [0]], ['[!s]quare', []],
    ['Trainer', [1]], ['Trainer.*', [1]], ['Trainer?step', [1]], ['Trainer.step|x', []], ['b*b', [1]], ['c2668A', [0]], ['c26', []], ['5935', [0]],
    ['5935@10.0.0.7', [0]], ['5935@10.0.0.9', []], ['7@bbcc', [1]], ['square bob', [0, 1]]] as [string, number[]][])
    assert.deepEqual(found(text), indexes, text);
});

test('of a job, an actor, a node: all must fit', () => {
  for (const [text, indexes] of [['job=01', [0]], ['job=01000000', [0]], ['job=0', []], ['node=10.0.0.*', [0, 1]], ['node=bbcc', [1]], ['actor=Trainer', [1]],
    ['actor=T*', [1]], ['actor=0123', [1]], ['node=10.0.0.9 square', []], ['job=02 node=10.0.0.9 Trainer.*', [1]]] as [string, number[]][])
    assert.deepEqual(found(text), indexes, text);
});

test('what is typed', () => {
  assert.deepEqual(parseFilter(' Trainer.* "my task" job=01 node=n1 '), {tasks: ['Trainer.*', 'my task'], job: '01', node: 'n1'});
  assert.deepEqual(widen({tasks: ['rain', 'square', 'S*'], job: '01'}, [pause(), actor]), {tasks: ['*rain*', 'square', 'S*'], job: '01'});
  assert.deepEqual(widen({job: '01'}, []), {job: '01'});
  assert.equal(filterText({tasks: ['a', 'b'], job: '02000000'}), 'a, b · job 02');
  assert.equal(filterText({}), 'all tasks');
});

test('a group of the view, with those that come later where that can be said', () => {
  const other = pause({task_id: 'e0', worker_id: 'w3', state: 'held'});
  const filters = (by: GroupBy): unknown => groupPauses([pause(), actor, other], by).map((group) => groupFilter(by, group));
  assert.deepEqual(filters('function'), [{tasks: ['square']}, {actor: 'Trainer'}]);
  assert.deepEqual(filters('node'), [{node: '10.0.0.7'}, {node: '10.0.0.9'}]);
  assert.deepEqual(filters('job'), [{job: '01000000'}, {job: '02000000'}]);
  assert.deepEqual(filters('state'), [{tasks: ['e0']}, {tasks: [pause().task_id, 'd0']}]);
  const mixed = groupPauses([pause({task_name: 'Trainer', worker_id: 'w4', task_id: 'f0'}), actor], 'function');
  assert.deepEqual(mixed.map((group) => groupFilter('function', group)), [{tasks: ['d0', 'f0']}], 'a function of the same name as a class');
});

test('which configurations are for many', () => {
  for (const [configuration, many] of [[{tasks: '*'}, true], [{tasks: ['a']}, true], [{job: '01'}, true], [{mode: 'threads'}, true], [{task: 'T*'}, true],
    [{task: 'c2668a'}, false], [{}, false], [{task: 'c2668a', ticket: 't', mode: 'sessions'}, false], [{connect: 'h:1', tasks: '*'}, false],
    [{request: 'launch', program: 'train.py'}, true], [{request: 'attach', task: 'c2668a'}, false]] as const)
    assert.equal(isMany(configuration), many, JSON.stringify(configuration));
  assert.deepEqual(filterOf({tasks: '*', node: 'n'}), {tasks: ['*'], node: 'n'});
  assert.deepEqual(filterOf({task: 'T*'}), {tasks: ['T*']});
});

test('which session of a window is about a pause', () => {
  const free = pause();
  const taken = pause({state: 'held', clients: 1});
  const about = (configuration: Record<string, unknown>, cluster?: string): boolean[] => [free, taken].map((one) => sessionTest(configuration)(cluster, one));
  assert.deepEqual(about({task: free.task_id}), [true, true], 'before the list says that it is attached');
  for (const task of ['square', 'c2668a', '5935', '5935@10.0.0.7', 's*']) assert.deepEqual(about({task}), [false, true], task);
  assert.deepEqual(about({tasks: '*'}), [false, true]);
  for (const none of [{task: 'cube'}, {}, {connect: 'h:1'}, {task: 'square', cluster: 'lab'}, {task: 'square', request: 'launch'}])
    assert.deepEqual(about(none), [false, false], JSON.stringify(none));
  assert.deepEqual(about({task: 'square', cluster: 'lab'}, 'lab'), [false, true]);
});

test('a list of many tasks is not read again for each', () => {
  const id = (number: number): string => number.toString(16).padStart(48, '0');
  const all = Array.from({length: 3000}, (_, number) => pause(number % 2 ? {task_id: id(number)} : {task_id: null, pid: number, worker_id: id(number).slice(0, 20)}));
  let reads = 0;
  const counted = all.map((one) => new Proxy(one, {get: (target, key, receiver): unknown => {
    reads++;
    return Reflect.get(target, key, receiver);
  }}));
  const fits = filterTest(exactly(all.slice(0, 2000)));
  assert.equal(counted.filter(fits).length, 2000);
  assert.ok(reads < 20 * all.length, `${reads} reads of ${all.length} pauses`);
});
