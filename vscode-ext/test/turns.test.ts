import assert from 'node:assert/strict';
import test from 'node:test';
import {Turns} from '../src/base/turns';

test('only the latest answer counts, and none after the end', () => {
  const turns = new Turns();
  const first = turns.take();
  assert.ok(first());
  const second = turns.take();
  assert.deepEqual([first(), second(), turns.ended], [false, true, false]);
  turns.end();
  assert.deepEqual([first(), second(), turns.ended, turns.take()()], [false, false, true, false]);
});
