import assert from 'node:assert/strict';
import childProcess from 'node:child_process';
import {EventEmitter} from 'node:events';
import test, {TestContext} from 'node:test';
import type {Cluster} from '../src/cluster/clusters';
import {Feed} from '../src/cluster/feed';

/** A raydbg that the test speaks for. */
class Child extends EventEmitter {
  readonly stdin = {end: (): void => undefined};
  readonly stdout = new Stream();
  readonly stderr = new Stream();
  isEnded = false;

  constructor(readonly env: NodeJS.ProcessEnv) {
    super();
  }

  kill(): void {
    this.isEnded = true;
  }

  say(line: object): void {
    this.stdout.emit('data', `${JSON.stringify(line)}\n`);
  }
}

class Stream extends EventEmitter {
  setEncoding(): this {
    return this;
  }
}

/** Each raydbg that is started from now on. */
function children(context: TestContext): Child[] {
  const started: Child[] = [];
  context.mock.method(childProcess, 'spawn', (_file: string, _args: string[], {env}: {env: NodeJS.ProcessEnv}) => started[started.push(new Child(env)) - 1]);
  return started;
}

const log = {info: () => undefined} as never;
const program = {path: 'raydbg', version: '0.1.0'};
const lab = {name: 'lab', added: true, args: [], environment: () => Promise.resolve({})} as unknown as Cluster;

/** Until the feed has its cluster's token, and with it a child. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test('a restart is no end of raydbg, whatever that still says', async (context) => {
  const started = children(context);
  const feed = new Feed(lab, program, log);
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
  let give = (_: Record<string, string>): void => undefined;
  const asked = (): Promise<Record<string, string>> => new Promise((resolve) => (give = resolve));
  const feed = new Feed({...lab, environment: asked} as Cluster, program, log);
  context.after(() => feed.dispose());
  const giveOld = give;
  feed.restart();
  giveOld({RAYDBG_TOKEN: 'old'});
  give({RAYDBG_TOKEN: 'new'});
  await settled();
  assert.deepEqual(started.map(({env}) => env['RAYDBG_TOKEN']), ['new']);
});
