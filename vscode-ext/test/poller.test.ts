import assert from 'node:assert/strict';
import test from 'node:test';
import {Poller} from '../src/base/poller';

test('what is rejected is reported, and asked again', async () => {
  let asked = 0;
  const failures: unknown[] = [];
  await new Promise<void>((resolve) => {
    const poller: Poller = new Poller(() => {
      if (++asked < 3) return Promise.reject(new Error(`no ${asked}`));
      poller.looking = false;
      resolve();
      return Promise.resolve();
    }, () => 1, (error) => failures.push(error));
    poller.looking = true;
  });
  assert.deepEqual(failures.map(String), ['Error: no 1', 'Error: no 2']);
});
