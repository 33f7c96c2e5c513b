import assert from 'node:assert/strict';
import test from 'node:test';
import {Pause, PauseSet, age, groupPauses, hasRelayId, isAttached, isNear, jobsOf, locationText, matches, parseLine, pauseDescription, pauseTask, pauseTitle, sessionName, twinTitles} from '../src/pauses/pause';
import {pause} from './sample';

const since = 1767225600.25;
const start = since * 1000;

test('ages', () => {
  const texts = [0, 59, 60, 3599, 3600, 86399, 86400].map((seconds) => age(since, start + seconds * 1000));
  assert.deepEqual(texts, ['0s', '59s', '1m', '59m', '1h', '23h', '1d']);
  assert.equal(age(null, start), '');
  assert.equal(age(since + 5, start), '0s', 'clocks differ');
});

test('a pause nears its limit at four fifths of it', () => {
  const near = (limit: number, seconds: number): boolean => isNear(since, limit, start + seconds * 1000);
  assert.deepEqual([near(600, 480), near(600, 481), near(600, 900), near(0, 900)], [false, true, true, false]);
  assert.ok(!isNear(undefined, 600, start));
});

test('what a row says', () => {
  const held = pause({state: 'held', location: {file: '/a/b/train.py', line: 41}, actor_name: 'bob', task_name: 'Trainer.step'});
  assert.equal(pauseTitle(held), 'Trainer.step (bob)');
  assert.equal(locationText(held), 'train.py:41');
  assert.equal(pauseDescription(held, start + 240_000), 'held · 4m · train.py:41 · 10.0.0.7');
  assert.match(pauseDescription({...held, clients: 1}, start), /^attached · /);
  assert.match(pauseDescription({...held, clients: 0}, start), /^held · /);
  assert.equal(sessionName(held), 'Trainer.step (bob) · pid 5935@10.0.0.7');
  assert.equal(sessionName(held, true), 'pid 5935 Trainer.step (bob) 10.0.0.7');
  assert.equal(sessionName(pause({node_ip: null}), true), 'pid 5935 square');
  assert.equal(pauseTitle(pause({task_name: null})), 'pid 5935');
  assert.equal(pauseTitle(pause({task_name: null, actor_class: 'Trainer'})), 'Trainer');
});

test('a task is named by its id, unless several calls could be it', () => {
  assert.equal(pauseTask(pause()), pause().task_id);
  assert.equal(pauseTask(pause({ambiguous: true})), '5935@10.0.0.7');
  assert.equal(pauseTask(pause({task_id: null})), '5935@10.0.0.7');
});

test('pauses of one name are told apart by what `raydbg list` calls them', () => {
  const all = [pause(), pause({worker_id: 'b', task_id: 'f91b7800'}), pause({worker_id: 'c', task_name: 'other'})];
  const twins = twinTitles(all);
  assert.deepEqual([...twins], ['square']);
  assert.deepEqual(all.map((one) => pauseDescription(one, start + 1000, twins.has(pauseTitle(one)))),
    ['c2668a · waiting · 1s · 10.0.0.7', 'f91b78 · waiting · 1s · 10.0.0.7', 'waiting · 1s · 10.0.0.7']);
  assert.match(pauseDescription(pause({ambiguous: true}), start, true), /^pid 5935 · /);
});

test('the jobs of pauses, the newest first', () => {
  const all = [pause({worker_id: 'a'}), pause({worker_id: 'b', job_id: '02000000', since: since + 5}), pause({worker_id: 'c', since: since + 1}),
    pause({worker_id: 'd', job_id: null, since: null})];
  assert.deepEqual(jobsOf(all).map(({job, pauses}) => `${job}: ${pauses.map((one) => one.worker_id).join('')}`), ['02000000: b', '01000000: ca', ': d']);
});

test('what somebody is attached to', () => {
  const attached = [{state: 'attached'}, {state: 'held', clients: 1}, {state: 'held', clients: 0}, {}] as const;
  assert.deepEqual(attached.map((facts) => isAttached(pause(facts))), [true, true, false, false]);
});

test('groups', () => {
  const all = [pause({worker_id: 'a', since: since + 9}), pause({worker_id: 'b', since: since + 1}),
    pause({worker_id: 'c', actor_class: 'Actor', node_ip: '10.0.0.9', state: 'held'}), pause({worker_id: 'd', since: null})];
  const groups = (by: Parameters<typeof groupPauses>[1]): string[] =>
    groupPauses(all, by).map((group) => `${group.label}: ${group.pauses.map((one) => one.worker_id).join('')}`);
  assert.deepEqual(groups('function'), ['Actor: c', 'square: abd']);
  assert.deepEqual(groups('node'), ['10.0.0.7: abd', '10.0.0.9: c']);
  assert.deepEqual(groups('state'), ['held: c', 'waiting: abd']);
  assert.deepEqual(groups('none'), [': abcd']);
});

test('a filter finds all its words', () => {
  assert.ok(matches(pause(), 'SQUARE 10.0.0.7'));
  assert.ok(matches(pause({location: {file: '/x/train.py', line: 1}}), 'train.py'));
  assert.ok(!matches(pause(), 'square 10.0.0.9'));
});

test('the feed', () => {
  const set = new PauseSet();
  const feed = (event: string, facts = {}): void => {
    const change = parseLine(JSON.stringify({event, pause: pause(facts)}));
    assert.ok(change && 'pause' in change);
    set.apply(change, start);
  };
  feed('added');
  feed('added', {worker_id: 'w2', endpoint: '10.0.0.7:2'});
  feed('changed', {state: 'held'});
  assert.deepEqual([...set.pauses.values()].map((one) => one.state), ['held', 'waiting']);
  feed('removed');
  assert.deepEqual([...set.pauses.keys()], ['w2']);
  for (const line of ['', '{', '{}', '{"event":"added"}', '{"event":"away"}', 'null', '{"event":"toString"}', '{"event":"other","pause":{"endpoint":"x"}}'])
    assert.equal(parseLine(line), undefined, line);
  assert.equal(parseLine('{"event":"live","cluster":"h:1","relay":null}')?.event, 'live');
  assert.equal(parseLine('{"event":"away","error":{"what":"no answer","why":null,"hint":null}}')?.event, 'away');
});

test('one pause for each that the relay tells apart', () => {
  const rows = (...all: [event: 'added' | 'changed' | 'removed', facts: Partial<Pause>][]): string[] => {
    const set = new PauseSet();
    for (const [event, facts] of all) set.apply({event, pause: pause(facts)}, start);
    return [...set.pauses.values()].map((one) => `${one.worker_id ?? '?'} ${one.endpoint}`);
  };
  const endpoint = '10.0.0.7:2';
  assert.deepEqual(rows(['added', {debugger: 'pydevd', worker_id: null, endpoint}], ['changed', {debugger: 'pydevd', endpoint}]), [`w1 ${endpoint}`]);
  assert.deepEqual(rows(['added', {debugger: 'pdb'}], ['added', {debugger: 'pdb', endpoint}]), ['w1 10.0.0.7:35589', `w1 ${endpoint}`]);
  assert.deepEqual(rows(['added', {debugger: 'pydevd'}], ['added', {debugger: 'pydevd', endpoint}]), ['w1 10.0.0.7:35589', `w1 ${endpoint}`], 'a forked child');
  assert.deepEqual(rows(['added', {}], ['changed', {endpoint}]), [`w1 ${endpoint}`]);
  assert.deepEqual(rows(['added', {worker_id: null}], ['removed', {worker_id: null}]), []);
});

test('a pause by the id that its relay gives it', () => {
  for (const [facts, id] of [[{}, 'w1'], [{worker_id: null}, '10.0.0.7:35589'], [{debugger: 'pydevd'}, '10.0.0.7:35589'], [{debugger: 'pdb'}, '10.0.0.7:35589'],
    [{debugger: 'pdb', endpoint: '[fd00::7]:99'}, 'fd00::7:99']] as [Partial<Pause>, string][]) {
    assert.ok(hasRelayId(pause(facts), id), id);
    assert.ok(!hasRelayId(pause(facts), `${id}0`));
    assert.ok(!hasRelayId(pause(facts), null));
  }
});

test('since when a pause stands', () => {
  const set = new PauseSet();
  const at = (seconds: number, facts: Parameters<typeof pause>[0], event: 'changed' | 'removed' = 'changed'): number | undefined => {
    set.apply({event, pause: pause(facts)}, start + seconds * 1000);
    return set.standsSince(pause(facts));
  };
  assert.equal(at(100, {}), since + 100, 'the task may have run for long before');
  assert.equal(at(200, {state: 'held', reason: 'breakpoint'}), since + 100);
  set.clear();
  assert.equal(at(250, {}), since + 100, 'the feed began anew');
  assert.equal(at(300, {state: 'held', reason: null}), undefined, 'it runs');
  assert.equal(at(400, {state: 'held', reason: 'step'}), since + 400);
  assert.equal(at(500, {task_id: 'another'}), since + 500);
  assert.equal(at(600, {since_source: 'breakpoint'}), since, 'Ray knows when');
  assert.equal(at(700, {state: 'attached'}), undefined);
  assert.equal(at(800, {}, 'removed'), undefined);
});

test('a pause that the feed lists again is no new one', () => {
  const set = new PauseSet();
  const seen = (event: 'added' | 'removed', facts: Partial<Pause> = {}): boolean[] => {
    set.apply({event, pause: pause(facts)}, start);
    return [set.remembers(pause(facts)), set.awaits(pause(facts))];
  };
  assert.deepEqual(seen('added'), [false, false]);
  set.clear();
  assert.deepEqual([set.remembers(pause()), set.awaits(pause())], [true, true]);
  set.clear();
  assert.deepEqual(seen('added', {task_id: null}), [true, false], 'its id comes later');
  assert.deepEqual(seen('added'), [true, false]);
  assert.deepEqual(seen('added', {task_id: 'another'}), [false, false]);
  seen('removed');
  assert.deepEqual(seen('added'), [false, false], 'it is paused again');
  seen('added', {worker_id: 'w2', task_name: null});
  set.clear();
  assert.ok(!set.remembers(pause({worker_id: 'w2'})), 'it had no name yet');
});
