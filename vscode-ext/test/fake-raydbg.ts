import childProcess from 'node:child_process';
import {EventEmitter} from 'node:events';
import type {TestContext} from 'node:test';

/** A raydbg that the test speaks for. */
export class Child extends EventEmitter {
  readonly stdin = {end: (): void => undefined};
  readonly stdout = new Stream();
  readonly stderr = new Stream();
  isEnded = false;

  constructor(readonly args: readonly string[], readonly env: NodeJS.ProcessEnv) {
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
export function children(context: TestContext): Child[] {
  const started: Child[] = [];
  context.mock.method(childProcess, 'spawn', (_: string, args: string[], {env}: {env: NodeJS.ProcessEnv}) => started[started.push(new Child(args, env)) - 1]);
  return started;
}

/** Until the feed has its cluster's token, and with it a child. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
