import assert from 'node:assert/strict';
import test from 'node:test';
import type {Cluster} from '../src/cluster/clusters';
import {Feed} from '../src/cluster/feed';
import {children, settled} from './fake-raydbg';

const log = {info: () => undefined} as never;
const program = {path: 'raydbg', version: '0.1.0'};

function lab(environment: () => Promise<Record<string, string>>): Cluster {
  return {name: 'lab', added: true, args: [], environment} as unknown as Cluster;
}

test('a restart is no end of raydbg, whatever that still says', async (context) => {
  const started = children(context);
  const feed = new Feed(lab(() => Promise.resolve({})), program, log);
  context.after(() => feed.dispose());
  await settled();
  const states: string[] = [];
  feed.onDidChange(() => states.push(feed.state));
  started[0]?.say({event: 'live'});
  feed.restart();
  started[0]?.say({event: 'live'});
  started[0]?.stderr.emit('data', 'raydbg: the relay runs now: it is asked\n');
  started[0]?.emit('close', 0);
  await settled();
  assert.deepEqual([states, started.map(({isEnded}) => isEnded)], [['live', 'starting'], [true, false]]);
  started[1]?.say({event: 'live'});
  started[1]?.emit('close', 1);
  assert.deepEqual(states.slice(2), ['live', 'failed'], 'an end that nobody wanted');
});

test('a token that was set counts at once', async (context) => {
  const started = children(context);
  const give: ((environment: Record<string, string>) => void)[] = [];
  const feed = new Feed(lab(() => new Promise((resolve) => give.push(resolve))), program, log);
  context.after(() => feed.dispose());
  feed.restart();
  give[0]?.({RAYDBG_TOKEN: 'old'});
  give[1]?.({RAYDBG_TOKEN: 'new'});
  await settled();
  assert.deepEqual(started.map(({env}) => env['RAYDBG_TOKEN']), ['new']);
});
