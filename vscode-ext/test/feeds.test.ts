import assert from 'node:assert/strict';
import test from 'node:test';
import * as vscode from 'vscode';
import {Feeds} from '../src/cluster/feeds';
import {Status} from '../src/pauses/status';
import {Watchdog} from '../src/pauses/watchdog';
import {Child, children, settled} from './fake-raydbg';
import {pause} from './sample';

const item = {show: () => undefined, hide: () => undefined, dispose: () => undefined};
const fires = (): {fire: () => void; event: vscode.Event<void>} => new vscode.EventEmitter<void>();
const cluster = (name: string, address: string): {name: string; setting: object} => Object.assign({name, setting: {name, address}}, {added: true, args: [], environment: () => Promise.resolve({})});

/** Feeds of a cluster "lab", and of those that the test adds. */
function makeFeeds(): {feeds: Feeds; clusters: {all: ReturnType<typeof cluster>[]; change: () => void}} {
  const [settings, programs] = [fires(), fires()];
  const clusters = {
    all: [cluster('lab', 'a:6379')], onDidChange: settings.event, change: () => settings.fire(),
    find: (wanted: string) => clusters.all.find(({name}) => name === wanted),
  };
  const finder = {onDidChange: programs.event, program: () => Promise.resolve({path: 'raydbg', version: '0.1.0'}), lost: () => false, tell: () => undefined};
  return {feeds: new Feeds(clusters as never, finder as never, {info: () => undefined} as never), clusters};
}

function list(child: Child | undefined, ...facts: Parameters<typeof pause>): void {
  child?.say({event: 'live'});
  child?.say({event: 'added', pause: pause(...facts)});
}

test('since when a task stands is known also after the settings have changed', async (context) => {
  context.mock.timers.enable({apis: ['Date']});
  const started = children(context);
  const {feeds, clusters} = makeFeeds();
  context.after(() => feeds.dispose());
  const since = (name: string): (number | undefined)[] =>
    feeds.all.filter((feed) => feed.cluster.name === name).flatMap(({set}) => [...set.pauses.values()].map((one) => set.standsSince(one)));
  await settled();
  list(started[0]);
  context.mock.timers.tick(420_000);
  clusters.all.push(cluster('other', 'b:6379'));
  clusters.change();
  await settled();
  assert.deepEqual([started.length, feeds.pauses.length], [3, 0]);
  started[0]?.say({event: 'removed', pause: pause()});
  started[0]?.emit('close', 0);
  list(started[1]);
  list(started[2]);
  assert.deepEqual([since('lab'), since('other')], [[0], [420]], 'the old raydbg says nothing more');
  clusters.all = [cluster('lab', 'c:6379')];
  clusters.change();
  await settled();
  list(started[3]);
  assert.deepEqual(since('lab'), [420], 'another cluster of the same name');
});

test('a pause is announced once, and warned of once, though the feeds begin anew', async (context) => {
  context.mock.timers.enable({apis: ['setInterval', 'Date']});
  const said: string[] = [];
  const say = (text: string): Promise<undefined> => {
    said.push(text.replace(/ is paused.*|: paused.*/, ''));
    return Promise.resolve(undefined);
  };
  Object.assign(vscode.window, {createStatusBarItem: () => item, showInformationMessage: say, showWarningMessage: say});
  const started = children(context);
  const {feeds, clusters} = makeFeeds();
  const [status, watchdog] = [new Status(), new Watchdog(feeds)];
  feeds.onDidChange(() => status.update(feeds.pauses));
  context.after(() => [feeds, watchdog].forEach((one) => one.dispose()));
  await settled();
  list(started[0]);
  context.mock.timers.tick(500_000);
  assert.deepEqual(said, ['Ray task square', 'square']);
  clusters.change();
  await settled();
  context.mock.timers.tick(10_000);
  list(started[1]);
  context.mock.timers.tick(10_000);
  assert.deepEqual(said.length, 2);
  started[1]?.say({event: 'removed', pause: pause()});
  list(started[1]);
  context.mock.timers.tick(5_000);
  context.mock.timers.tick(500_000);
  assert.deepEqual(said.slice(2), ['Ray task square', 'square'], 'it went on, and is paused again');
});

test('Retry is of the cluster as it is now', async (context) => {
  const started = children(context);
  const said: string[] = [];
  let press: ((button: string) => void) | undefined;
  Object.assign(vscode.window, {
    showErrorMessage: () => new Promise<string>((resolve) => (press = resolve)),
    showInformationMessage: (text: string) => Promise.resolve(void said.push(text)),
  });
  const {feeds, clusters} = makeFeeds();
  context.after(() => feeds.dispose());
  await settled();
  started[0]?.emit('close', 5);
  clusters.change();
  await settled();
  press?.('Retry');
  await settled();
  assert.deepEqual(started.map(({isEnded}) => isEnded), [false, true, false], 'the first had ended by itself');
  started[2]?.emit('close', 1);
  clusters.all = [];
  clusters.change();
  await settled();
  press?.('Retry');
  await settled();
  assert.deepEqual([said, started.length], [['There is no cluster "lab" any more.'], 3]);
});
