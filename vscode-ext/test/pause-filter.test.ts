import assert from 'node:assert/strict';
import test from 'node:test';
import {GroupBy, Pause, groupPauses, pauseKey} from '../src/pauses/pause';
import {Listed, exactTask, exactly, filterOf, filterTest, filterText, groupFilter, isMany, parseFilter, sessionTest, widen} from '../src/pauses/pause-filter';
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

/** As the feeds list them; `cluster`: one of raydbg.clusters, undefined: that of this machine. */
function list(cluster: string | undefined, ...pauses: Pause[]): Listed[] {
  const feed = {cluster: {name: cluster ?? 'this machine', added: cluster !== undefined}, set: {pauses: new Map(pauses.map((one) => [pauseKey(one), one]))}};
  return pauses.map((one) => ({feed, pause: one}));
}

const names = ['square', 'c2668a', '5935', 'w1'];

test('a session that began when its task was not known yet', () => {
  const free = pause();
  const taken = pause({state: 'held', clients: 1});
  const about = (configuration: Record<string, unknown>, cluster?: string, surely = false): boolean[] =>
    [free, taken].flatMap((one) => list(cluster, one)).map((one) => sessionTest(configuration, [])(one, surely));
  assert.deepEqual(about({task: free.task_id}), [true, true], 'before the list says that it is attached');
  for (const task of [...names.slice(0, 3), '5935@10.0.0.7', 's*']) assert.deepEqual(about({task}), [false, true], task);
  assert.deepEqual(about({tasks: '*'}), [false, true]);
  for (const none of [{task: 'cube'}, {}, {connect: 'h:1'}, {task: 'square', cluster: 'lab'}, {task: 'square', request: 'launch'}])
    assert.deepEqual(about(none), [false, false], JSON.stringify(none));
  assert.deepEqual(about({task: 'square', cluster: 'lab'}, 'lab'), [false, true]);
  assert.deepEqual(['square', '5935@10.0.0.7', free.task_id].map((task) => about({task}, undefined, true)[1]), [false, true, true], 'a name is a guess');
});

test('a name is no guess where two pauses have it', () => {
  const both = list(undefined, pause({state: 'held', clients: 1}), pause({state: 'held', clients: 1, worker_id: 'w2', task_id: 'c2668b'}));
  const about = (configuration: Record<string, unknown>): boolean[] => both.map((one) => sessionTest(configuration, [])(one));
  for (const task of ['square', 'c266', '5935']) assert.deepEqual(about({task}), [false, false], task);
  assert.deepEqual(about({task: both[1]?.pause.task_id}), [false, true]);
  assert.deepEqual(about({tasks: 'square'}), [true, true], 'a session over many');
});

test('a session is about the process that it found', () => {
  const [mine, another] = [pause({state: 'held', clients: 1}), pause({state: 'held', clients: 1, worker_id: 'w2', task_id: 'c2668b'})];
  const idle = pause({state: 'idle', worker_id: 'w3', task_id: null});
  for (const task of [...names, pause().task_id]) {
    const isAbout = sessionTest({task}, list(undefined, pause(), idle));
    assert.deepEqual(list(undefined, mine, another).map((one) => isAbout(one, true)), [true, false], `${task}: another pause has its name now`);
    assert.deepEqual(list(undefined, another).map((one) => isAbout(one)), [false], `${task}: it is gone, and another has its name`);
    assert.deepEqual(list(undefined, pause({task_id: 'another', task_name: 'cube', state: 'held'})).map((one) => isAbout(one, true)), [true], `${task}: an actor's next call`);
    assert.deepEqual(list('lab', mine).map((one) => isAbout(one)), [false], `${task}: of another cluster`);
  }
  assert.ok(sessionTest({task: 'square'}, list(undefined, idle))(list(undefined, idle)[0] as Listed, true), 'nothing else has the name');
});

test('whose cluster a session is of', () => {
  const taken = pause({state: 'held', clients: 1});
  const about = (configuration: Record<string, unknown>): boolean[] =>
    ([undefined, 'lab', 'other'].map((cluster) => list(cluster, taken)[0] as Listed)).map((one) => sessionTest(configuration, [])(one));
  for (const [configuration, clusters] of [[{task: 'square'}, [true, false, false]], [{task: 'square', cluster: 'this machine'}, [true, false, false]],
    [{task: 'square', cluster: 'lab'}, [false, true, false]], [{tasks: '*', cluster: 'lab'}, [false, true, false]]] as const)
    assert.deepEqual(about(configuration), clusters, JSON.stringify(configuration));
  for (const where of [{relay: 'h:1'}, {address: 'h:6379'}]) {
    for (const names of [{task: 'square'}, {task: '5935@10.0.0.7'}, {task: 's*'}, {tasks: '*'}]) assert.deepEqual(about({...names, ...where}), [false, false, false]);
    assert.deepEqual(about({task: taken.task_id, ...where}), [true, true, true], 'no other task has this id');
  }
});

test('a task that is named exactly is found in any cluster, unless one is named', () => {
  const listed = [...list(undefined, pause({task_id: 'another', pid: 1})), ...list('lab', pause())];
  const found = (configuration: Record<string, unknown>): string | undefined => exactTask(configuration, listed)?.feed.cluster.name;
  const {task_id: task} = pause();
  assert.deepEqual([{task}, {task, cluster: 'lab'}, {task, relay: 'h:1'}].map(found), ['lab', 'lab', 'lab']);
  for (const none of [{task, cluster: 'this machine'}, {task: 'square'}, {task: '5935@10.0.0.7', relay: 'h:1'}, {}]) assert.equal(found(none), undefined, JSON.stringify(none));
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
